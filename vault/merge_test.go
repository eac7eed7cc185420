package vault

import (
	"errors"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

const copyPath = "memory/2026-02-05.sync-conflict-20260205-120000-ABCDEFG.md"

// appendLine returns a requested change that appends a line.
func appendLine(path, line string) Change {
	return Change{Path: path, Cause: "note", Requested: true, Edit: func(f *File) ([]byte, error) {
		if f == nil {
			return []byte(line + "\n"), nil
		}
		return append(f.Data[:len(f.Data):len(f.Data)], line+"\n"...), nil
	}}
}

// TestMerge merges a conflict copy whose common version only the journal has, and
// undoes the merge.
func TestMerge(t *testing.T) {
	const path = "memory/2026-02-05.md"
	w := newWriter(t, nil)
	for _, line := range []string{"- [ ] one", "- two", "- three"} {
		_, err := w.Write(t.Context(), appendLine(path, line))
		must(t, err)
	}
	for _, c := range []struct {
		name, file, copied string
		want               string
		conflicts          int
		additions          bool
	}{
		{"additions", "- [ ] one\n- two\n- three\n", "- [ ] one\n- two\n- there\n", "- [ ] one\n- two\n- three\n- there\n", 0, true},
		{"tick and removal", "- [ ] one\n- two\n- three\n", "- [x] one\n- two\n- three\n- there\n", "- [x] one\n- two\n- three\n- there\n", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFile(t, w.Vault, path, c.file)
			writeFile(t, w.Vault, copyPath, c.copied)
			m := &Merger{Writer: w, Layout: &memory.Layout{}}
			plan, err := m.Plan(copyPath)
			must(t, err)
			if !plan.Base || plan.Additions != c.additions || len(plan.Conflicts) != c.conflicts {
				t.Errorf("base %t, additions %t, conflicts %v", plan.Base, plan.Additions, plan.Conflicts)
			}
			if _, err := m.Apply(t.Context(), plan, nil, false); (err == nil) != c.additions {
				t.Errorf("the automatic merge: %v", err)
			}
			if !c.additions {
				_, err := m.Apply(t.Context(), plan, nil, true)
				must(t, err)
			}
			wantFiles(t, w, map[string]string{path: c.want})
			u := &Undoer{Writer: w}
			id := w.Journal.List(time.Time{}, "", 1)[0].ID
			list, err := u.Undo(t.Context(), id, false)
			must(t, err)
			for _, r := range list {
				must(t, r.Err)
			}
			wantFiles(t, w, map[string]string{path: c.file, copyPath: c.copied})
		})
	}
	m := &Merger{Writer: w, Layout: &memory.Layout{}}
	if _, err := m.Plan(path); !errors.Is(err, ErrNotCopy) {
		t.Errorf("%v", err)
	}
	writeFile(t, w.Vault, "x.md.orig", "- a\n")
	if _, err := m.Plan("x.md.orig"); !errors.Is(err, ErrNoOriginal) {
		t.Errorf("%v", err)
	}
	_, err := w.Write(t.Context(), appendLine(copyPath, "- never"))
	if _, ok := errors.AsType[*RefusedError](err); !ok {
		t.Errorf("a conflict copy was changed: %v", err)
	}
}

// TestMergeChangedFile merges a copy into a file that cannot be merged by entries
// any more, because it has changed since the plan.
func TestMergeChangedFile(t *testing.T) {
	const path, changed = "memory/2026-02-05.md", "---\nvisibility: [\n---\n<private>\n- new\n"
	for _, keep := range []memory.Keep{memory.KeepBoth, memory.KeepOurs, memory.KeepTheirs} {
		w := newWriter(t, nil)
		writeFile(t, w.Vault, path, "- one\n")
		writeFile(t, w.Vault, copyPath, "- two\n")
		m := &Merger{Writer: w, Layout: &memory.Layout{}}
		plan, err := m.Plan(copyPath)
		must(t, err)
		writeFile(t, w.Vault, path, changed)
		_, err = m.Apply(t.Context(), plan, &keep, true)
		if (keep != memory.KeepOurs) != errors.Is(err, memory.ErrWhole) {
			t.Errorf("keep %d: %v", keep, err)
		}
		want := map[string]string{path: changed}
		if keep != memory.KeepOurs {
			want[copyPath] = "- two\n"
		}
		wantFiles(t, w, want)
	}
}
