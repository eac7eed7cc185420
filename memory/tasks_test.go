package memory

import (
	"fmt"
	"testing"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
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
	golden.Table(t, "newtasks", func(_ *testing.T, in []string) string {
		return golden.Result(NewTask(in[0], in[1]))
	})
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

// TestTaskFields checks that the properties that are read are also left out of the text. A result
// is the text, due, created, finished, and whether the task recurs.
func TestTaskFields(t *testing.T) {
	golden.Table(t, "taskfields", func(t *testing.T, in []string) string {
		task := new(Layout).Parse("a.md", []byte("- [ ] "+in[0]+"\n"), Meta{}).Entries[0].Tasks[0]
		if n := taskNorm(task.Text); n != task.Norm || TaskNorm(in[0]) != task.Norm {
			t.Errorf("%q is compared as %q, its text as %q", in[0], task.Norm, n)
		}
		return fmt.Sprintf("%s|%s|%s|%s|%t", task.Text, task.Due, task.Created, task.Finished, task.Recurs)
	})
}
