package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

func (m writeOps) todo(ctx context.Context, c Call, r *api.TodoRequest) (*api.TodoAnswer, error) {
	plan := r.DryRun && r.ID == "" && r.Text == ""
	if m.Disabled {
		return &api.TodoAnswer{Changed: []api.TodoPlace{}, Left: []api.Skipped{}, DryRun: r.DryRun, Disabled: true}, nil
	}
	if m.Todos == nil {
		return nil, errNoWriter
	}
	if plan && !c.FullAccess { // the plan depends on the tasks of all subjects
		return nil, api.Errorf(api.Forbidden, "the plan requires the owner in a private context").
			WithHint("set `id` or `text` to preview the change of one task")
	}
	if !plan && (r.ID == "") == (r.Text == "") {
		return nil, api.Errorf(api.Invalid, "set either `id` or `text`")
	}
	answer := &api.TodoAnswer{Changed: []api.TodoPlace{}, Left: []api.Skipped{}, DryRun: r.DryRun,
		Index: m.indexState(c)}
	if plan {
		answer.Plan = m.todoPlan(c)
		return answer, nil
	}
	copies, err := m.findTask(c, r)
	if err != nil {
		return nil, err
	}
	task := m.todoOf(copies)
	answer.Text, answer.Untrusted, answer.State = task.Text, task.Untrusted, r.State
	copies = slices.DeleteFunc(copies, func(t taskCopy) bool { return t.place.State == r.State })
	if r.State == memory.Open.String() {
		copies = m.lastCompletion(copies)
	}
	var boxes []todosync.Copy
	for _, t := range copies {
		if !m.mayChange(c, memory.Partition{Owner: t.Owner}, t.Author) {
			answer.Left = append(answer.Left, api.Skipped{Path: t.place.Path, Reason: errNotAuthor.Message})
			continue
		}
		t.place.State = r.State
		boxes, answer.Changed = append(boxes, t.Copy), append(answer.Changed, t.place)
	}
	switch {
	case len(boxes) == 0 && len(answer.Left) > 0:
		return nil, errNotAuthor
	case r.DryRun || len(boxes) == 0:
		return answer, nil
	}
	state := memory.Done
	if r.State == memory.Open.String() {
		state = memory.Open
	}
	return answer, m.setTasks(ctx, c, boxes, state, answer)
}

// setTasks changes boxes. It returns an error if no box could be changed.
func (m writeOps) setTasks(ctx context.Context, c Call, boxes []todosync.Copy, state memory.TaskState,
	answer *api.TodoAnswer) error {
	var failure error
	for _, o := range m.Todos.Set(ctx, boxes, state, m.mayChangeEntry(c)) {
		if o.Err != nil {
			doc, _, err := m.loadFile(c, o.Path)
			failure = writeError(o.Err, err == nil && doc.PrivateReadable(c.View))
			answer.Left = append(answer.Left, api.Skipped{Path: o.Path, Reason: asError(failure).Message})
		}
		if !o.Changed {
			answer.Changed = slices.DeleteFunc(answer.Changed, func(p api.TodoPlace) bool { return p.Path == o.Path })
		}
	}
	if len(answer.Changed) == 0 {
		return failure
	}
	return nil
}

// findTask returns all copies of the one task that a request means, newest first.
// If several tasks match, the error lists them.
func (m writeOps) findTask(c Call, r *api.TodoRequest) ([]taskCopy, error) {
	var all []taskCopy
	path, _, _ := cutID(r.ID + r.Text) // selects a file, which may be an ordinary note
	hasTasks := func(f *index.FileInfo) bool {
		return f.Tasks && (todosync.Concerns(f.Kind) || f.Kind == memory.Note && f.Path == path)
	}
	for doc, shown := range m.readableFiles(c, hasTasks) {
		all = append(all, tasksOf(c, doc, shown, "")...)
	}
	slices.SortStableFunc(all, taskCopy.compare)
	seeds := findCopies(all, r)
	if len(seeds) == 0 {
		return nil, notFound("task", r.ID+r.Text).
			WithHint("use `todos` to list tasks, and set `text` to the whole text of a task")
	}
	rules := taskRules(c)
	if r.ID != "" && len(seeds) == 1 {
		copies := slices.DeleteFunc(slices.Clone(all), func(t taskCopy) bool { return !t.sameTask(rules, &seeds[0]) })
		if len(groupTasks(c, copies)) > 1 { // a task without subject or contact matches those of several subjects
			copies = slices.DeleteFunc(copies, func(t taskCopy) bool {
				return t.Contact != seeds[0].Contact || rules.Subject(t.Owner) != rules.Subject(seeds[0].Owner)
			})
		}
		return copies, nil
	}
	groups := groupTasks(c, seeds)
	if len(groups) > 1 {
		// Possibly only one of them needs a change.
		groups = slices.DeleteFunc(groups, func(g []taskCopy) bool {
			return !slices.ContainsFunc(g, func(t taskCopy) bool { return t.place.State != r.State })
		})
	}
	switch len(groups) {
	case 0:
		return seeds, nil
	case 1:
		return slices.DeleteFunc(all, func(t taskCopy) bool {
			return slices.ContainsFunc(groups[0], func(g taskCopy) bool { return !t.sameTask(rules, &g) })
		}), nil
	}
	return nil, severalTasks(groups)
}

// sameTask reports whether two copies belong to one task.
func (t *taskCopy) sameTask(rules *todosync.Rules, u *taskCopy) bool {
	return t.place == u.place || rules.Same(&t.Copy, &u.Copy)
}

// findCopies returns the copies that a request names by text, by path#id, or by the
// id of the task or of its entry. A text that contains # may be an id.
func findCopies(all []taskCopy, r *api.TodoRequest) []taskCopy {
	among := func(keep func(*taskCopy) bool) []taskCopy {
		var list []taskCopy
		for i := range all {
			if t := &all[i]; (r.Session == "" || t.session == r.Session) && keep(t) {
				list = append(list, *t)
			}
		}
		return list
	}
	if r.Text != "" {
		text := todosync.TextOf(r.Text)
		list := among(func(t *taskCopy) bool { return t.Text == text && text != todosync.Digest{} })
		if len(list) > 0 || !strings.Contains(r.Text, "#") {
			return list
		}
	}
	id := r.ID + r.Text
	if path, bare, ok := cutID(id); ok {
		id = bare
		all = slices.DeleteFunc(slices.Clone(all), func(t taskCopy) bool { return t.place.Path != path })
	}
	if id == "" {
		return nil
	}
	for _, keep := range []func(*taskCopy) bool{
		func(t *taskCopy) bool { return t.Box.ID == id },
		func(t *taskCopy) bool { return t.place.TaskID == t.place.Path+"#"+id },
		func(t *taskCopy) bool {
			return t.entry.ID == id && t.entry.Block == memory.Item && t.task.Line == t.entry.Line
		},
		func(t *taskCopy) bool { return t.entry.ID == id },
	} {
		if list := among(keep); len(list) > 0 {
			return list
		}
	}
	return nil
}

// severalTasks returns the error for a request that matches several tasks.
func severalTasks(groups [][]taskCopy) error {
	copies := slices.Concat(groups...)
	slices.SortStableFunc(copies, taskCopy.compare)
	var names []string
	for _, t := range copies {
		names = append(names, fmt.Sprintf("%s (line %d)", t.place.ID, t.place.Line))
	}
	return api.Errorf(api.Conflict, "more than one task matches").
		WithHint("set `id` or `session` to select one of %s", joinFirst(names))
}

// lastCompletion returns the copies of the most recent completion: those of the
// newest day and the ones that reconciliation ticked after them. The task may
// have been completed before.
func (m writeOps) lastCompletion(copies []taskCopy) []taskCopy {
	for i := range copies {
		if t := &copies[i]; t.place.Day != copies[0].place.Day && m.Todos.ByHand(&t.Copy) {
			return copies[:i]
		}
	}
	return copies
}

// todoPlan returns the reconciliation plan, reduced to tasks whose copies the
// caller can read.
func (m writeOps) todoPlan(c Call) *api.TodoPlan {
	plan := &api.TodoPlan{Waiting: []api.TodoTick{}, Diff: []api.FileDiff{}, Unclear: []api.TodoTick{},
		Proposed: []api.TodoTick{},
		Known:    []api.TodoTick{}}
	p, rules := m.Todos.Plan(), m.Todos.Rules()
	plan.Off = p.Off
	if c.FullAccess {
		plan.Problem = p.Problem
	}
	ticks := func(wishes []todosync.TickRequest) []api.TodoTick {
		list := []api.TodoTick{}
		for _, w := range wishes {
			if t, ok := m.tickOf(c, rules, w); ok {
				list = append(list, t)
			}
		}
		return list
	}
	var differ differ
	var due []todosync.TickRequest // of the last file
	for i, w := range p.Waiting {  // in path order
		for _, t := range ticks([]todosync.TickRequest{w.TickRequest}) {
			t.Reason = w.Reason
			plan.Waiting, due = append(plan.Waiting, t), append(due, w.TickRequest)
		}
		if i == len(p.Waiting)-1 || p.Waiting[i+1].Path != w.Path {
			if hunks := m.tickedHunks(c, rules, w.Path, due); len(hunks) > 0 {
				plan.Diff = append(plan.Diff, differ.diffFile(w.Path, hunks))
			}
			due = nil
		}
	}
	plan.Unclear, plan.Proposed, plan.Known = ticks(p.Unclear), ticks(p.Proposed), ticks(p.Known)
	return plan
}

// tickedHunks returns the changes that requests would make in the caller's view
// of a file.
func (m writeOps) tickedHunks(c Call, rules *todosync.Rules, path string,
	wishes []todosync.TickRequest) []journal.Hunk {
	doc, err := m.Files.Load(path)
	if len(wishes) == 0 || err != nil {
		return nil
	}
	parse := func(source []byte) *memory.Document { return m.Parse(vault.File{Path: path, Data: source}) }
	ticked, err := rules.Tick(doc, wishes, parse)
	if ticked == nil || err != nil {
		return nil
	}
	before, after := doc.For(c.View), parse(ticked).For(c.View)
	if before == nil || after == nil {
		return nil
	}
	return journal.Hunks([]byte(before.Shown(c.View).Text()), []byte(after.Shown(c.View).Text()))
}

// tickOf converts a request for the answer and reports whether the caller can read
// both of its ends.
func (m writeOps) tickOf(c Call, rules *todosync.Rules, w todosync.TickRequest) (t api.TodoTick, ok bool) {
	places := func(path string, meant func(*todosync.File) []int) (task *taskCopy, list []api.Place) {
		doc, shown, err := m.loadFile(c, path)
		if err != nil {
			return nil, nil
		}
		copies := tasksOf(c, doc, shown, "")
		for _, i := range meant(todosync.FileOf(doc)) {
			b := todosync.FileOf(doc).Boxes[i]
			j := slices.IndexFunc(copies, func(t taskCopy) bool { return t.Entry == b.Entry && t.Task == b.Task })
			if j < 0 {
				return nil, nil
			}
			task, list = &copies[j], append(list, copies[j].place.Place)
		}
		return task, list
	}
	box, boxes := places(w.Path, func(f *todosync.File) []int { return rules.Candidates(f, &w.Done) })
	_, done := places(w.Done.Path, func(f *todosync.File) []int { return f.FindDone(w) })
	if len(boxes) == 0 || len(done) == 0 {
		return api.TodoTick{}, false
	}
	t = api.TodoTick{Text: box.task.Text, Untrusted: box.untrusted, Places: boxes, Done: done[0]}
	if a := w.Done.Author; a != (memory.Author{}) {
		t.By = strings.TrimSpace(cmp.Or(a.By, c.View.SubjectOf(memory.Partition{Owner: w.Done.Owner}), m.Owner) + " " +
			a.Source)
	}
	return t, true
}

// todoAdd adds an open task to today's log of the caller's subject, below its
// heading for tasks. A log that only grows, and any log in public, gets a heading at its
// end.
func (m writeOps) todoAdd(ctx context.Context, c Call, r *api.TodoAddRequest) (*api.TodoAddAnswer, error) {
	if m.Disabled {
		return &api.TodoAddAnswer{Disabled: true}, nil
	}
	item, err := m.newTask(r)
	if err != nil {
		return nil, err
	}
	var source, task string // the list item with its attributes, and the task
	answer := &api.TodoAddAnswer{}
	after, err := m.changeLog(ctx, c, "todo_add", m.day(0), func(path string) (err error) {
		source, task, err = m.finishTask(c, r, item, path)
		return err
	}, func(doc *memory.Document, rev *memory.Revision) bool {
		answer.Already = slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool {
			return e.Readable(c.View) && slices.ContainsFunc(e.Tasks,
				func(t memory.Task) bool { return t.Norm == task && t.State == memory.Open })
		})
		if answer.Already {
			return false
		}
		heading := m.Layout.TasksHeading(doc.For(c.View))
		grows := m.Todos != nil && m.Todos.AppendOnly != nil && m.Todos.AppendOnly(doc.Place.Path)
		if grows || !c.View.Private() { // an insertion could depend on headings that the caller may not read
			rev.AppendSection(heading, source)
		} else {
			rev.Append([]string{heading}, source)
		}
		rev.SetCounters()
		return true
	})
	if err != nil {
		return nil, err
	}
	if known := after.For(c.View); known != nil {
		for _, t := range slices.Backward(tasksOf(c, known, known.Shown(c.View), "")) {
			if t.task.Norm == task && t.place.State == memory.Open.String() {
				answer.ID, answer.Path, answer.Line = t.place.Task(), t.place.Path, t.place.Line
				break
			}
		}
	}
	return answer, nil
}

// newTask returns a task as a list item without attributes.
func (m writeOps) newTask(r *api.TodoAddRequest) (string, error) {
	text := boxRE().ReplaceAllString(r.Text, "")
	if err := m.checkLogText("text", text); err != nil {
		return "", err
	}
	if utf8.RuneCountInString(text) > maxNote {
		return "", api.Errorf(api.TooLarge, "text has more than %d characters", maxNote).
			WithHint("shorten the task to one sentence, and write details to a note")
	}
	if err := m.logSource("source", r.Source); err != nil {
		return "", err
	}
	due, err := m.parseDue(r.Due)
	if err != nil {
		return "", err
	}
	text, err = m.withTags(text, projectTags(r.Project))
	if err != nil {
		return "", err
	}
	item, err := memory.NewTask(text, due)
	if err != nil {
		return "", api.Errorf(api.Invalid, "text: %v", err)
	}
	return item, nil
}

// boxRE matches the start of a task as copied from a file.
var boxRE = lazyregexp.New(`^\s*(?:[-*+]\s+)?(?:\[ \](?:\s+|$))?`)

// finishTask returns a task with its attributes, and in the form in which tasks are
// compared.
func (m writeOps) finishTask(c Call, r *api.TodoAddRequest, item, path string) (source, task string, err error) {
	attributes := map[string]string{"visibility": visibilityAttribute(r.Visibility), "source": sourceAttribute(c, r.Source)}
	if m.Layout.Place(path).Kind != memory.Daily {
		attributes["updated"] = memory.Timestamp(m.Now())
	}
	source = item + " " + memory.Comment(attributes, nil)
	alone := m.Parse(vault.File{Path: path, Data: []byte(source + "\n")})
	if len(alone.Entries) != 1 || len(alone.Entries[0].Tasks) != 1 || alone.Unsound {
		return "", "", api.Errorf(api.Invalid, "text would be parsed as the structure of the file").
			WithHint("remove Markdown markup")
	}
	return source, alone.Entries[0].Tasks[0].Norm, nil
}

// intervalRE matches a number of days or weeks.
var intervalRE = lazyregexp.New(`^(\d{1,3})([dw])$`)

// parseDue returns the day of a due date, in the form 2026-02-04. Unlike the day of a
// note, a weekday is one of the next seven days.
func (m writeOps) parseDue(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" {
		return "", nil
	}
	if interval := intervalRE().FindStringSubmatch(s); interval != nil {
		days, _ := strconv.Atoi(interval[1])
		if interval[2] == "w" {
			days *= 7
		}
		return m.day(days), nil
	}
	for days := range 8 {
		day := m.day(days)
		date, _ := time.Parse(time.DateOnly, day)
		name := strings.ToLower(date.Weekday().String())
		if s == day || days == 0 && s == "today" || days == 1 && s == "tomorrow" || days > 0 && (s == name || s == name[:3]) {
			return day, nil
		}
	}
	if date, err := time.Parse(time.DateOnly, s); err == nil && date.Year() >= 1 {
		return s, nil
	}
	return "", api.Errorf(api.Invalid, "due: %q is not a day", s).
		WithHint("use a day such as 2026-02-04, today, tomorrow, a weekday, 3d or 2w")
}
