package memory

import (
	"strings"
	"time"
)

// What new files begin as. The sections of a template come with the first text
// in each: a heading with nothing below it would be found, and say nothing.

// ShortTermSections are the sections of a session's file, in the order in which
// they stand there. It must not be modified.
var ShortTermSections = []string{SessionSummary, TemporaryFacts, "Tasks", "Follow Ups", RelatedLinks}

// The sections of a session's file that are not lists of tasks.
const (
	SessionSummary = "Session Summary"
	TemporaryFacts = "Temporary Facts"
	RelatedLinks   = "Related Links"
)

// The sections of a long-term file.
const (
	LongTermGoals = "Long-Term Goals / Projects"
	KeyFacts      = "Key Facts"
)

// A SessionHead is what the frontmatter of a new session's file says. What is
// empty is left out, but for the summary.
type SessionHead struct {
	Day             string // YYYY-MM-DD
	Now             time.Time
	Summary         string
	SessionID       string
	Source, Channel string
	SubjectID       string
	ContactID       string
	ContactNickname string // with a contact it is there, empty or not
	Private         bool   // what does not say otherwise is private
}

// NewSession is the file of a session that has just begun: its frontmatter, with
// counters for no tasks, and its title.
func NewSession(h SessionHead) []byte {
	t := newTemplate(h.Now, h.Summary)
	t.field("session_id", h.SessionID)
	t.field("source", h.Source)
	t.field("channel", h.Channel)
	t.field("subject_id", h.SubjectID)
	if h.ContactID != "" {
		t.field("contact_id", h.ContactID)
		t.line("contact_nickname", h.ContactNickname)
	}
	if h.Private {
		t.field("visibility", PrivateOnly.String())
	}
	return t.body("# " + h.Day + shortTermTitle)
}

// NewLongTerm is the long-term file of a subject that has none.
func NewLongTerm(subject string, now time.Time) []byte {
	t := newTemplate(now, "")
	t.field("subject_id", subject)
	return t.body(longTermTitle)
}

const longTermTitle = "# Long-Term Memory"

// shortTermTitle is what the title of a session's file says behind its day.
const shortTermTitle = " Short-Term Memory"

// NewMemory is a MEMORY.md.
func NewMemory() []byte { return []byte(longTermTitle + "\n") }

// NewPetMemory is the MEMORY.md of a pet: of what an agent and the one it belongs
// to have lived through together, in Chinese.
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

_记住重要的事，忘掉不重要的。定期整理，保持精炼。_
`

// NewDaily is the log of a day, YYYY-MM-DD.
func NewDaily(day string) []byte { return []byte("# " + day + "\n") }

// Timestamp is a time as files have it: RFC 3339 in UTC, to the second.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// template is a file with frontmatter that is being written.
type template struct{ strings.Builder }

func newTemplate(now time.Time, summary string) *template {
	var t template
	t.WriteString("---\n")
	t.line("created_at", Timestamp(now))
	t.line("updated_at", Timestamp(now))
	t.line("summary", summary)
	t.line("tasks", "0/0")
	t.line("follow_ups", "0/0")
	return &t
}

func (t *template) line(key, value string) { t.WriteString(fieldChange{key, value}.line() + "\n") }

func (t *template) field(key, value string) {
	if value != "" {
		t.line(key, value)
	}
}

func (t *template) body(title string) []byte { return []byte(t.String() + "---\n\n" + title + "\n") }
