package memory

import "testing"

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
