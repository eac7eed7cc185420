package memory

import "testing"

func TestTaskDueDates(t *testing.T) {
	for text, want := range map[string]string{
		"Pay 📅 2026-02-05":                      "2026-02-05",
		"Pay 📅2026-02-05 #home":                 "2026-02-05",
		"Pay 📆\ufe0f 2026-02-05":                "2026-02-05",
		"Pay 🗓 2026-02-05":                      "2026-02-05",
		"due:2026-02-05 Pay":                    "2026-02-05",
		"Pay DUE: 2026-02-05.":                  "2026-02-05",
		"Pay @due(2026-02-05)":                  "2026-02-05",
		"Pay @due(2026-02-05 10:00)":            "2026-02-05",
		"Pay [due:: 2026-02-05]":                "2026-02-05",
		"Pay ⏫ 📅 2026-02-05 🔁 every month":      "2026-02-05",
		"Pay due:2026-02-30 due:2026-03-01":     "2026-03-01",
		"Pay ⏳ 2026-02-05":                      "", // scheduled
		"Pay 🛫 2026-02-05":                      "",
		"Pay ✅ 2026-02-05":                      "",
		"It was overdue:2026-02-05":             "",
		"Pay due:2026-02-051":                   "",
		"Pay due 2026-02-05":                    "",
		"Pay due:tomorrow":                      "",
		"2026-02-05: pay":                       "",
		"Pay (added 2026-02-05) due:2026-13-01": "",
	} {
		doc := new(Layout).Parse("memory/2026-02-01.md", []byte("## Tasks\n- [ ] "+text+"\n"), Meta{})
		if got := doc.Entries[0].Tasks[0].Due; got != want {
			t.Errorf("due date of %q: %q, want %q", text, got, want)
		}
	}
}

func TestTaskDates(t *testing.T) {
	for text, want := range map[string]string{
		"Pay ➕ 2026-02-01 📅 2026-02-09 ✅ 2026-02-05": "2026-02-09 2026-02-01 2026-02-05",
		"Pay ➕2026-02-01":             " 2026-02-01 ",
		"Pay ✅\ufe0f 2026-02-05 ^abc": "  2026-02-05",
		"Pay [created:: 2026-02-01] (completion:: 2026-02-05) [due:: 2026-02-09]": "2026-02-09 2026-02-01 2026-02-05",
		"Pay ✅ 2026-02-30 ➕ tomorrow":                                             "  ",
		"Pay ❌ 2026-02-05 ⏳ 2026-02-06 🛫 2026-02-07":                              "  ",
	} {
		doc := new(Layout).Parse("a.md", []byte("- [x] "+text+"\n"), Meta{})
		task := doc.Entries[0].Tasks[0]
		if got := task.Due + " " + task.Created + " " + task.Finished; got != want {
			t.Errorf("dates of %q: %q, want %q", text, got, want)
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
