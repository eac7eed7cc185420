package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/memory"
)

// remember stores one item in long-term memory.
func (m writeOps) remember(ctx context.Context, c Call, r *api.RememberRequest) (*api.RememberAnswer, error) {
	answer, err := m.rememberItem(ctx, c, r, "", "")
	if err == nil && r.Supersedes == "" {
		answer.Similar = m.similarEntries(ctx, c, r.Title+"\n"+r.Text, answer.Path, answer.Line)
	}
	return answer, err
}

// rememberItem stores one item in long-term memory, as part of a group of
// changes that are undone together. An empty group starts a new one. day is the
// day on which the session began, today if empty.
func (m writeOps) rememberItem(ctx context.Context, c Call, r *api.RememberRequest, day,
	group string) (*api.RememberAnswer, error) {
	answer := &api.RememberAnswer{Hints: []string{}}
	op, err := api.LookUp("remember")
	if err = cmp.Or(err, m.permit(c, op)); err != nil {
		return nil, err
	}
	item := &longTermEdit{RememberRequest: r, day: cmp.Or(day, m.day(0)), today: m.day(0),
		source: cmp.Or(oneLine(r.Source), "api")}
	if session := oneLine(r.Session); session != "" {
		item.source = "session:" + session
	}
	if err := m.checkLongTerm(item); err != nil {
		return nil, err
	}
	superseded, err := m.supersededID(ctx, c, r.Supersedes)
	if err != nil {
		return nil, err
	}
	var fresh []byte
	item.path, fresh, err = m.longTermFile(ctx, &c, r.Text)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(m.rejectTask(item), m.rejectNamespace(item)); err != nil {
		return nil, err
	}
	p := &addition{Put: memory.Put{Form: memory.FactForm, Title: oneLine(r.Title), Text: r.Text, Date: item.today,
		Evidence: r.Evidence, Attributes: map[string]string{"source": item.source, "supersedes": superseded}}}
	after, err := m.put(ctx, c, []writeTarget{{path: item.path, initial: fresh}}, &putEdit{
		cause: "remember", group: group, puts: []*addition{p}, same: item.isSame, replace: true,
		check: item.check,
		insert: func(_ *writeTarget, _ *memory.Document, rev *memory.Revision, puts []*memory.Put) {
			rev.Append([]string{item.section}, puts...)
		},
		finish: func(_ *memory.Document, rev *memory.Revision) {
			if strings.HasSuffix(item.path, "/_index.md") {
				rev.CompleteLongTerm(c.Scope.Subject, m.Now().UTC())
			}
		},
	})
	if err != nil {
		return nil, err
	}
	answer.Path, answer.Replaced = item.path, p.same
	if doc := after.For(c.View); doc != nil && p.stands != nil {
		answer.Line = p.line()
		if n := len(p.stands.Sections); n > 0 {
			answer.Section = p.stands.Sections[n-1]
		}
		for i := range doc.Entries {
			if e := &doc.Entries[i]; e != p.stands && item.isSame(e, p) {
				answer.Hints = append(answer.Hints, fmt.Sprintf("%s:%d has the same title and stays", item.path, e.Line))
			}
		}
		answer.Hints = append(answer.Hints, item.hints()...)
		if m.limits != nil {
			if hint := m.limits.FillOf(after).Hint(brief.LanguageOf(r.Title + "\n" + r.Text)); hint != "" {
				answer.Hints = append(answer.Hints, hint)
			}
		}
	}
	return answer, nil
}

// A longTermEdit is an item that is being written to long-term memory.
type longTermEdit struct {
	*api.RememberRequest
	source string // of the entry
	day    string // first day of its session
	today  string
	path   string

	section    string // of a new entry
	commitment bool   // the item is a task without a box
}

var (
	checkboxRE = lazyregexp.New(`(?m)^\s*(?:(?:[-*+]|\d+[.)])\s+)?\[.\](?:\s|$)`)
	taskRE     = lazyregexp.New(`(?i)^\s*(?:to-?do|task|follow[ -]?up|remind (?:me|us)|待办|提醒我)\s*(?:[:：]|\b)|^\s*(?:待办|提醒我)`)
)

// checkLongTerm rejects items that do not belong in long-term memory.
func (m writeOps) checkLongTerm(r *longTermEdit) error {
	err := cmp.Or(m.checkLogText("text", r.Text), checkText("title", r.Title), checkText("section", r.Section),
		checkText("session", r.Session), checkText("source", r.Source), checkText("evidence", r.Evidence...),
		checkNamed("text", r.Title, r.Text))
	if err != nil {
		return err
	}
	for _, e := range r.Evidence {
		if strings.TrimSpace(e) == "" || strings.Contains(e, ",") {
			return api.Errorf(api.Invalid, "evidence: %q is empty or contains a comma", e)
		}
	}
	if !r.Explicit {
		return api.Errorf(api.Invalid, "saving permanently requires a request of the user").
			WithHint("set `explicit` to true after a request of the user; otherwise use `note`")
	}
	return nil
}

// rejectTask rejects a task, unless the item is for the section of MEMORY.md
// that lists commitments.
func (m writeOps) rejectTask(r *longTermEdit) error {
	if checkboxRE().MatchString(r.Text) || !r.listsCommitments(r.Section) &&
		(taskRE().MatchString(r.Text) || taskRE().MatchString(r.Title) || m.Layout.CountsTasks(r.Section)) {
		return api.Errorf(api.Invalid, "cannot save a task in long-term memory").WithHint("add the task to the " +
			"tasks of the session")
	}
	return nil
}

// listsCommitments reports whether the items of a section of the file are
// commitments.
func (r *longTermEdit) listsCommitments(section string) bool {
	return memory.IsCommitments(section) && strings.HasSuffix("/"+r.path, "/MEMORY.md")
}

// rejectNamespace rejects an item whose title or section names an item namespace.
// MEMORY.md accepts such items, because it has sections for them.
func (m writeOps) rejectNamespace(r *longTermEdit) error {
	if m.Layout.Place(r.path).Dir == "" || !strings.HasSuffix(r.path, "/_index.md") {
		return nil
	}
	for _, name := range []string{r.Section, r.Title} {
		if namespace := memory.NamespaceOf(name); namespace != "" {
			return api.Errorf(api.Invalid, "%q is the name of an item, not of a long-term entry", name).
				WithHint("run `memwatchd item put %s KEY VALUE`", namespace)
		}
	}
	return nil
}

// longTermFile returns the path of the caller's long-term file and its initial
// content, in the language of the text. It is MEMORY.md if that exists or the
// memory has this layout, otherwise the _index.md of the caller's own directory.
func (m writeOps) longTermFile(ctx context.Context, c *Call, text string) (path string, fresh []byte, err error) {
	subject := c.Scope.Subject
	dir := memory.UserDir(subject) + "/MEMORY.md"
	if subject == m.Owner {
		dir = "MEMORY.md"
	}
	user := subject != m.Owner && m.Layout.Users != nil && m.Layout.Users(memory.UserDir(subject))
	if user || m.fileExists(dir) {
		mine := func() bool { return c.View.SubjectOf(memory.Partition{Owner: m.Layout.Place(dir).Owner}) == subject }
		if !mine() {
			if err := m.waitAllRead(ctx, c); err != nil {
				return "", nil, err
			}
		}
		if mine() {
			fresh := m.newMemory(*c, text)
			if subject != m.Owner {
				fresh = memory.WithSubject(fresh, subject)
			}
			return dir, fresh, nil
		}
	}
	home, err := m.subjectDir(ctx, c)
	if err != nil {
		return "", nil, err
	}
	path = home + "/_index.md"
	if subject == m.Owner && !m.fileExists(path) && (m.DaysIn == "users" || m.isWorkspace() ||
		strings.HasPrefix(m.dayDir(*c, m.day(0)), "memory/")) {
		return dir, m.newMemory(*c, text), nil
	}
	return path, memory.NewLongTerm(subject, m.Now()), nil
}

// isWorkspace reports whether the root is the workspace of an agent: it contains
// SOUL.md or USER.md.
func (m writeOps) isWorkspace() bool { return m.fileExists("SOUL.md") || m.fileExists("USER.md") }

// newMemory returns a new MEMORY.md in the language of the text, of SOUL.md and
// USER.md, and of the latest daily notes that the caller can read.
func (m writeOps) newMemory(c Call, text string) []byte {
	const enough = 8 << 10 // bytes
	for _, f := range slices.Backward(m.Index.Files(func(f *index.FileInfo) bool {
		return (f.Kind == memory.Identity || f.Kind == memory.Daily) && f.Readable(c.View)
	})) {
		if doc, err := m.loadFile(c, f.Path); err == nil && len(text) < enough {
			text += string(doc.Source[:min(len(doc.Source), enough)])
		}
	}
	if brief.LanguageOf(text) == brief.Chinese {
		return memory.NewPetMemory()
	}
	return memory.NewMemory()
}

func (m writeOps) fileExists(path string) bool {
	_, err := m.Files.Load(path)
	return err == nil
}

// check sets the section of a new item. A session may add one item on each of its days, because a
// chat keeps its id for years; another one is an error.
func (r *longTermEdit) check(_ *writeTarget, doc *memory.Document) error {
	r.section = oneLine(r.Section)
	if r.section == "" {
		r.section = doc.SectionFor(r.Title, r.Text)
	}
	r.commitment = r.listsCommitments(r.section)
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if r.Session != "" && e.Source == r.source && (e.Added == "" || e.Added >= r.day) && !r.isSame(e, nil) {
			return api.Errorf(api.Limit, "session %q has already saved an item permanently on that day", r.Session).
				WithHint("omit `session` if the user requested another item")
		}
	}
	return nil
}

// isSame reports whether an entry has the title of the item, or is an untitled item with the same
// text.
func (r *longTermEdit) isSame(e *memory.Entry, _ *addition) bool {
	title := letters.FoldCase(r.Title)
	return e.Block == memory.Item && (len(e.Tasks) == 0 || r.commitment) && letters.FoldCase(e.Title) == title &&
		(title != "" || memory.TaskNorm(e.Norm) == memory.TaskNorm(r.Text) || e.Remembered() == memory.TrimText(r.Text))
}

// hints returns advice on an item that may need a revision.
func (r *longTermEdit) hints() (hints []string) {
	if words := dates.Bound(r.Title+"\n"+r.Text, r.today, "9999-12-31"); words != "" && !r.commitment {
		hints = append(hints,
			fmt.Sprintf("%q is temporary: save only lasting facts permanently, and use note for the rest", words))
	}
	if namespace := r.statedNamespace(); namespace != "" {
		hints = append(hints, "this belongs in the keyed items: save it with the namespace "+namespace+
			", and forget it here")
	}
	return hints
}

var ownRE = lazyregexp.New(`(?i)\bmy\b|我`)

// statedNamespace returns the namespace in which a statement of _index.md belongs, or an
// empty string. MEMORY.md has sections for such statements.
func (r *longTermEdit) statedNamespace() string {
	said := transcript.Statements([]transcript.Message{{Text: r.Text}}, 1)
	if len(said) == 0 || !strings.HasSuffix(r.path, "/_index.md") {
		return ""
	}
	switch kind := said[0].Kind; {
	case kind == transcript.Preference, kind == transcript.Constraint:
		return "preference"
	case kind == transcript.Contact && ownRE().MatchString(r.Text):
		return "profile"
	}
	return ""
}
