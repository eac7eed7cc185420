package ops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// An occurrence is an [api.Occurrence] with data that identifies its text.
type occurrence struct {
	api.Occurrence
	digest     string // of its lines
	normalized string // of an entry
	source     string // its lines
}

const (
	maxForget      = 20 // entries per request; larger lists are unlikely to have been reviewed
	maxOccurrences = 100
	// maxForgetLists bounds the number of stored lists of a subject. listLifetime is their
	// lifetime, long enough for a person to review one.
	maxForgetLists = 64
	listLifetime   = 15 * time.Minute
)

// outOfReach describes the copies that forget cannot reach.
const outOfReach = "copies in version control, backups, editors, other machines and programs that requested the " +
	"text are not removed"

// A literal is a text to look for.
type literal struct {
	text    string
	anyCase bool // matches upper and lower case
}

// in reports whether a text contains the literal. No text contains an empty one.
func (l literal) in(text string) bool {
	if l.anyCase && !strings.Contains(text, l.text) {
		return strings.Contains(strings.ToLower(text), strings.ToLower(l.text))
	}
	return l.text != "" && strings.Contains(text, l.text)
}

// A forgetLists holds the lists from which entries can be removed.
type forgetLists struct {
	eraseMu sync.Mutex // serializes removals

	mu    sync.Mutex
	lists map[string]forgetList // by token
}

// A forgetList is the result returned to one subject.
type forgetList struct {
	subject     string
	match       literal
	occurrences []occurrence
	made        time.Time
}

// forget lists the occurrences of a text, or removes listed ones.
func (m writeOps) forget(ctx context.Context, c Call, r *api.ForgetRequest) (*api.ForgetAnswer, error) {
	answer := &api.ForgetAnswer{Entries: []api.Occurrence{}}
	if m.Disabled {
		answer.Disabled = true
		return answer, nil
	}
	match := strings.Trim(unixLines(r.Match), "\n")
	switch {
	case r.Token != "" && match != "":
		return nil, api.Errorf(api.Invalid, "match and token exclude each other: match lists entries, ids with a "+
			"token remove entries")
	case len(r.IDs) > maxForget:
		return nil, api.Errorf(api.Invalid, "ids: got %d, at most %d per request", len(r.IDs), maxForget)
	case r.Token != "":
		return answer, m.forgetListed(ctx, c, r, answer)
	case len(r.IDs) > 0:
		return nil, api.Errorf(api.Invalid, "token is missing").
			WithHint("send match first, then the ids and the token of its answer")
	case strings.TrimSpace(match) == "":
		return nil, api.Errorf(api.Invalid, "match is empty").WithHint("set match to a text exactly as written in " +
			"the files")
	}
	if err := m.waitAllIndexed(ctx, &c); err != nil {
		return nil, err
	}
	wanted := literal{match, !r.Case}
	traces := m.findOccurrences(c, wanted)
	addOccurrences(answer, traces)
	answer.Token, answer.Beyond = m.forgetLists.storeList(forgetList{c.Scope.Subject, wanted, traces, m.Now()}),
		outOfReach
	return answer, nil
}

// waitAllIndexed waits until every file has been read and indexed, because an unread
// file may contain the text.
func (m writeOps) waitAllIndexed(ctx context.Context, c *Call) error {
	if err := m.syncIndex(ctx, c); err != nil {
		return err
	}
	if !c.synced {
		return api.Errorf(api.Unavailable, "not all files have been read yet").WithHint("retry in a moment")
	}
	return m.waitAllRead(ctx, c)
}

// addOccurrences adds the first occurrences to an answer and truncates their text.
func addOccurrences(a *api.ForgetAnswer, traces []occurrence) {
	a.Total = len(traces)
	for _, t := range traces[:min(len(traces), maxOccurrences)] {
		if r := []rune(t.Text); len(r) > maxOccurrenceText {
			t.Text = string(r[:maxOccurrenceText-1]) + "…"
		}
		a.Entries = append(a.Entries, t.Occurrence)
	}
}

// storeList stores a list and returns its token. The token depends on the subject,
// the text and the listed occurrences.
func (f *forgetLists) storeList(l forgetList) string {
	sum := sha256.New()
	parts := []string{l.subject, l.match.text, fmt.Sprint(l.match.anyCase)}
	for _, t := range l.occurrences {
		parts = append(parts, t.Path, t.What, t.ID, t.digest)
	}
	for _, s := range parts {
		fmt.Fprintf(sum, "%d:%s", len(s), s)
	}
	token := hex.EncodeToString(sum.Sum(nil)[:10])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists == nil {
		f.lists = map[string]forgetList{}
	}
	maps.DeleteFunc(f.lists, func(_ string, old forgetList) bool { return l.made.Sub(old.made) > listLifetime })
	own := slices.Sorted(maps.Keys(f.lists)) // tokens of the subject
	own = slices.DeleteFunc(own, func(token string) bool { return f.lists[token].subject != l.subject })
	if len(own) >= maxForgetLists {
		delete(f.lists, slices.MinFunc(own,
			func(a, b string) int { return f.lists[a].made.Compare(f.lists[b].made) }))
	}
	f.lists[token] = l
	return token
}

// findList returns the list of a token. It returns an error if the list is
// unknown, expired or belongs to another subject.
func (f *forgetLists) findList(c Call, token string, now time.Time) (forgetList, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.lists[strings.ToLower(strings.TrimSpace(token))]
	if !ok || l.subject != c.Scope.Subject || now.Sub(l.made) > listLifetime {
		return forgetList{}, api.Errorf(api.Conflict, "token is unknown or expired").
			WithHint("list the entries again")
	}
	return l, nil
}

// findOccurrences returns the occurrences of a text that the caller may read, in the
// order of paths and lines.
func (m writeOps) findOccurrences(c Call, match literal) []occurrence {
	traces := []occurrence{}
	for doc, shown := range m.readableFiles(c, func(*index.FileInfo) bool { return true }) {
		traces = append(traces, m.occurrencesIn(c, doc, shown, match)...)
	}
	return traces
}

// occurrencesIn returns the occurrences of a text in one file, as far as the caller
// may change them. It also searches
// masked text, so a caller who knows a credential can have the credential
// erased.
func (m writeOps) occurrencesIn(c Call, doc *memory.Document, shown memory.Shown, match literal) []occurrence {
	path, kind := doc.Place.Path, doc.Place.Kind.String()
	may, mayFile := m.mayChangeEntry(c), m.mayChange(c, doc.Own, doc.Front.Author())
	var traces []occurrence
	if mayFile && match.in(path) {
		traces = append(traces,
			occurrence{Occurrence: api.Occurrence{What: "path", Path: path, Kind: kind, Text: path}})
	}
	of := make([]bool, len(shown.Lines)+2) // lines that belong to an occurrence
	for i := range doc.Entries {
		e := &doc.Entries[i]
		from, to := shown.Line(e.Line), shown.Line(e.EndLine)
		for line := from; line <= to; line++ {
			of[line] = true
		}
		if text := doc.SourceLines(e.Line, e.EndLine); entryContains(e, text, match) && may(e) {
			t := occurrence{Occurrence: api.Occurrence{ID: path + "#" + e.ID, What: "entry", Path: path, Line: from,
				EndLine: to,
				Kind:    kind, Text: e.Text, Untrusted: e.Author().Untrusted(c.View)}, digest: digestOf(text),
				normalized: e.Norm, source: text}
			if n := len(e.Sections); n > 0 {
				t.Section = e.Sections[n-1]
			}
			traces = append(traces, t)
		}
	}
	front := 0 // last line of the frontmatter
	if doc.Front.Present {
		front = strings.Count(string(doc.Source[:doc.Front.Span.End]), "\n")
	}
	field, _ := doc.Front.Field("summary")
	if said := summaryOf(doc); mayFile && shown.Line(field.Line) > 0 &&
		(match.in(said) || match.in(doc.Front.Summary)) {
		for line := range strings.Count(said, "\n") + 1 {
			if at := shown.Line(field.Line + line); at > 0 {
				of[at] = true
			}
		}
		traces = append(traces, occurrence{digest: digestOf(said), Occurrence: api.Occurrence{
			ID: path + "#" + summaryID, What: "summary", Path: path, Line: shown.Line(field.Line),
			EndLine: shown.Line(field.Line),
			Kind:    kind, Text: doc.Front.Summary, Untrusted: doc.Front.Author().Untrusted(c.View),
		}})
	}
	for i, text := range shown.Lines {
		source := shown.Source(i + 1)
		if !mayFile || of[i+1] || !match.in(doc.SourceLines(source, source)) {
			continue
		}
		t := occurrence{Occurrence: api.Occurrence{What: "hidden", Path: path, Line: i + 1, EndLine: i + 1, Kind: kind,
			Text: text}}
		switch {
		case source <= front:
			t.What = "frontmatter"
		case slices.ContainsFunc(doc.Headings,
			func(h memory.Heading) bool { return h.Line <= source && source <= h.EndLine }):
			t.What = "heading"
		}
		traces = append(traces, t)
	}
	slices.SortStableFunc(traces, func(a, b occurrence) int { return cmp.Compare(a.Line, b.Line) })
	return traces
}

// summaryID replaces the entry id in the id of a file's summary.
const summaryID = "=summary"

// summaryOf returns the lines of a file's summary as the file contains them.
func summaryOf(doc *memory.Document) string {
	field, ok := doc.Front.Field("summary")
	if !ok || field.Span.End == 0 {
		return ""
	}
	lines := strings.Count(strings.TrimSuffix(unixLines(string(doc.Source[field.Span.Start:field.Span.End])), "\n"),
		"\n")
	return doc.SourceLines(field.Line, field.Line+lines)
}

func entryContains(e *memory.Entry, source string, match literal) bool {
	if match.in(source) || match.in(e.Text) {
		return true
	}
	for _, value := range e.Attributes {
		if match.in(value) {
			return true
		}
	}
	return false
}

func digestOf(text string) string { return journal.Digest([]byte(text)) }

// maxOccurrenceText bounds the text of an occurrence in an answer, in characters.
const maxOccurrenceText = 400
