package memory

import (
	"fmt"
	"testing"
)

// TestUnderIsTheSameWhenDone checks that the parent's text in a task does not
// depend on the parent's state. Otherwise ticking the parent would change the
// identity of the task.
func TestUnderIsTheSameWhenDone(t *testing.T) {
	for open, done := range map[string]string{
		"## Tasks\n- [ ] Move\n  - [ ] pack\n":      "## Tasks\n- [x] Move\n  - [ ] pack\n",
		"## 待办与承诺\n- Move\n  - [ ] pack\n":          "## 待办与承诺\n- ✅ Move\n  - [ ] pack\n",
		"## 待办与承诺\n- Move\n  - mind\n    - [ ] x\n": "## 待办与承诺\n- ✅️ Move\n  - mind\n    - [ ] x\n",
	} {
		under := func(text string) string {
			tasks := testLayout().Parse("MEMORY.md", []byte(text), testMeta).Entries[0].Tasks
			return tasks[len(tasks)-1].Under
		}
		if got, want := under(done), under(open); got != want || want == "" {
			t.Errorf("below %q it is under %q, below %q under %q", done, got, open, want)
		}
		doc := testLayout().Parse("MEMORY.md", []byte(open), testMeta)
		r := doc.Revise()
		r.SetTask(0, 0, Done)
		if _, err := r.Apply(func(source []byte) *Document { return testLayout().Parse("MEMORY.md", source, testMeta) }); err != nil {
			t.Errorf("%q: %v", open, err)
		}
	}
}

func TestNewTask(t *testing.T) {
	for _, c := range []struct{ text, due, want string }{
		{"Pay", "", "- [ ] Pay"},
		{"Pay", "2026-02-05", "- [ ] Pay 📅 2026-02-05"},
		{"Pay due:2026-02-05", "2026-02-05", "- [ ] Pay due:2026-02-05"},
		{"- [x] Pay", "", "- [ ] - [x] Pay"},
		{"# Pay", "", "- [ ] # Pay"},
		{"Pay ^id", "", `- [ ] Pay \^id`},
		{"Pay\n## Now", "", "- [ ] Pay ## Now"},
		{"Pay due:2026-02-05", "2026-02-06", ""},
		{"...", "", ""},
	} {
		got, err := NewTask(c.text, c.due)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("NewTask(%q, %q) = %q, %v; want %q", c.text, c.due, got, err, c.want)
		}
	}
}

func TestTaskIDs(t *testing.T) {
	doc := new(Layout).Parse("notes/a.md", []byte("- [ ] Move\n  - [x] Van <!-- id=van -->\n  - [ ] Pack\n  - [ ] Pack\n"), Meta{})
	e := &doc.Entries[0]
	seen := map[string]bool{}
	for i := range e.Tasks {
		seen[e.TaskID(i)] = true
	}
	if !seen[e.ID] || !seen["van"] || len(seen) != 4 {
		t.Errorf("ids of tasks: %v, entry %s", seen, e.ID)
	}
}

// TestTaskFields checks that the properties that are read are also left out of the text.
func TestTaskFields(t *testing.T) {
	for text, want := range map[string]string{ // the text, due, created, finished, whether it recurs
		"Go 🛫 2026-12-01 ⌛ 2026-12-03 📆 2026-12-04 🏁 delete":                                       "Go|2026-12-04|||false",
		"Go 🗓️ 2026-12-04 ⏰ 2026-12-04 10:00 ⏳2026-12-01 ❌ 2026-12-02":                             "Go|2026-12-04|||false",
		"Go ⏫ 🆔 a1_b ⛔ c2,d-3 🔺 #home ➕ 2026-12-01 ✅ 2026-12-02":                                   "Go #home||2026-12-01|2026-12-02|false",
		"Go [due:: 2026-12-05]  [completion:: 2026-12-06]":                                         "Go|2026-12-05||2026-12-06|false",
		"Go (scheduled:: 2026-12-05) (start:: 2026-12-01) [priority:: high] (created::2026-12-02)": "Go||2026-12-02||false",
		"Go [cancelled:: 2026-12-05] [id:: x1] [dependsOn:: a,b] [onCompletion:: delete] [Due:: ]": "Go||||false",
		"Go [due:: [[2026-12-05]]] now":                                                            "Go now|2026-12-05|||false",
		"Go due:2026-12-05 t:2026-12-01 pri:A":                                                     "Go|2026-12-05|||false",
		"Go DUE: 2026-12-05T10:00, please":                                                         "Go, please|2026-12-05|||false",
		"Go (due: 2026-12-05)":                                                                     "Go|2026-12-05|||false",
		"Go @due(2026-12-05 10:00) @done(2026-12-06) @start(2026-12-01)":                           "Go|2026-12-05||2026-12-06|false",
		"Go @{2026-12-05} @@{10:00}":                                                               "Go|2026-12-05|||false",
		"Go (@2026-12-05 10:00)":                                                                   "Go|2026-12-05|||false",
		"Go\nDEADLINE: <2026-12-05 Sat>\nSCHEDULED: <2026-12-01 Tue>":                              "Go|2026-12-05|||false",
		"[#A] Go\nSCHEDULED: <2026-12-01 Tue 10:00 .+1d>":                                          "Go||||true",
		"Go\nDEADLINE: <2026-12-01 Tue ++1w>":                                                      "Go|2026-12-01|||true",
		"Go 🔁 every day 📅 2026-12-05":                                                              "Go|2026-12-05|||true",
		"Go 🔁️ every 2 weeks on Monday, Friday when done ⏳ 2026-12-05 #home":                       "Go #home||||true",
		"🔁 Go":                             "Go||||true",
		"🔁 every day Go":                   "every day Go||||true",
		"Go [repeat:: every day]":          "Go||||true",
		"Go rec:+1w due:2026-12-05":        "Go|2026-12-05|||true",
		"Go #recurring/daily":              "Go #recurring/daily||||true",
		"Go @repeat(1 week)":               "Go||||true",
		"Go ✅\ufe0f 2026-02-05 ^abc":       "Go|||2026-02-05|false",
		"Go due:2026-02-30 due:2026-03-01": "Go due:2026-02-30|2026-03-01|||false",
		// Not a property, or one without a valid value.
		"Go overdue:2026-02-05":                   "Go overdue:2026-02-05||||false",
		"Go due:2026-02-051":                      "Go due:2026-02-051||||false",
		"Go due 2026-02-05":                       "Go due 2026-02-05||||false",
		"2026-02-05: go":                          "2026-02-05: go||||false",
		"Go (added 2026-02-05)":                   "Go (added 2026-02-05)||||false",
		"Go [repeat:: ]":                          "Go||||false",
		"Go 📅 2026-02-30 📅 2026-03-01":            "Go 📅 2026-02-30|2026-03-01|||false",
		"Go [due:: tomorrow] 📅 soon":              "Go [due:: tomorrow] 📅 soon||||false",
		"Go https://a.b/?due:2026-12-05":          "Go https://a.b/?due:2026-12-05||||false",
		"Go [person:: Ann] (note: x) ask @bob(x)": "Go [person:: Ann] (note: x) ask @bob(x)||||false",
		"Go (priority: high) id: A start: soon":   "Go (priority: high) id: A start: soon||||false",
		"📅 2026-12-05":                            "📅 2026-12-05|2026-12-05|||false",
		"Go ✅ 🚀":                                  "Go ✅ 🚀||||false",
	} {
		doc := new(Layout).Parse("a.md", []byte("- [ ] "+text+"\n"), Meta{})
		task := doc.Entries[0].Tasks[0]
		got := fmt.Sprintf("%s|%s|%s|%s|%t", task.Text, task.Due, task.Created, task.Finished, task.Recurs)
		if got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
		if n := taskNorm(task.Text); n != task.Norm || TaskNorm(text) != task.Norm {
			t.Errorf("%q is compared as %q, its text as %q", text, task.Norm, n)
		}
	}
}
