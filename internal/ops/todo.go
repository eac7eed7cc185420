package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
)

func (m writeOps) todo(ctx context.Context, c Call, r *api.TodoRequest) (*api.TodoAnswer, error) {
	if (r.ID == "") == (r.Text == "") {
		return nil, api.Errorf(api.Invalid, "set either `id` or `text`")
	}
	answer := &api.TodoAnswer{Changed: []api.TodoPlace{}, Left: []api.Skipped{}, DryRun: r.DryRun,
		Index: m.indexState(c)}
	tasks, err := m.findTasks(c, r)
	if err != nil {
		return nil, err
	}
	answer.Text, answer.State = m.todoOf(tasks[0]).Text, r.State
	var changes [][]todosync.Copy
	for _, copies := range tasks {
		task := m.todoOf(copies)
		answer.Untrusted = answer.Untrusted || task.Untrusted
		var boxes []todosync.Copy
		for _, t := range copies {
			switch {
			case t.place.State == r.State:
				continue
			case !m.mayChange(c, t.place.Path, memory.Partition{Owner: t.Owner}, t.Author):
				answer.Left = append(answer.Left, api.Skipped{Path: t.place.Path, Reason: errNotAuthor.Message})
				continue
			}
			t.place.State = r.State
			if t.Text != tasks[0][0].Text {
				t.place.Text = task.Text
			}
			boxes, answer.Changed = append(boxes, t.Copy), append(answer.Changed, t.place)
		}
		if len(boxes) > 0 {
			changes = append(changes, boxes)
		}
	}
	switch {
	case len(changes) == 0 && len(answer.Left) > 0:
		return nil, errNotAuthor
	case r.DryRun || len(changes) == 0:
		return answer, nil
	}
	state := memory.Done
	if r.State == memory.Open.String() {
		state = memory.Open
	}
	return answer, m.setTasks(ctx, c, changes, state, answer)
}

// setTasks changes the boxes of tasks. It returns an error if no box could be changed.
func (m writeOps) setTasks(ctx context.Context, c Call, tasks [][]todosync.Copy, state memory.TaskState,
	answer *api.TodoAnswer) error {
	var failure error
	may := func(e *memory.Entry) bool { return e.Readable(c.View) } // the authors of the copies were checked
	for _, o := range m.Todos.Set(ctx, tasks, state, may) {
		if o.Err != nil {
			failure = writeError(o.Err)
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

// findTasks returns the copies of the task that a request means, or of every task that
// matches if the request selects all; newest first. Otherwise, the error lists the
// tasks that match, and the copies of a task that is given by words if their due dates
// differ.
func (m writeOps) findTasks(c Call, r *api.TodoRequest) ([][]taskCopy, error) {
	var all []taskCopy
	var seeds []int
	var by selection
	for _, notes := range []bool{false, true} { // ordinary notes, if nothing else is meant
		all = nil
		for doc := range m.readableFiles(c, func(f *index.FileInfo) bool {
			return f.Tasks && disk.Within(f.Path, m.inbox(c)) && (todosync.Concerns(f.Kind) ||
				notes && (f.Kind == memory.Note || f.Kind == memory.Review && !m.isReviewed(c)))
		}) {
			all = append(all, tasksOf(c, doc, "")...)
		}
		slices.SortStableFunc(all, taskCopy.compare)
		seeds, by = findTask(all, r)
		if by != byWords || slices.ContainsFunc(seeds, func(i int) bool { return all[i].place.State != r.State }) {
			break
		}
	}
	if len(seeds) == 0 {
		return nil, m.noTask(c, r)
	}
	boxes, rules := boxesOf(all), taskRules(c)
	var tasks [][]taskCopy
	taken := make([]bool, len(all)) // each box belongs to one task
	for _, i := range seeds {
		taken[i] = true
	}
	for _, group := range rules.Group(pick(boxes, seeds)) {
		members := pick(seeds, group)
		named := &all[members[0]]
		list := slices.DeleteFunc(rules.CopiesOf(boxes, members), func(i int) bool {
			return !slices.Contains(members, i) && (taken[i] || by == byPlace && named.otherDue(&all[i]))
		})
		for _, i := range list {
			taken[i] = true
		}
		copies := pick(all, list)
		if r.State == memory.Open.String() {
			copies = m.lastCompletion(copies)
			if by == byPlace && !slices.ContainsFunc(copies, func(t taskCopy) bool { return t.place == named.place }) {
				copies = []taskCopy{*named} // of an earlier completion
			}
		}
		tasks = append(tasks, copies)
	}
	changes := func(copies []taskCopy) bool {
		return slices.ContainsFunc(copies, func(t taskCopy) bool { return t.place.State != r.State })
	}
	if slices.ContainsFunc(tasks, changes) { // possibly only one of them needs a change
		tasks = slices.DeleteFunc(tasks, func(copies []taskCopy) bool { return !changes(copies) })
	} else {
		tasks = tasks[:1]
	}
	change := slices.DeleteFunc(slices.Concat(tasks...), func(t taskCopy) bool { return t.place.State == r.State })
	dated := slices.IndexFunc(change, func(t taskCopy) bool { return t.task.Due != "" })
	differ := dated >= 0 && slices.ContainsFunc(change, func(t taskCopy) bool { return change[dated].otherDue(&t) })
	if !r.All && (len(tasks) > 1 || differ) {
		return nil, severalTasks(r, change)
	}
	return tasks, nil
}

func pick[T any](list []T, at []int) []T { return convertEach(at, func(i int) T { return list[i] }) }

// otherDue reports whether two copies have different due dates.
func (t *taskCopy) otherDue(u *taskCopy) bool {
	return t.task.Due != "" && u.task.Due != "" && t.task.Due != u.task.Due
}

// A selection is the way in which a request selects tasks.
type selection uint8

const (
	byWords selection = iota // a part of the text; also if nothing is selected
	byText                   // the whole text
	byPlace                  // a place or an id, which names one box
)

// findTask returns the boxes that a request means: by its text, its place or its id, or
// else by a part of the text or its words.
func findTask(all []taskCopy, r *api.TodoRequest) (seeds []int, by selection) {
	among := func(keep func(*taskCopy) bool) (list []int) {
		for i := range all {
			if t := &all[i]; (r.Session == "" || t.session == r.Session) && keep(t) {
				list = append(list, i)
			}
		}
		return list
	}
	typed := r.ID + r.Text
	text := todosync.TextOf(r.Text)
	file, from, to := api.CutLines(typed)
	path, id, ok := cutID(typed)
	if !ok {
		id = typed
	}
	inFile := func(t *taskCopy) bool { return !ok || t.place.Path == path }
	short := strings.ToLower(strings.TrimLeft(id, "~^"))
	phrase := letters.Fold(cmp.Or(memory.TaskNorm(r.Text), letters.FoldCase(r.Text)))
	words := strings.Fields(phrase)
	contains := func(t *taskCopy, part string) bool {
		return strings.Contains(letters.Fold(t.task.Norm), part) ||
			strings.Contains(letters.Fold(letters.FoldCase(t.task.Text)), part)
	}
	for _, rule := range []struct {
		use  bool
		by   selection
		keep func(*taskCopy) bool
	}{
		{text != "", byText, func(t *taskCopy) bool { return t.Text == text }},
		{from > 0, byPlace, func(t *taskCopy) bool {
			return t.place.Path == file && from <= t.place.Line && t.place.Line <= max(from, to)
		}},
		{id != "", byPlace, func(t *taskCopy) bool { return inFile(t) && t.Box.ID == id }},
		{id != "", byPlace, func(t *taskCopy) bool { return inFile(t) && t.place.TaskID == t.place.Path+"#"+id }},
		{id != "", byPlace, func(t *taskCopy) bool {
			return inFile(t) && t.entry.ID == id && t.entry.Block == memory.Item && t.task.Line == t.entry.Line
		}},
		{id != "", byPlace, func(t *taskCopy) bool { return inFile(t) && t.entry.ID == id }},
		{!ok && len(short) >= api.ShortID, byPlace, func(t *taskCopy) bool {
			_, id, _ := cutID(t.place.Task())
			return strings.HasPrefix(strings.ToLower(strings.TrimLeft(id, "~^")), short)
		}},
		{len(words) > 0, byWords, func(t *taskCopy) bool { return contains(t, phrase) }},
		{len(words) > 0, byWords, func(t *taskCopy) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !contains(t, word) })
		}},
	} {
		if !rule.use {
			continue
		}
		if list := among(rule.keep); len(list) > 0 {
			return list, rule.by
		}
	}
	return nil, byWords
}

// noTask returns the error for a request that matches no task.
func (m writeOps) noTask(c Call, r *api.TodoRequest) error {
	const hint = "use `todos` to list tasks"
	if file, line, _ := api.CutLines(r.ID + r.Text); line > 0 {
		if _, err := m.loadFile(c, file); err == nil {
			return api.Errorf(api.NotFound, "line %d of %s contains no task", line, file).WithHint(hint)
		}
	}
	return notFound("task", r.ID+r.Text).WithHint(hint)
}

// severalTasks returns the error for a request that matches several tasks, or copies of
// one with different due dates.
func severalTasks(r *api.TodoRequest, copies []taskCopy) error {
	slices.SortStableFunc(copies, taskCopy.compare)
	var list []string
	for _, t := range copies {
		// a quoted name would be renamed
		text, cut := index.FirstRunes(strings.ReplaceAll(t.task.Text, "`", "'"), maxListed)
		if cut {
			text += "…"
		}
		place := fmt.Sprintf("%q at %s:%d", text, t.place.Path, t.place.Line)
		if t.untrusted { // an error message has no marks
			place = fmt.Sprintf("a task of others at %s:%d", t.place.Path, t.place.Line)
		}
		if t.task.Due != "" {
			place += ", due " + t.task.Due
		}
		list = append(list, place)
	}
	const most = 10
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", n))
	}
	return api.Errorf(api.Conflict, "more than one task matches %q: %s", r.ID+r.Text, strings.Join(list, "; ")).
		WithHint("set `id` to one of these places, or `all` to change every one")
}

// maxListed is the maximum number of characters of a text in the list of several tasks.
const maxListed = 60

// lastCompletion returns the copies of the most recent completion: those of the
// newest day and the ones that reconciliation ticked after them. The task may
// have been completed before. If no copy is done, lastCompletion returns all copies.
func (m writeOps) lastCompletion(copies []taskCopy) []taskCopy {
	done := slices.DeleteFunc(slices.Clone(copies),
		func(t taskCopy) bool { return t.place.State == memory.Open.String() })
	if len(done) == 0 {
		return copies
	}
	for i := range done {
		if t := &done[i]; t.place.Day != done[0].place.Day && m.Todos.ByHand(&t.Copy) {
			return done[:i]
		}
	}
	return done
}

// todoAdd adds an open task to today's log of the caller's subject.
func (m writeOps) todoAdd(ctx context.Context, c Call, r *api.TodoAddRequest) (*api.TodoAddAnswer, error) {
	text, err := m.newTask(r)
	if err != nil {
		return nil, err
	}
	p := &addition{Put: memory.Put{Form: memory.TaskForm, Box: "[ ]", Text: text,
		Attributes: map[string]string{"source": sourceAttribute(c, r.Source)}}}
	l := &logEdit{at: m.Now().In(m.Location), tasks: true, visibility: r.Visibility,
		putEdit: putEdit{cause: "todo_add", puts: []*addition{p}, same: func(e *memory.Entry, p *addition) bool {
			return slices.ContainsFunc(e.Tasks,
				func(t memory.Task) bool { return t.Norm == p.Entry().Tasks[0].Norm && t.State == memory.Open })
		}}}
	after, err := m.appendLog(ctx, c, l)
	if err != nil {
		return nil, err
	}
	answer := &api.TodoAddAnswer{Already: p.same}
	if known := after.For(c.View); known != nil {
		for _, t := range slices.Backward(tasksOf(c, known, "")) {
			if t.task.Norm == p.Entry().Tasks[0].Norm && t.place.State == memory.Open.String() {
				answer.ID, answer.Path, answer.Line = t.place.Task(), t.place.Path, t.place.Line
				break
			}
		}
	}
	return answer, nil
}

// newTask returns the text of a task with its due date.
func (m writeOps) newTask(r *api.TodoAddRequest) (string, error) {
	text := boxRE().ReplaceAllString(r.Text, "")
	if err := m.checkLogText("text", text); err != nil {
		return "", err
	}
	if err := checkText("source", r.Source); err != nil {
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
	text, err = memory.NewTask(text, due)
	if err != nil {
		return "", api.Errorf(api.Invalid, "text: %v", err)
	}
	return text, nil
}

// boxRE matches the start of a task as copied from a file.
var boxRE = lazyregexp.New(`^\s*(?:[-*+]\s+)?(?:\[ \](?:\s+|$))?`)

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
		if s == day || days == 0 && s == "today" || days == 1 && s == "tomorrow" ||
			days > 0 && (s == name || s == name[:3]) {
			return day, nil
		}
	}
	if date, err := time.Parse(time.DateOnly, s); err == nil && date.Year() >= 1 {
		return s, nil
	}
	return "", api.Errorf(api.Invalid, "due: %q is not a day", s).
		WithHint("use a day such as 2026-02-04, today, tomorrow, a weekday, 3d or 2w")
}

// A taskCopy is a copy of a task that the caller can read.
type taskCopy struct {
	todosync.Copy
	task      *memory.Task
	entry     *memory.Entry
	session   string // session of its file
	untrusted bool   // written by others than its subject
	place     api.TodoPlace
}

func (m readOps) todos(ctx context.Context, c Call, r *api.TodosRequest) (*api.TodosAnswer, error) {
	answer := &api.TodosAnswer{Todos: []api.Todo{}, Index: m.indexState(c)}
	var all []api.Todo // in any state
	for _, copies := range m.taskCopies(c, r) {
		t := m.todoOf(copies)
		all = append(all, t)
		if r.State == "all" || t.State == r.State {
			answer.Todos = append(answer.Todos, t)
		}
	}
	answer.Days = todoDays(all)
	slices.SortFunc(answer.Todos, compareTodos)
	return answer, nil
}

// taskCopies returns the copies of each requested task, in any state.
func (m readOps) taskCopies(c Call, r *api.TodosRequest) [][]taskCopy {
	oldest, newest := "", m.day(1)
	if r.Days > 0 {
		oldest = m.day(1 - r.Days)
	}
	var copies []taskCopy
	hasTasks := func(f *index.FileInfo) bool {
		return f.Tasks && (todosync.Concerns(f.Kind) || r.Notes && f.Kind == memory.Note) &&
			(f.Day == "" || oldest <= f.Day && f.Day <= newest)
	}
	for doc := range m.readableFiles(c, hasTasks) {
		copies = append(copies, tasksOf(c, doc, r.Section)...)
	}
	return groupTasks(c, copies)
}

// openTasks returns the open tasks of the given number of days: those of the
// reader's project first, of these the overdue ones, then the newest.
func (m readOps) openTasks(c Call, days int, order projectOrder) (open []api.Todo) {
	ranks := map[string]int{} // by id of the first place
	for _, copies := range m.taskCopies(c, &api.TodosRequest{Days: days}) {
		t := m.todoOf(copies)
		if t.State != memory.Open.String() {
			continue
		}
		rank := otherProject
		for _, copied := range copies {
			rank = min(rank, order(copied.entry.Tags))
		}
		open = append(open, t)
		ranks[t.Places[0].ID+t.Text] = rank
	}
	slices.SortFunc(open, func(a, b api.Todo) int {
		return cmp.Or(ranks[a.Places[0].ID+a.Text]-ranks[b.Places[0].ID+b.Text], compareOverdue(a, b),
			strings.Compare(b.Since, a.Since), compareTodos(a, b))
	})
	return open
}

// compareOverdue orders overdue tasks, by due date, before others.
func compareOverdue(a, b api.Todo) int {
	late := func(t api.Todo) string {
		if t.Overdue {
			return t.Due
		}
		return "~" // after all days
	}
	return strings.Compare(late(a), late(b))
}

// compareTodos orders tasks: overdue ones first, then by day, oldest first, then by
// place.
func compareTodos(a, b api.Todo) int {
	return cmp.Or(compareOverdue(a, b), strings.Compare(a.Since, b.Since),
		strings.Compare(a.Places[0].Path, b.Places[0].Path), cmp.Compare(a.Places[0].Line, b.Places[0].Line),
		strings.Compare(a.Text, b.Text))
}

// todoDays counts tasks by the day of their Since field.
func todoDays(todos []api.Todo) []api.TodoDay {
	days := []api.TodoDay{}
	for _, t := range todos {
		i, ok := slices.BinarySearchFunc(days, t.Since,
			func(d api.TodoDay, day string) int { return strings.Compare(d.Day, day) })
		if !ok {
			days = slices.Insert(days, i, api.TodoDay{Day: t.Since})
		}
		if t.State == memory.Done.String() {
			days[i].Done++
		} else {
			days[i].Open++
		}
	}
	return days
}

// tasksOf lists the tasks of a file that the caller can read.
func tasksOf(c Call, doc *memory.Document, section string) []taskCopy {
	var list []taskCopy
	f := todosync.BoxesOf(doc)
	if !c.View.Readable(doc.Partition) {
		f.Contact = ""
	}
	for i, b := range f.Boxes {
		e := &doc.Entries[b.Entry]
		if !e.Readable(c.View) ||
			section != "" && !slices.ContainsFunc(e.Sections,
				func(s string) bool { return memory.SameSection(s, section) }) {
			continue
		}
		t := &e.Tasks[b.Task]
		place := api.TodoPlace{
			Place: api.Place{ID: doc.Place.Path + "#" + e.ID, Path: doc.Place.Path, Line: t.Line},
			State: t.State.String(), Day: cmp.Or(doc.Place.Day, e.Added),
		}
		if id := doc.Place.Path + "#" + e.TaskID(b.Task); id != place.ID {
			place.TaskID = id
		}
		list = append(list, taskCopy{Copy: f.Copy(i), task: t, entry: e, session: f.Session,
			untrusted: e.Author().Untrusted(c.View), place: place})
	}
	return list
}

// taskRules returns the rules for equal tasks, with the subjects of the
// caller's view.
func taskRules(c Call) *todosync.Rules {
	return &todosync.Rules{Subject: func(owner string) string { return c.View.SubjectOf(memory.Partition{Owner: owner}) }}
}

// groupTasks groups copies by task, newest first.
func groupTasks(c Call, copies []taskCopy) [][]taskCopy {
	slices.SortStableFunc(copies, taskCopy.compare)
	groups := taskRules(c).Group(boxesOf(copies))
	return convertEach(groups, func(members []int) []taskCopy { return pick(copies, members) })
}

func boxesOf(copies []taskCopy) []todosync.Copy {
	return convertEach(copies, func(t taskCopy) todosync.Copy { return t.Copy })
}

// compare orders copies by day, newest first, then by place.
func (t taskCopy) compare(u taskCopy) int {
	return cmp.Or(strings.Compare(u.place.Day, t.place.Day), strings.Compare(t.place.Path, u.place.Path),
		cmp.Compare(t.place.Line, u.place.Line))
}

// todoOf returns the task of the given copies, newest first. The task is
// complete if the newest copy is; a box that is open on a later day is a new
// task.
func (m readOps) todoOf(copies []taskCopy) api.Todo {
	newest, done := copies[0], memory.Done.String()
	t := api.Todo{Text: newest.task.Text, State: memory.Open.String(), Untrusted: true}
	for _, copied := range copies {
		if copied.place.Day == newest.place.Day && copied.place.State == done {
			t.State = done
		}
		t.Places = append(t.Places, copied.place)
		if t.Untrusted && !copied.untrusted { // the newest of the subject's own copies
			t.Text, t.Untrusted = copied.task.Text, false
		}
		t.Due, t.Created = cmp.Or(t.Due, copied.task.Due), cmp.Or(t.Created, copied.task.Created)
		t.Finished = cmp.Or(t.Finished, copied.task.Finished)
	}
	if t.State != done {
		t.Finished = ""
	}
	t.Overdue = t.Due != "" && t.Due < m.day(0) && t.State != done
	for _, p := range t.Places {
		if t.State != done && p.State == done {
			break // it was completed then and is open again
		}
		t.Since = p.Day
	}
	return t
}
