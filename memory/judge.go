package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// No rule can decide whether two differently worded items have the same
// subject. [Merge.Undecided] lists items for an external judge, a model.
// [Merge.ApplyProposal] applies the judge's proposal if nothing is lost by it.

// maxJudged is the largest number of entries of a section that a judge receives.
const maxJudged = 1000

// Undecided pairs the items of the draft that have the same text as an entry,
// and returns the remaining items with the entries that they may match. It
// omits items and entries for which tell returns false; the arguments of tell
// are the visibility and the text of each in the file. It also omits links,
// open tasks of the draft, which must not be lost, items and entries with more than a
// title and a text, and sections with more than maxJudged entries.
// If the context ends, the lists are empty.
func (m *Merge) Undecided(ctx context.Context, tell func(v Visibility, text string) bool) (existing,
	draft []Mergeable) {
	if m.applyRules(ctx, m.sameText) != nil {
		return nil, nil
	}
	listed, told := map[int]bool{}, map[int]bool{}
	mayTell := func(j int) bool {
		may, known := told[j]
		if !known {
			e := &m.doc.Entries[j]
			may = m.allowed(e) && tell(e.Partition.Visibility, string(m.doc.Source[e.Span.Start:e.Span.End]))
			told[j] = may
		}
		return may
	}
	for i := range m.Items {
		if ctx.Err() != nil {
			return nil, nil
		}
		it := &m.Items[i]
		if it.Into >= 0 || it.target != "" || it.nested || it.task != nil && !it.task.Done || len(it.section.entries) > maxJudged ||
			!tell(m.doc.Own.Visibility, it.Text) {
			continue
		}
		fit := 0
		for _, j := range it.section.entries {
			e := &m.doc.Entries[j]
			if m.taken[[2]int{j, -1}] || !mayTell(j) {
				continue
			}
			was, ok := m.mergeable(e, it)
			if !ok {
				continue
			}
			fit++
			if !listed[j] {
				listed[j], was.at = true, j
				existing = append(existing, was)
			}
		}
		if fit == 0 {
			continue
		}
		is := Mergeable{ID: fmt.Sprintf("d%d", len(draft)+1), Section: it.heading, Title: it.title, at: i,
			Task: it.task != nil}
		if is.Task {
			is.State = Done
		}
		is.Text = strings.TrimSpace(strings.Join(it.lines, "\n"))
		draft = append(draft, is)
	}
	for i := range existing {
		existing[i].ID = fmt.Sprintf("e%d", i+1)
	}
	return existing, draft
}

// mergeable returns an entry in the form for the judge of an item. It returns false if
// that form would not contain all of the entry, such as a list below its text.
func (m *Merge) mergeable(e *Entry, it *MergeItem) (Mergeable, bool) {
	head, below, _ := strings.Cut(itemContent(e), "\n")
	for line := range strings.Lines(below) {
		line = strings.TrimSpace(line)
		if line == "" || escapeStart(line) != line {
			return Mergeable{}, false // another block
		}
	}
	was := Mergeable{Section: it.heading, Task: len(e.Tasks) > 0, Text: oneLine(head + "\n" + below)}
	p := DraftEntry{Section: it.Section}
	if was.Task {
		was.State = e.Tasks[0].State
		p.task = &DraftTask{Done: was.State == Done}
	} else {
		was.Title, was.Text = splitTitle(was.Text)
	}
	p.title, p.lines = was.Title, []string{was.Text}
	again, err := m.layout.parseDraftEntry(m.doc.Place.Path, &p, it.heading, p.listItem("-"))
	return was, err == nil && again.Norm == e.Norm && was.Task == (it.task != nil)
}

// ApplyProposal applies a proposal for the items that [Merge.Undecided] returned. If
// the proposal is invalid, ApplyProposal returns an error and changes nothing. The
// function refuse returns an error for a text that must not be written. The
// lists may come from another Merge of the same draft into the same source, if
// Undecided was called for this one too.
func (m *Merge) ApplyProposal(p *Proposal, existing, draft []Mergeable, refuse func(text string) error) (err error) {
	items, taken := slices.Clone(m.Items), maps.Clone(m.taken)
	defer func() {
		if err != nil {
			m.Items, m.taken = items, taken
		}
	}()
	if err := p.Check(existing, draft, refuse); err != nil {
		return err
	}
	known, drafted := byID(existing), byID(draft)
	for _, s := range p.Pairs {
		was, is := known[s.Existing], drafted[s.Draft]
		it, e := &m.Items[is.at], &m.doc.Entries[was.at]
		if it.Into >= 0 || !slices.Contains(it.section.entries, was.at) || m.taken[[2]int{was.at, -1}] {
			return fmt.Errorf("%w: %s: merged with another item", ErrDraft, it.Name)
		}
		if was.Task {
			it.entry = e
		} else if err := m.rewordItem(it, was, is, s.Text, refuse); err != nil {
			return err
		}
		if !m.replaceable(it, was.at) {
			return fmt.Errorf("%w: %s: an open task would be lost", ErrDraft, it.Name)
		}
		m.recordPair(it, was.at)
		title := mergeTitle(it.entry)
		if title != "" && title != mergeTitle(e) &&
			slices.ContainsFunc(it.section.entries, func(i int) bool {
				return mergeTitle(&m.doc.Entries[i]) == title
			}) {
			return errors.New("an item gets the title of another item")
		}
	}
	return nil
}

// rewordItem sets the text that an item and the entry in the file become.
func (m *Merge) rewordItem(it *MergeItem, was, is *Mergeable, text string, refuse func(string) error) error {
	text, err := mergedText(was, is, text, refuse)
	if err != nil {
		return err
	}
	one := DraftEntry{title: mergedTitle(was, is), lines: textLinesOf(text)}
	it.text = one.listItem("-")
	it.entry, err = m.layout.parseDraftEntry(m.doc.Place.Path, &one, it.heading, it.text)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDraft, it.Name, err)
	}
	if Fold(it.entry.Title) != Fold(one.title) {
		return errors.New("a merged text has a new title")
	}
	return nil
}

// A Mergeable is an item of a file or a draft, in the form for the judge that
// proposes merges.
type Mergeable struct {
	ID      string // identifies it in a [Proposal]
	Section string // items of different sections never match
	Title   string // may be empty
	Text    string // without the title

	Task  bool      // the item itself is a task
	State TaskState // of the task

	at int // index of the entry, or of the item of the draft
}

func (m *Mergeable) titleAndText() string { return strings.TrimSpace(m.Title + " " + m.Text) }

// A Proposal pairs items of a draft with items of the file, with their merged
// texts. It comes from a model, so it must pass [Proposal.Check] first.
type Proposal struct {
	Pairs []ItemPair `json:"same"`
}

// ItemPair is a pair of matching items.
type ItemPair struct {
	Existing string `json:"existing"` // ID of the item of the file
	Draft    string `json:"draft"`    // ID of the item of the draft
	Text     string `json:"text"`     // merged text without the title; ignored for tasks, which keep their words
}

// slack bounds the length of a merged text: at most this many characters more
// than both texts together.
const slack = 100

// Check returns an error if a proposal must not be applied. The lists must
// contain all items that the proposal may name; refuse returns an error for a
// text that must not be written.
//
// Each item must exist and be named at most once. A merged text consists of
// words of both items only. It contains every word of the draft's text, which is
// newer, that the file's text lacks, and every exact word (see [MissingWords]) of
// both items, except values that the draft corrects. Its length is at most that
// of both texts plus slack, and at least half of the shorter one. If a text
// lacks only what is new in the draft, the draft's own text takes its place,
// provided that it has the exact words of the file.
//
// Tasks keep their words, so an open task of the draft never matches, and every
// exact word must be in both tasks. A done task stays done. A task of the file
// matches a done task of the draft only if the draft's task contains at least
// half of its words, and all its names. In scripts without capitals it must
// contain all words.
func (p *Proposal) Check(existing, draft []Mergeable, refuse func(text string) error) error {
	known, drafted := byID(existing), byID(draft)
	used := map[string]bool{}
	for _, s := range p.Pairs {
		was, is := known[s.Existing], drafted[s.Draft]
		switch {
		case was == nil:
			return fmt.Errorf("item %q is not in the file", clipWord(s.Existing))
		case is == nil:
			return fmt.Errorf("item %q is not in the draft", clipWord(s.Draft))
		case used["e"+s.Existing], used["d"+s.Draft]:
			return fmt.Errorf("items %q and %q are merged, one of them for the second time", s.Existing, s.Draft)
		case was.Section != is.Section:
			return fmt.Errorf("items of different sections are merged, %s and %s", was.Section, is.Section)
		case was.Task != is.Task:
			return fmt.Errorf("a task is merged with an item that is not a task")
		}
		used["e"+s.Existing], used["d"+s.Draft] = true, true
		err := error(nil)
		if was.Task {
			err = checkTasks(was, is)
		} else {
			_, err = mergedText(was, is, s.Text, refuse)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedTitle returns the title of a merged item: that of the file's item,
// because other entries may refer to it, else that of the draft's item.
func mergedTitle(existing, draft *Mergeable) string { return cmp.Or(existing.Title, draft.Title) }

func checkTasks(was, is *Mergeable) error {
	if is.State == Open {
		return errors.New("an open task would be lost")
	}
	for _, lost := range [][]string{MissingWords(is.titleAndText(), was.titleAndText()),
		MissingWords(was.titleAndText(), is.titleAndText())} {
		if len(lost) > 0 {
			return fmt.Errorf("%q occurs in only one of two merged tasks", clipWord(lost[0]))
		}
	}
	if WordOverlap(was.titleAndText(), is.titleAndText()) < 0.5 ||
		!containsNames(was.titleAndText(), is.titleAndText()) {
		return errors.New("a task would be marked done because of a different task")
	}
	return nil
}

// mergedText returns the text that replaces two items. In the proposed text it
// replaces values that the draft corrects. If the text then still lacks what is
// new in the draft, mergedText returns the draft's own text.
func mergedText(was, is *Mergeable, text string, refuse func(string) error) (string, error) {
	corrected := corrections(was.Text, is.titleAndText())
	for old, value := range corrected {
		if !containsWord(value, HeadingLine(text)) {
			text = replaceWord(text, old, value)
		}
	}
	if err := checkText(was, is, text, corrected, refuse); err != nil {
		return "", err
	}
	err := checkNewest(was, is, text, corrected)
	if err != nil && checkText(was, is, is.Text, corrected, refuse) == nil &&
		checkNewest(was, is, is.Text, corrected) == nil {
		return is.Text, nil
	}
	return text, err
}

// checkText returns an error if a text must not replace two items: it is empty,
// has another length or other words, or lacks an exact word of the file.
func checkText(was, is *Mergeable, text string, corrected map[string]string, refuse func(string) error) error {
	both := utf8.RuneCountInString(was.Text) + utf8.RuneCountInString(is.Text)
	length := utf8.RuneCountInString(text)
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("a merged text is empty")
	case length > both+slack:
		return errors.New("a merged text is longer than both texts together")
	case 2*length < min(utf8.RuneCountInString(was.Text), utf8.RuneCountInString(is.Text)):
		return errors.New("a merged text is much shorter than either text")
	}
	if err := refuse(text); err != nil {
		return err
	}
	known := was.titleAndText() + " " + is.titleAndText()
	for _, made := range append(MissingWords(text, known), newWords(text, known)...) {
		return fmt.Errorf("%q is in neither text", clipWord(made))
	}
	for _, lost := range MissingWords(was.titleAndText(), mergedTitle(was, is)+" "+text) {
		if corrected[lost] == "" {
			return fmt.Errorf("%q would be lost", clipWord(lost))
		}
	}
	return nil
}

// checkNewest returns an error if a text lacks a new word of the draft, or
// contains a value that the draft corrects.
func checkNewest(was, is *Mergeable, text string, corrected map[string]string) error {
	for old := range corrected {
		if containsWord(old, HeadingLine(text)) {
			return fmt.Errorf("%q is corrected by the draft", clipWord(old))
		}
	}
	said := mergedTitle(was, is) + " " + text
	for _, lost := range append(MissingWords(is.titleAndText(), said),
		newWords(is.Text, was.titleAndText()+" "+said)...) {
		return fmt.Errorf("%q would be lost", clipWord(lost))
	}
	return nil
}

func byID(items []Mergeable) map[string]*Mergeable {
	m := make(map[string]*Mergeable, len(items))
	for i := range items {
		m[items[i].ID] = &items[i]
	}
	return m
}

func clipWord(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// A rewording may replace most words of a sentence, but must keep some exactly:
// numbers, dates, addresses, paths, names with unusual case or punctuation,
// tags, and the content of code spans. This file finds those exact words.

var (
	codeSpanRE = lazyregexp.New("`+([^`\n]+)`+")
	addressRE  = lazyregexp.New("[A-Za-z][A-Za-z0-9+.-]*://[^\\s<>\"`，。；、！？（）】》」』]+")
)

// MissingWords returns the exact words of text that other does not contain, in
// the order of text. It takes time proportional to the product of the two
// lengths.
func MissingWords(text, other string) []string {
	other = HeadingLine(other)
	return slices.DeleteFunc(exactWords(text), func(word string) bool { return containsWord(word, other) })
}

// exactWords returns the words of a text that must be kept exactly.
func exactWords(text string) []string {
	text = HeadingLine(text)
	var words []string
	add := func(word string) {
		if word != "" && !slices.Contains(words, word) && containsWord(word, text) { // skip a part of a longer word
			words = append(words, word)
		}
	}
	for _, m := range codeSpanRE().FindAllStringSubmatch(text, -1) {
		add(strings.TrimSpace(m[1]))
	}
	for _, address := range addressRE().FindAllString(text, -1) {
		address = strings.TrimRight(address, ".,;:!?'*_|")
		for strings.HasSuffix(address, ")") && strings.Count(address, ")") > strings.Count(address, "(") {
			address = strings.TrimRight(address[:len(address)-1], ".,;:!?'*_|")
		}
		add(address)
	}
	for from := 0; from < len(text); {
		end := wordEnd(text, from)
		if word := trimWord(text[from:end]); isExact(word) {
			add(word)
		}
		_, n := utf8.DecodeRuneInString(text[end:])
		from = end + n
	}
	return words
}

// wordEnd returns the offset of the end of the word that begins at from. Words
// are separated by white space, brackets, quotes and characters of scripts
// without spaces.
func wordEnd(text string, from int) int {
	for i, r := range text[from:] {
		at := from + i
		switch {
		case r == ',' && at > from && at+1 < len(text) && isDigit(text[at-1]) && isDigit(text[at+1]):
		case unicode.IsSpace(r), strings.ContainsRune("()<>[]{}\"'`|*,;!", r), isSpaceless(r),
			r >= utf8.RuneSelf && unicode.IsPunct(r):
			return at
		}
	}
	return len(text)
}

// trimWord removes emphasis and the sentence's punctuation from a word.
func trimWord(word string) string {
	for _, mark := range []string{"~~", "__", "_"} {
		if inner, ok := strings.CutPrefix(word, mark); ok && strings.HasSuffix(inner, mark) {
			word = strings.TrimSuffix(inner, mark)
		}
	}
	return strings.TrimRight(word, ".:?-~&=")
}

// isExact reports whether rewording would change the meaning of a word.
func isExact(word string) bool {
	var before rune
	for i, r := range word {
		switch {
		case unicode.IsDigit(r), strings.ContainsRune(`/\_@#^=`, r) && len(word) > 1,
			r == ':' && i > 0,
			r == '-' && i == 0 && len(word) > 1, // -v, --force
			r == '.' && i+2 < len(word),         // notes.md, example.org, .env; not e.g
			unicode.IsUpper(r) && unicode.IsLower(before):
			return true
		}
		before = r
	}
	return false
}

// containsWord reports whether text contains word as a whole word, not as a
// part of a longer one. Both must be single-spaced.
func containsWord(word, text string) bool { return wordIndex(word, text) >= 0 }

// wordIndex returns the index of the first whole word in text that equals word,
// or -1.
func wordIndex(word, text string) int {
	amount := strings.Trim(word, "0123456789.,:") == ""
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return -1
		}
		at += from
		if !extendsWord(text[:at], amount, true) && !extendsWord(text[at+len(word):], amount, false) {
			return at
		}
		from = at + 1
	}
}

// replaceWord returns text with each whole word that equals old replaced.
func replaceWord(text, old, value string) string {
	var b strings.Builder
	for {
		at := wordIndex(old, text)
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at] + value)
		text = text[at+len(old):]
	}
}

// corrections returns the exact words of an old text that a newer text about the
// same thing corrects, with their new values. A word is corrected if it is the
// only one of its form that the newer text lacks, and the newer text has exactly
// one new word of that form. So the port 8081 corrects the port 8080, and a day
// corrects a day.
func corrections(old, newer string) map[string]string {
	byForm := func(words []string) map[string][]string {
		forms := map[string][]string{}
		for _, word := range words {
			forms[wordForm(word)] = append(forms[wordForm(word)], word)
		}
		return forms
	}
	lost, made := byForm(MissingWords(old, newer)), byForm(MissingWords(newer, old))
	corrected := map[string]string{}
	for form, words := range lost {
		if len(words) == 1 && len(made[form]) == 1 {
			corrected[words[0]] = made[form][0]
		}
	}
	return corrected
}

// wordForm returns a word with 0 for each number and a for each other run of
// letters. All URLs have one form.
func wordForm(word string) string {
	if strings.Contains(word, "://") {
		return "://"
	}
	var b strings.Builder
	last := rune(0)
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			r = '0'
		case unicode.IsLetter(r):
			r = 'a'
		}
		if r != last || r != '0' && r != 'a' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// extendsWord reports whether the text next to a word belongs to the word. A
// number may be part of a range, a ratio or an address; a name must not be part
// of another name.
func extendsWord(beside string, amount, before bool) bool {
	r, n := utf8.DecodeRuneInString(beside)
	next, _ := utf8.DecodeRuneInString(beside[n:])
	if before {
		r, n = utf8.DecodeLastRuneInString(beside)
		next, _ = utf8.DecodeLastRuneInString(beside[:len(beside)-n])
	}
	letter := func(r rune) bool { return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !isSpaceless(r) }
	switch {
	case n == 0:
		return false
	case letter(r):
		return true
	case r == '.', r == '_':
		return letter(next)
	case amount:
		return r == ',' && unicode.IsDigit(next) || before && r == '-' && !letter(next)
	}
	return strings.ContainsRune(`-/\@#`, r) && letter(next)
}

// WordOverlap returns the fraction of the words of text that other contains,
// ignoring case and order. If text has no words, WordOverlap returns 1.
func WordOverlap(text, other string) float64 {
	all := wordSet(text)
	if len(all) == 0 {
		return 1
	}
	return float64(countCommon(all, wordSet(other))) / float64(len(all))
}

// newWords returns the words of text that other lacks, sorted, ignoring case.
func newWords(text, other string) []string {
	has := wordSet(other)
	words := wordSet(text)
	maps.DeleteFunc(words, func(word string, _ bool) bool { return has[word] })
	return slices.Sorted(maps.Keys(words))
}

// containsNames reports whether other contains every name in text: every
// capitalized word except the first. A script without capitals does not mark
// names, so each of its characters counts as one.
func containsNames(text, other string) bool {
	has := wordSet(other)
	for i, word := range strings.Fields(text) {
		for _, r := range word {
			if isSpaceless(r) && !has[Fold(string(r))] {
				return false
			}
		}
		r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(word, unicode.IsPunct))
		if i > 0 && unicode.IsUpper(r) && WordOverlap(word, other) < 1 {
			return false
		}
	}
	return true
}
