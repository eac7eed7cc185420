package memory

import "testing"

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
