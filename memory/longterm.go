package memory

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Initial contents of new files. A section of a template is added with its
// first text, because an empty heading would be indexed as an entry without
// information.

// shortTermSections lists the sections of a session's file in order. It must
// not be modified.
var shortTermSections = []string{sessionSummary, temporaryFacts, "Tasks", "Follow Ups", relatedLinks}

// Sections of a session's file that are not task lists.
const (
	sessionSummary = "Session Summary"
	temporaryFacts = "Temporary Facts"
	relatedLinks   = "Related Links"
)

// Sections of a long-term file.
const (
	longTermGoals = "Long-Term Goals / Projects"
	keyFacts      = "Key Facts"
)

// A SessionHead is the frontmatter of a new session's file. Empty values are
// omitted, except the summary.
type SessionHead struct {
	Day             string // YYYY-MM-DD
	Now             time.Time
	Summary         string
	SessionID       string
	Source, Channel string
	By              string // author of the summary, see [Author]
	SubjectID       string
	ContactID       string
	ContactNickname string   // written with every contact, even if empty
	Visibility      string   // default visibility of the entries; empty for that of the layout
	Tags            []string // added to those of the file
}

// NewSession returns the file of a new session: frontmatter, with counters for
// no tasks, and title.
func NewSession(h SessionHead) []byte {
	fields := h.fields()
	if h.Visibility != "" {
		fields = append(fields, fieldChange{"visibility", h.Visibility})
	}
	return newFile(h.Now, h.Summary, fields, "# "+h.Day+shortTermTitle)
}

// fields returns the keys of a session and its contact.
func (h *SessionHead) fields() []fieldChange {
	fields := []fieldChange{{"session_id", h.SessionID}, {"source", h.Source}, {"written_by", h.By},
		{"channel", h.Channel}}
	if tags := tagList(h.Tags); len(tags) > 0 {
		fields = append(fields, fieldChange{"tags", tags})
	}
	fields = append(fields, fieldChange{"subject_id", h.SubjectID}, fieldChange{"contact_id", h.ContactID})
	fields = slices.DeleteFunc(fields, func(f fieldChange) bool { return f.value == "" })
	if h.ContactID != "" {
		fields = append(fields, fieldChange{"contact_nickname", h.ContactNickname})
	}
	return fields
}

// tagList returns tags as the value of a field, each once, ignoring case.
func tagList(tags []string) []any {
	var list []any
	seen := map[string]bool{}
	for _, t := range tags {
		t = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(t), "#"))
		if key := FoldTag(t); key != "" && !seen[key] {
			seen[key] = true
			list = append(list, t)
		}
	}
	return list
}

// NewLongTerm returns a new long-term file of a subject.
func NewLongTerm(subject string, now time.Time) []byte {
	return newFile(now, "", []fieldChange{{"subject_id", subject}}, longTermTitle)
}

// newFile returns a file with the keys that every kind of frontmatter has,
// further keys, and a title.
func newFile(now time.Time, summary string, fields []fieldChange, title string) []byte {
	fields = slices.Concat([]fieldChange{{"created_at", Timestamp(now)}, {"updated_at", Timestamp(now)},
		{"summary", summary}, {"tasks", "0/0"}, {"follow_ups", "0/0"}}, fields)
	return []byte(frontText(fields, "\n") + "\n" + title + "\n")
}

const longTermTitle = "# Long-Term Memory"

// NewMemory returns a new MEMORY.md.
func NewMemory() []byte { return []byte(longTermTitle + "\n") }

// WithSubject returns a new file without frontmatter for the subject of a user's
// directory. If the name of the directory could belong to another subject too,
// the file gets a frontmatter with the subject.
func WithSubject(file []byte, subject string) []byte {
	if dir := UserDir(subject); dir == subject && !strings.Contains(dir, "_") {
		return file
	}
	return append([]byte(frontText([]fieldChange{{"subject_id", subject}}, "\n")+"\n"), file...)
}

// WithVisibility returns a new file with a default visibility in its frontmatter, or the
// file itself if visibility is empty.
func WithVisibility(file []byte, visibility string) []byte {
	if visibility == "" {
		return file
	}
	line := "visibility: " + visibility + "\n---\n"
	if front, body, ok := strings.Cut(string(file), "\n---\n"); ok {
		return []byte(front + "\n" + line + body)
	}
	return []byte("---\n" + line + "\n" + string(file))
}

// NewPetMemory returns a new MEMORY.md for a pet: an agent's shared history
// with its owner, in Chinese.
func NewPetMemory() []byte { return []byte(petMemory) }

const petMemory = `# 🧠 记忆

<!-- 重要的事情记在这里。这是你的长期记忆。 -->

## 重要事件

<!-- 值得记住的事情 -->

## 偏好与习惯

<!-- 从对话中观察到的主人的偏好 -->

## 待办与承诺

<!-- 答应过主人的事情、未完成的任务 -->

## 笔记

<!-- 其他值得记住的信息 -->

---

` + petFooter + "\n"

// Timestamp returns a time in the format of files: RFC 3339 in UTC, to the
// second.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// CompleteSession completes the frontmatter of a session's file: it sets the
// values of the head and adds missing keys. A value that is a list or a map,
// which is invalid for these keys, stays.
func (r *Revision) CompleteSession(h SessionHead) {
	r.setCommonFields(h.Now, h.Summary)
	for _, f := range h.fields() {
		text, isText := f.value.(string)
		if isText {
			r.ensureField(f.key, text, text != "")
		}
	}
	r.addTags(h.Tags)
	r.SetCounters()
}

// addTags adds tags to those of the frontmatter. If the key has a value that
// cannot be replaced, the tags stay as they are.
func (r *Revision) addTags(tags []string) {
	front := &r.doc.Front
	field, ok := front.Field("tags")
	all := tagList(slices.Concat(front.Tags, tags))
	if len(all) > len(tagList(front.Tags)) && (!ok || field.Span.End > 0) {
		r.setValue("tags", all)
	}
}

// KeepSummary records that the summary stays although items change: the key
// summary_at contains the time of the summary from then on.
func (r *Revision) KeepSummary() {
	front := &r.doc.Front
	if _, ok := front.Field("summary_at"); !ok && front.Summary != "" && !front.Updated.IsZero() {
		r.SetField("summary_at", Timestamp(front.Updated))
	}
}

// CompleteLongTerm adds the missing keys of the frontmatter of a subject's
// long-term file, and a generated summary if the file has none.
func (r *Revision) CompleteLongTerm(subject string, now time.Time) {
	r.setCommonFields(now, "")
	r.ensureField("subject_id", subject, false)
	r.SetCounters()
	summary, ok := r.doc.Front.Field("summary")
	r.titles = r.titles || !ok || r.doc.HasGeneratedSummary() || summary.isScalar() && r.doc.Front.Summary == ""
}

// setCommonFields sets the keys that every kind of frontmatter has.
func (r *Revision) setCommonFields(now time.Time, summary string) {
	r.ensureField("created_at", Timestamp(now), false)
	r.ensureField("updated_at", Timestamp(now), true)
	r.ensureField("summary", summary, summary != "")
	if _, ok := r.doc.Front.Field("summary_at"); ok && summary != "" {
		r.SetField("summary_at", Timestamp(now))
	}
	for _, key := range []string{"tasks", "follow_ups"} {
		r.ensureField(key, Progress{}.String(), false)
		r.counted = append(r.counted, key)
	}
}

// ensureField sets a key if it is missing or, if always is true, also if it has a
// scalar value.
func (r *Revision) ensureField(key, value string, always bool) {
	f, ok := r.doc.Front.Field(key)
	if !ok || always && f.isScalar() {
		r.SetField(key, value)
	}
}

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
	[]string{longTermGoals, "Projects", "Goals", "Project Facts", "项目", "目标"},
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
var factSections = []string{keyFacts, "Facts", "笔记", "Notes", "其他", "Project Facts", "重要事件"}

// SectionFor returns the name of the section of a long-term file for a new
// item: the best match among the existing sections, else a new section in the
// language of the file's headings.
func (d *Document) SectionFor(title, text string) string {
	list := d.outline()
	if path.Base(d.Place.Path) == memoryFile && commitmentRE().MatchString(text) &&
		findHeading(list, []string{commitments}) >= 0 {
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
		if i := findHeading(list, []string{name}); i >= 0 {
			return list[i].path[len(list[i].path)-1]
		}
		if template && (name == longTermGoals || name == keyFacts) {
			return name
		}
	}
	for _, name := range append(wanted, "笔记", keyFacts) {
		if hasHan(name) == chinese {
			return name
		}
	}
	return keyFacts
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

// ClockHeading returns the heading of a note: the time of day and, if there is
// one, the topic. The time has the format of the last heading with a time, or
// 12 hours with AM and PM if there is none.
func (d *Document) ClockHeading(at time.Time, topic string) string {
	format := "3:04 PM"
	if d != nil && d.fullClock() {
		format = "15:04"
	}
	s := at.Format(format)
	topic = headingText(topic)
	if topic != "" {
		s += " - " + topic
	}
	return s
}

// fullClock reports whether the last heading with a time of day uses 24 hours.
func (d *Document) fullClock() bool {
	for _, h := range slices.Backward(d.Headings) {
		if _, _, _, ok := headingClock(h.Text); ok {
			g := clockRE().FindStringSubmatch(strings.TrimLeft(h.Text, " \t*_"))
			return g[4] == ""
		}
	}
	return false
}
