package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var templateNow = time.Date(2026, 2, 4, 20, 34, 56, 789, time.FixedZone("CST", 8*60*60))

// TestNewSessionSaysWhatItWasGiven checks that the frontmatter of a new session
// is parsed back to the same values.
func TestNewSessionSaysWhatItWasGiven(t *testing.T) {
	for _, s := range []string{"", "a", `"a": 'b' # c`, "12", "null", "- x", "中文：摘要", "yes", "a\nb", "{a: b}", "tg:@a", "@a", "a\\b", "#x", "*a", "a: b", "a\u2028b"} {
		h := SessionHead{Day: "2026-02-04", Now: templateNow, Summary: s, SessionID: s, Source: s, Channel: s, ContactID: s, ContactNickname: s, SubjectID: "acct:1"}
		d := testLayout().Parse("2026-02-04/a.md", NewSession(h), testMeta)
		f := d.Front
		got := SessionHead{Day: d.Place.Day, Now: f.Updated.In(templateNow.Location()).Add(789), Summary: f.Summary, SessionID: f.SessionID, Source: f.Source, Channel: f.text("channel"), ContactID: f.ContactID, ContactNickname: f.ContactNickname, SubjectID: f.SubjectID}
		if diff := cmp.Diff(h, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" || len(d.Problems) > 0 || d.Unsound {
			t.Errorf("%q: %v (-given +read):\n%s", s, d.Problems, diff)
		}
		if f.text("created_at") != f.text("updated_at") || f.Tasks != "0/0" || f.FollowUps != "0/0" {
			t.Errorf("%q: %+v", s, f)
		}
	}
}

func TestDateBound(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"The interview is on Friday.", "on Friday"},
		{"Runs every Friday, and on Sundays", ""},
		{"Hand in by Monday", "by Monday"},
		{"leaves Tomorrow", "Tomorrow"},
		{"next week off", "next week"},
		{"call back in 2 hours", "in 2 hours"},
		{"Born 1990-03-05", ""},
		{"The lease ends 2026-02-05", "2026-02-05"},
		{"The lease ends 2027-01-01", "2027-01-01"},
		{"no date 9999-99-99", ""},
		{"the licence expires in May", "expires in"},
		{"usually at 10 pm", ""},
		{"下周三面试", "下周三"},
		{"上周三面试", ""},
		{"每周五打球", ""},
		{"这周五要面试", "这周五"},
		{"明天去医院", "明天"},
		{"3天后出发", "3天后"},
		{"本月底前完成", "本月"},
		{"2026年3月5号考试", "2026年3月5号"},
		{"生于1990年3月5日", ""},
		{"截止日期未定", "截止"},
		{"通常晚上 10 点后活跃", ""},
		{"2026-02-05：搬家了", ""},
		{"2026-02-05: moved on Friday", ""},
		{"2026-02-03：主人说这周五要面试", ""},
		{"2026-02-03：今天主人升职了\n明天庆祝", "明天"},
		{"面试：2026-02-03：今天", "今天"},
		{"2026-02-06：搬家", "2026-02-06"},
	} {
		if got := DateBound(c.text, "2026-02-05", "9999-12-31"); got != c.want {
			t.Errorf("DateBound(%q) = %q, want %q", c.text, got, c.want)
		}
	}
	const text = "The lease ends 2026-02-13, 2026年3月8日考试, the trial 2026-02-12"
	if got := DateBound(text, "2026-02-05", "2026-02-12"); got != "2026-02-12" {
		t.Errorf("within a week: %q", got)
	}
}

func TestSectionFor(t *testing.T) {
	const sections, events = "## 待办与承诺\n\n## 笔记\n", "## 重要事件\n\n## 偏好与习惯\n\n## 笔记\n"
	for _, c := range []struct{ path, source, text, want string }{
		{"MEMORY.md", sections, "我答应提醒主人周末买菜", "待办与承诺"},
		{"MEMORY.md", sections, "答应过主人少说话", "待办与承诺"},
		{"alice/MEMORY.md", sections, "提醒主人周五准备面试", "待办与承诺"},
		{"MEMORY.md", sections, "主人答应去爬山", "笔记"},
		{"MEMORY.md", "## 笔记\n", "我答应提醒主人周末买菜", "笔记"},
		{"MEMORY.md", events, "主人说这周五要面试", "重要事件"},
		{"MEMORY.md", events, "主人和朋友分手了，很难过", "重要事件"},
		{"MEMORY.md", events, "主人周一通常心情不好", "偏好与习惯"},
		{"MEMORY.md", sections, "主人说这周五要面试", "笔记"},
		{"_longterms/acct_42/_index.md", sections, "我答应提醒主人周末买菜", "笔记"},
	} {
		doc := (&Layout{}).Parse(c.path, []byte(c.source), Meta{})
		if got := doc.SectionFor("", c.text); got != c.want {
			t.Errorf("SectionFor(%q) in %s = %q, want %q", c.text, c.path, got, c.want)
		}
	}
}

func TestSummaryCheck(t *testing.T) {
	for _, c := range []struct {
		title, text string
		ok          bool
	}{
		{"Profile", "likes tea", true},
		{"my_project", "Says **a lot**: `code`, [a link](a.md), <b>, #tags & 全角。", true},
		{"2026-02-04/cli", "- [ ] not a task here", true},
		{"a", "# not a heading here", true},
		{"a:", "x", true},
		{"a** b", "x", false},
		{" a", "x", false},
		{"", "x", false},
		{"a", "", false},
		{"a", "x ", false},
		{"a", "two\n- items", false},
		{"a", "the id of another ^abc", false},
		{"a", "<!-- visibility=public_ok -->", false},
		{"a", "x <private>", false},
	} {
		s := Summary{Title: c.title, Text: c.text, Evidence: []string{"2026-02-04/cli.md"}}
		if err := s.Check("_longterms/owner/profile.md", new(Layout)); (err == nil) != c.ok {
			t.Errorf("%s: %v", &s, err)
		}
	}
}
