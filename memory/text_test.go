package memory

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzCleanLine(f *testing.F) {
	for _, s := range append(seeds, "<!-->", "<<private>", "<private \r>", "[Memory:a]\r[Memory:b]", "<!<!-- ---->") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckText(CleanLine(s)); err != nil {
			t.Errorf("%q becomes %q: %v", s, CleanLine(s), err)
		}
	})
}

// TestInvisible checks which characters each writer may write, and that a text
// keeps them or loses exactly the others.
func TestInvisible(t *testing.T) {
	const (
		everybody = iota // may write the text
		owner            // only a private context
		nobody
	)
	const england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
	for text, who := range map[string]int{
		"plain 会议 한국어": everybody,
		"a\tb\r\nc":    everybody,
		"👩\u200d👩\u200d👧 ❤️\u200d🔥 1️⃣ ☎︎ ☎": everybody,
		"می\u200cخواهم क्\u200dष":            everybody,
		"葛\U000e0100城 葛\ufe00":               everybody,
		england + " 主人的球队":                   everybody,
		"\u0600\u0661":                       everybody, // a sign that encloses digits
		"ไทย\u200bภาษา":                      everybody,
		"ᠠ\u180b":                            everybody,
		"co\u00adoperate":                    owner,
		"a\u200eb \u200fא\u061c":             owner,
		"a\u3164b":                           owner,
		"\u115f\u1160\uffa0":                 owner,
		"a\u034f":                            owner,
		"\u17b4\U0001d173":                   owner,
		"a\u202eb":                           nobody,
		"a\u200bb":                           nobody,
		"\u200b":                             nobody,
		"a\U000e0067":                        nobody,
		"a\ufe0f\ufe0f":                      owner,
		"a\U000e0100":                        owner,
		"葛\U000e0100\U000e0101":              owner,
		"a \ufe0f":                           owner,
		"\ufe0fa":                            owner,
		"a\u200d\u200d":                      owner,
		"a\u200d\u200c":                      owner,
		" \u200cb":                           owner,
		"ไ\u200b\u200b":                      nobody,
		england + "\U000e0067":               nobody,
		"\U0001f3f4\U000e0061\U000e0061\U000e007f":                     nobody, // no such region
		strings.TrimSuffix(england, "\U000e007f"):                      nobody,
		"ok" + strings.Repeat("\U000e0100", 200):                       owner,
		"ok" + strings.Repeat("\ufe01", 200):                           owner,
		"ok" + strings.Repeat("\u200c\u200d", 200):                     owner,
		strings.Repeat("\U0001f3f4\U000e0069\U000e0067\U000e007f", 20): nobody,
	} {
		if got := CheckText(text) == nil; got != (who != nobody) {
			t.Errorf("in private, %+q is accepted: %v", text, got)
		}
		if got := CheckForeign(text) == nil; got != (who == everybody) {
			t.Errorf("in public, %+q is accepted: %v", text, got)
		}
		clean := DropInvisible(text, true)
		if _, found := FirstInvisible(clean, true); found {
			t.Errorf("%+q becomes %+q", text, clean)
		}
		if who == everybody && clean != strings.ReplaceAll(text, "\r", "") {
			t.Errorf("%+q becomes %+q", text, clean)
		}
	}
}

// TestEscapeJSON checks that the result is the same value, without characters
// that harm a terminal.
func TestEscapeJSON(t *testing.T) {
	for _, s := range []string{"", "plain 会议 👩\u200d👧", "\u009b31m", "a\u202eb\u2066", "\u200b\ufeff\u2060", "\U000e0041\U000e007f", "\x7f\x1b", "\u2028", "\\u202e", "\"\t\n"} {
		b, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		out := EscapeJSON(b, false)
		var back map[string]string
		if err := json.Unmarshal(out, &back); err != nil || len(back) != 1 || back[s] != s {
			t.Errorf("%q becomes %s, %v", s, out, err)
		}
		if _, found := FirstInvisible(string(out), false); found {
			t.Errorf("%q becomes %q", s, out)
		}
	}
}

func TestSectionName(t *testing.T) {
	same := []string{
		"Tasks", "tasks", "**Tasks**", "Tasks:", "**Tasks:**", "✅ Tasks", "🗂️ Tasks", "Tasks 👩‍💻", "1️⃣ Tasks", ":memo: Tasks",
		"Tasks #work", "#work Tasks", "Tasks #work/today #urgent", "#tasks", "Tasks ^tasks", "Tasks #work ^t1", "Tasks {#tasks}",
		"Tasks {#tasks .c data-x=1}", "1. Tasks", "1.2 Tasks", "2.1. Tasks", "3) Tasks", "(4) Tasks", "a) Tasks", "IV. Tasks",
		"一、Tasks", "[Tasks](tasks.md)", "[[Tasks]]", "[[todo/list|Tasks]]", "[Tasks][1]", "1. [Tasks](t.md) ✅ #x ^y",
		`<a id="tasks"></a>Tasks`, "![](icon.png) Tasks", "Tasks (3)", "Tasks [1/2]", "`Tasks`", "==Tasks==", "Ｔａｓｋｓ：",
		"Tasks ^t {#t}", "Tasks (3) #work ^t", "Tasks {#t} #work", "1. ✅ **[[Tasks]]** (1/2) #a #b {#c} ^d",
	}
	for _, s := range same {
		if got := sectionName(s); got != "tasks" {
			t.Errorf("sectionName(%q) = %q", s, got)
		}
		if !SameSection(s, "Tasks") {
			t.Errorf("SameSection(%q, Tasks) = false", s)
		}
	}
	for s, want := range map[string]string{
		"Long-Term Goals / Projects": "long-term goals / projects", "2026 Plan": "2026 plan", "12:00 PM - Tasks": "12:00 pm - tasks",
		"My Tasks": "my tasks", "Tasks (later)": "tasks (later)", "待办与承诺 #工作": "待办与承诺", "三、偏好与习惯": "偏好与习惯",
		"C++": "c++", "i.e. more": "i.e. more", "": "", "🎯": "", "#1": "1",
	} {
		if got := sectionName(s); got != want {
			t.Errorf("sectionName(%q) = %q, want %q", s, got, want)
		}
	}
	for _, pair := range [][2]string{{"1. Alpha", "2. Alpha"}, {"2.1 Release", "2.2 Release"}, {"Tasks", "Done"}} {
		if SameSection(pair[0], pair[1]) {
			t.Errorf("SameSection(%q, %q) = true", pair[0], pair[1])
		}
	}
}
