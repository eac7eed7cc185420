package memory

import "testing"

func TestDateBoundUntil(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"The lease ends 2026-02-12", "2026-02-12"},
		{"The lease ends 2026-02-13", ""},
		{"The lease ends 2027-01-01, the trial 2026-02-06", "2026-02-06"},
		{"leaves Tomorrow", "Tomorrow"},
		{"2026年2月8日考试", "2026年2月8日"},
		{"2026年3月8日考试", ""},
		{"2026-02-03：主人说这周五要面试", "这周五"},
	} {
		if got := DateBoundUntil(c.text, "2026-02-05", "2026-02-12"); got != c.want {
			t.Errorf("DateBoundUntil(%q) = %q, want %q", c.text, got, c.want)
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
		if got := DateBound(c.text, "2026-02-05"); got != c.want {
			t.Errorf("DateBound(%q) = %q, want %q", c.text, got, c.want)
		}
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
