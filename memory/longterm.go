package memory

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Long-term memory is divided into sections. The section of a new item depends
// on its words and on the sections of its file.

type sectionRule struct {
	pattern  func() *regexp.Regexp // matches items of that kind
	sections []string              // in order of preference
}

var sectionRules = []sectionRule{{
	lazyregexp.New(`(?i)\b(?:prefers?|likes?|loves?|hates?|dislikes?|favou?rite|usually|always|never)\b|喜欢|讨厌|偏好|习惯|通常|总是|从不`),
	[]string{"User Preferences", "Preferences", "Preference", "偏好与习惯", "偏好"},
}, {
	lazyregexp.New(`(?i)\b(?:project|goal|roadmap|milestone)\b|项目|目标|计划`),
	[]string{LongTermGoals, "Projects", "Goals", "Project Facts", "项目", "目标"},
}, {
	lazyregexp.New(`(?i)\b(?:decided|decision|agreed|chose)\b|决定|约定`),
	[]string{"Decisions", "Decision", "决定", "决策", "重要事件"},
}, {
	lazyregexp.New(`^\s*\d{4}-\d{2}-\d{2}[:：]|生日|纪念日|结婚|离婚|分手|怀孕|搬家|生病|去世|毕业|面试|入职|升职|辞职|情绪|心情|难过|伤心|焦虑`),
	[]string{"重要事件", "Important Events", "Events"},
}}

// commitmentRE matches commitments of the agent. They belong in that section of
// MEMORY.md, if there is one.
var commitmentRE = lazyregexp.New(`^\s*(?:我?(?:已经?)?答应|我?承诺|提醒主人)`)

// factSections lists the sections for all other items, in order of preference.
var factSections = []string{KeyFacts, "Facts", "笔记", "Notes", "其他", "Project Facts", "重要事件"}

// SectionFor returns the name of the section of a long-term file for a new
// item: the best match among the existing sections, else a new section in the
// language of the file's headings.
func (d *Document) SectionFor(title, text string) string {
	list := d.placement().outline(false)
	if path.Base(d.Place.Path) == memoryFile && commitmentRE().MatchString(text) &&
		findUsableHeading(list, []string{commitments}) >= 0 {
		return commitments
	}
	var wanted []string
	for _, s := range sectionRules {
		if s.pattern().MatchString(title + "\n" + text) {
			wanted = append(wanted, s.sections...)
		}
	}
	chinese := false
	for _, p := range list {
		chinese = chinese || p.level > 0 && hasHan(p.path[len(p.path)-1])
	}
	// Both sections belong to the template of a subject's file, even while they
	// are empty and therefore missing.
	template := !chinese && d.Place.Kind == Longterm && strings.HasSuffix(d.Place.Path, "/"+indexFile)
	for _, name := range slices.Concat(wanted, factSections) {
		if i := findUsableHeading(list, []string{name}); i >= 0 {
			return list[i].path[len(list[i].path)-1]
		}
		if template && (name == LongTermGoals || name == KeyFacts) {
			return name
		}
	}
	for _, name := range append(wanted, "笔记", KeyFacts) {
		if hasHan(name) == chinese {
			return name
		}
	}
	return KeyFacts
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// sectionNamespaces maps names of sections and titles to namespaces. Text with such a
// name is not long-term memory but a keyed item of that namespace.
var sectionNamespaces = map[string]string{
	"profile": "profile", "user profile": "profile", "identity": "profile", "about me": "profile",
	"画像": "profile", "身份": "profile", "个人资料": "profile", "个人信息": "profile",
	"preference": "preference", "preferences": "preference", "user preferences": "preference", "偏好": "preference",
	"偏好与习惯": "preference", "习惯": "preference",
	"constraint": "preference", "constraints": "preference", "ban": "preference", "bans": "preference",
	"constraints / bans": "preference",
	"约束":                 "preference", "限制": "preference", "禁忌": "preference", "禁止": "preference",
}

// NamespaceOf returns the namespace for the name of a section, a type or a
// title, for example preference for User Preferences. Most names have none;
// then it returns an empty string.
func NamespaceOf(name string) string { return sectionNamespaces[sectionName(name)] }

// IsCommitments reports whether every item of a section of that name is a task,
// with or without a box.
func IsCommitments(section string) bool { return sectionName(section) == commitments }

// CountsTasks reports whether boxes in a section of that name are counted.
func (l *Layout) CountsTasks(section string) bool {
	names, name := l.sectionNames(), sectionName(section)
	return slices.Contains(names.tasks, name) || slices.Contains(names.followUps, name)
}

// maxTitles bounds the lines of a generated summary.
const maxTitles = 10

// Titles returns the generated summary of a long-term file: the titles of its
// newest items, one per line, in the order of the file. For an item without a
// title it uses the start of the item's first line.
func (d *Document) Titles() string {
	var items []*Entry
	for i := range d.Entries {
		if e := &d.Entries[i]; d.inGeneratedSummary(e) {
			items = append(items, e)
		}
	}
	if len(items) > maxTitles {
		slices.SortStableFunc(items, func(a, b *Entry) int { return cmp.Or(b.Time.Compare(a.Time), b.Line-a.Line) })
		items = items[:maxTitles]
		slices.SortFunc(items, func(a, b *Entry) int { return a.Line - b.Line })
	}
	titles := make([]string, len(items))
	for i, e := range items {
		titles[i] = e.TitleLine()
	}
	return strings.Join(titles, "\n")
}

// HasGeneratedSummary reports whether the summary of a long-term file is generated, which
// means that each of its lines is the title of an item. The file may have
// further items that were added later.
func (d *Document) HasGeneratedSummary() bool {
	if _, ok := d.Front.Field("summary"); !ok || d.Place.Kind != Longterm {
		return false
	}
	titles := map[string]bool{"": len(d.Titles()) == 0}
	for i := range d.Entries {
		if e := &d.Entries[i]; d.inGeneratedSummary(e) {
			titles[e.TitleLine()] = true
		}
	}
	for line := range strings.SplitSeq(d.Front.Summary, "\n") {
		if !titles[line] {
			return false
		}
	}
	return true
}

// inGeneratedSummary reports whether a generated summary may include an entry: an item that
// every reader of the summary may read.
func (d *Document) inGeneratedSummary(e *Entry) bool {
	return e.Block == Item && e.Partition.Visibility >= d.Own.Visibility
}

// TitleLine returns the line of an item in a generated summary: its title, or the
// start of its first line.
func (e *Entry) TitleLine() string { return cmp.Or(e.Title, firstWords(e.Text)) }

// firstWords returns the first line of an item without marker, box and added
// date, shortened to 80 characters.
func firstWords(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = oneLine(trimMarkers(s))
	if day := addedSuffix(s); day != "" {
		if i := strings.LastIndexAny(s, "(（"); i > 0 {
			s = strings.TrimSpace(s[:i])
		}
	}
	const most = 80
	if r := []rune(s); len(r) > most {
		s = strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}
