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
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// An occurrence is an [api.Occurrence] with data that identifies its text.
type occurrence struct {
	api.Occurrence
	entry  string // id of the entry, without the suffix for a part
	digest string // of the lines of the entry or the summary
	lines  [2]int // of the entry, from 1
	source string // these lines
}

// maxOccurrences bounds a list, and a removal.
const maxOccurrences = 100

// outOfReach describes the copies that forget cannot reach.
const outOfReach = "copies in version control, backups, editors, other machines and programs that requested the " +
	"text are not removed"

// A forgetLists holds the lists from which entries can be removed.
type forgetLists struct {
	eraseMu sync.Mutex // serializes removals

	mu    sync.Mutex
	lists map[string]forgetList // the last one of each subject
}

// A forgetList is the result returned to one subject.
type forgetList struct {
	token       string
	match       index.Phrase
	occurrences []occurrence
}

// forget lists the occurrences of a text, or removes listed ones.
func (m adminOps) forget(ctx context.Context, c Call, r *api.ForgetRequest) (*api.ForgetAnswer, error) {
	answer := &api.ForgetAnswer{Entries: []api.Occurrence{}}
	match := strings.TrimSpace(unixLines(r.Match))
	phrase := index.NewPhrase(match, r.Case)
	switch {
	case r.Token != "" && match != "":
		return nil, api.Errorf(api.Invalid, "match and token exclude each other: match lists entries, ids with a "+
			"token remove entries")
	case len(r.IDs) > maxOccurrences:
		return nil, api.Errorf(api.Invalid, "ids: got %d, at most %d per request", len(r.IDs), maxOccurrences)
	case r.Token != "":
		return answer, m.forgetListed(ctx, c, r, answer)
	case len(r.IDs) > 0:
		return nil, api.Errorf(api.Invalid, "token is missing").
			WithHint("send match first, then the ids and the token of its answer")
	case phrase.Empty():
		return nil, api.Errorf(api.Invalid, "match has no words").WithHint("set match to words of the text to forget")
	}
	if err := m.waitAllIndexed(ctx, &c); err != nil {
		return nil, err
	}
	occurrences := m.findOccurrences(c, phrase)
	occurrences = append(occurrences, m.findEarlier(c, phrase, occurrences)...)
	addOccurrences(answer, phrase, occurrences)
	answer.Token = m.forgetLists.storeList(c, fmt.Sprint(match, r.Case), forgetList{match: phrase, occurrences: occurrences})
	answer.Beyond = outOfReach
	return answer, nil
}

// waitAllIndexed waits until every file has been read and indexed, because an unread
// file may contain the text, and records the changes of other programs.
func (m adminOps) waitAllIndexed(ctx context.Context, c *Call) error {
	if err := m.syncIndex(ctx, c); err != nil {
		return err
	}
	m.RecordHistory(ctx, "")
	if !c.synced {
		return api.Errorf(api.Unavailable, "not all files have been read yet").WithHint("retry in a moment")
	}
	return m.waitAllRead(ctx, c)
}

// addOccurrences adds the first occurrences to an answer, with numbers and marked matches.
func addOccurrences(a *api.ForgetAnswer, match index.Phrase, occurrences []occurrence) {
	a.Total = len(occurrences)
	number := 0
	for _, o := range occurrences[:min(len(occurrences), maxOccurrences)] {
		if o.ID != "" {
			number++
			o.Number = number
		}
		o.Text, o.Highlights = markMatches(o.Text, match)
		a.Entries = append(a.Entries, o.Occurrence)
	}
}

// markMatches returns a text and the ranges of the matches in it, in characters. From a long
// text it cuts a part with the first match.
func markMatches(text string, match index.Phrase) (string, [][2]int) {
	if runes := []rune(text); len(runes) > maxOccurrenceText {
		from := 0
		if found := match.Find(text); len(found) > 0 &&
			utf8.RuneCountInString(text[:found[0][1]]) >= maxOccurrenceText {
			from = utf8.RuneCountInString(text[:found[0][0]]) - maxOccurrenceText/4
		}
		to := min(len(runes), from+maxOccurrenceText-2)
		text = string(runes[from:to])
		if from > 0 {
			text = "…" + text
		}
		if to < len(runes) {
			text += "…"
		}
	}
	var marks [][2]int
	for _, f := range match.Find(text) {
		start := utf8.RuneCountInString(text[:f[0]])
		marks = append(marks, [2]int{start, start + utf8.RuneCountInString(text[f[0]:f[1]])})
	}
	return text, marks
}

// storeList stores a list and returns its token. The token depends on the subject,
// the text and the listed occurrences.
func (f *forgetLists) storeList(c Call, match string, l forgetList) string {
	parts := []string{c.Scope.Subject, match}
	for _, t := range l.occurrences {
		parts = append(parts, t.Path, t.What, t.ID, t.digest)
	}
	var text []byte
	for _, s := range parts {
		text = fmt.Appendf(text, "%d:%s", len(s), s)
	}
	sum := sha256.Sum256(text)
	l.token = hex.EncodeToString(sum[:10])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists == nil {
		f.lists = map[string]forgetList{}
	}
	f.lists[c.Scope.Subject] = l
	return l.token
}

// findList returns the list of a token. It returns an error if the list is not the last
// one of the caller's subject.
func (f *forgetLists) findList(c Call, token string) (forgetList, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lists[c.Scope.Subject]
	if l.token == "" || l.token != strings.ToLower(strings.TrimSpace(token)) {
		return l, api.Errorf(api.Conflict, "token is unknown or expired").WithHint("list the entries again")
	}
	return l, nil
}

// findOccurrences returns the occurrences of a text that the caller may read, in the
// order of paths and lines.
func (m adminOps) findOccurrences(c Call, match index.Phrase) []occurrence {
	occurrences := []occurrence{}
	for _, info := range m.Index.Files(func(f *index.FileInfo) bool { return f.Readable(c.View) }) {
		if !m.mayContain(c, info.Path, match) {
			continue
		}
		if doc, err := m.loadFile(c, info.Path); err == nil {
			occurrences = append(occurrences, m.occurrencesIn(c, doc, match)...)
		}
	}
	return occurrences
}

// earlierVersion is the kind of an occurrence that is in no file any more.
const earlierVersion = "version"

// findEarlier returns, for the owner, an occurrence for each file that lacks a text and of
// which an earlier version contains it: the newest such version.
func (m adminOps) findEarlier(c Call, match index.Phrase, present []occurrence) []occurrence {
	if !c.FullAccess {
		return nil
	}
	newest := map[string]*occurrence{} // by path; nil for a file with the text
	holds := m.holdsGone(c, newGoneText(match, nil))
	for _, t := range present {
		newest[t.Path] = nil
	}
	m.Writer.Journal.EachVersion(func(u journal.Use, content []byte, _ error) {
		r, path := u.Record, u.Path
		t, known := newest[path]
		if r.ID == "" || known && t == nil || !holds(path, content) {
			return
		}
		if !known {
			from, to := lineOfMatch(string(content), match)
			t = &occurrence{Occurrence: api.Occurrence{What: earlierVersion, Path: path, Time: r.Time,
				ID: path + "@" + r.ID, Kind: m.Layout.Place(path).Kind.String(), Writer: api.WrittenHere,
				Text: strings.Join(strings.Split(string(secrets.Mask(content)), "\n")[from:to], "\n")},
				entry: "@" + r.ID, digest: u.Digest}
			newest[path] = t
		}
		if !m.wroteMatches(c, path, content, match) {
			t.Writer = api.WrittenElsewhere
		}
	})
	var list []occurrence
	for _, path := range slices.Sorted(maps.Keys(newest)) {
		if t := newest[path]; t != nil {
			list = append(list, *t)
		}
	}
	return list
}

// lineOfMatch returns the lines, from 0, that contain the first match, or the first line.
func lineOfMatch(text string, match index.Phrase) (from, to int) {
	f := append(match.Find(text), [2]int{})[0]
	return strings.Count(text[:f[0]], "\n"), strings.Count(text[:f[1]], "\n") + 1
}

// wroteMatches reports whether memwatchd wrote all occurrences of a text in a version of a file.
func (m adminOps) wroteMatches(c Call, path string, version []byte, match index.Phrase) bool {
	doc := m.Parse(vault.File{Path: path, Data: version}).For(c.View)
	if doc == nil {
		return false
	}
	found := m.occurrencesIn(c, doc, match)
	return len(found) > 0 && !slices.ContainsFunc(found, func(t occurrence) bool { return t.Writer != api.WrittenHere })
}

// mayContain reports whether a file may contain a text. It reads the file instead of the index,
// which lacks comments and credentials. The time it takes depends on the whole file, so only a
// caller that may learn about all of them uses it.
func (m adminOps) mayContain(c Call, path string, match index.Phrase) bool {
	if !c.FullAccess || match.In(path) {
		return true
	}
	file, err := m.Writer.Vault.Read(path)
	return err != nil || file.Unstable || match.MayBeIn(string(file.Data))
}

// occurrencesIn returns the occurrences of a text in one file, as far as the caller may
// change them. It also searches masked text, so a caller who knows a credential can have
// the credential erased.
func (m adminOps) occurrencesIn(c Call, doc *memory.Document, match index.Phrase) []occurrence {
	path, kind := doc.Place.Path, doc.Place.Kind.String()
	may, mayFile := m.mayChangeEntry(c, path), m.mayChange(c, path, doc.Partition, doc.Front.Author())
	session := doc.Place.Kind == memory.Session && doc.Front.SessionID != ""
	var occurrences []occurrence
	add := func(t occurrence) {
		t.Path, t.Kind = path, kind
		occurrences = append(occurrences, t)
	}
	if mayFile && match.In(path) {
		add(occurrence{Occurrence: api.Occurrence{What: "path", Text: path,
			Untrusted: doc.Front.Author().Untrusted(c.View)}})
	}
	shown, untrusted := doc.Shown(c.View), doc.UntrustedLines(c.View)
	of := make([]bool, len(shown.Lines)+2) // lines that belong to an occurrence
	for i := range doc.Entries {
		e := &doc.Entries[i]
		for line := e.Line; line <= e.EndLine; line++ {
			of[line] = true
		}
		text := doc.SourceLines(e.Line, e.EndLine)
		if !may(e) {
			continue
		}
		for _, p := range matchingParts(doc, e, match) {
			t := occurrence{Occurrence: api.Occurrence{ID: path + "#" + e.ID, What: "entry",
				Line: p[0], EndLine: p[1], Text: e.Text,
				Untrusted: e.Author().Untrusted(c.View)}, entry: e.ID, digest: digestOf(text),
				lines: [2]int{p[0] - e.Line + 1, p[1] - e.Line + 1}, source: doc.SourceLines(p[0], p[1])}
			if n := len(e.Sections); n > 0 {
				t.Section = e.Sections[n-1]
			}
			if p != [2]int{e.Line, e.EndLine} {
				t.ID += fmt.Sprint(":", t.lines[0])
				text := strings.Join(shown.Lines[p[0]-1:p[1]], "\n")
				t.Text = strings.TrimRight(commentRE().ReplaceAllString(text, ""), " \t\n")
			}
			t.Writer = writerOf(session || e.Source != "" && e.Comment.End > 0 &&
				doc.LineStart(p[0]) <= e.Comment.Start && e.Comment.End <= doc.LineStart(p[1]+1))
			add(t)
		}
	}
	field, _ := doc.Front.Field("summary")
	if said := summaryOf(doc); mayFile && (match.In(said) || match.In(doc.Front.Summary)) {
		for line := range strings.Count(said, "\n") + 1 {
			of[field.Line+line] = true
		}
		if !doc.HasGeneratedSummary() { // that follows the entries
			add(occurrence{entry: summaryID, digest: digestOf(said), Occurrence: api.Occurrence{
				ID: path + "#" + summaryID, What: "summary", Line: field.Line,
				EndLine: field.Line, Writer: writerOf(session),
				Text: doc.Front.Summary, Untrusted: doc.Front.Author().Untrusted(c.View),
			}})
		}
	}
	for i, text := range shown.Lines {
		source := i + 1
		if !mayFile || of[source] || !match.In(doc.SourceLines(source, source)) {
			continue
		}
		add(occurrence{Occurrence: api.Occurrence{What: "line", Line: i + 1, EndLine: i + 1, Text: text,
			Untrusted: slices.ContainsFunc(untrusted, func(r [2]int) bool { return r[0] <= i+1 && i+1 <= r[1] })}})
	}
	slices.SortStableFunc(occurrences, func(a, b occurrence) int { return cmp.Compare(a.Line, b.Line) })
	return occurrences
}

// writerOf returns the value of [api.Occurrence.Writer]. memwatchd writes sessions, and
// elsewhere the source of an entry.
func writerOf(ours bool) string {
	if ours {
		return api.WrittenHere
	}
	return api.WrittenElsewhere
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

// matchingParts returns the lines of an entry that contain a text: those of parts that do not
// depend on its other lines, or all.
func matchingParts(doc *memory.Document, e *memory.Entry, match index.Phrase) [][2]int {
	if !match.In(doc.SourceLines(e.Line, e.EndLine)) && !match.In(e.Text) {
		return nil
	}
	if parts := doc.MatchingParts(e, match.In); parts != nil {
		return parts
	}
	return [][2]int{{e.Line, e.EndLine}}
}

func digestOf(text string) string { return journal.Digest([]byte(text)) }

// maxOccurrenceText bounds the text of an occurrence in an answer, in characters.
const maxOccurrenceText = 400
