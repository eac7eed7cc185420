package vault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

const copyPath = "memory/2026-02-05.sync-conflict-20260205-120000-ABCDEFG.md"

// writeCopy saves a conflict copy of a file and returns its path.
func writeCopy(t *testing.T, w *Writer, path, text string) string {
	t.Helper()
	copied := strings.TrimSuffix(path, ".md") + ".sync-conflict-20260205-120000-ABCDEFG.md"
	writeFile(t, w.Vault, copied, text)
	return copied
}

// TestMerge merges a conflict copy whose common version only the journal has, and
// undoes the merge.
func TestMerge(t *testing.T) {
	const path = "memory/2026-02-05.md"
	w := newWriter(t, nil)
	w.mustWrite(t, contentChange(path, "- [ ] one\n- two\n"), contentChange(path, "- [ ] one\n- two\n- three\n"))
	for _, c := range []struct{ name, file, copied, want string }{
		{"additions", "- [ ] one\n- two\n- three\n", "- [ ] one\n- two\n- there\n", "- [ ] one\n- two\n- three\n- there\n"},
		{"tick", "- [ ] one\n- two\n- three\n", "- [x] one\n- two\n- three\n- there\n", "- [x] one\n- two\n- three\n- there\n"},
		{"removal", "- [ ] one\n- two\n", "- [ ] one\n- two\n- three\n- there\n", "- [ ] one\n- two\n- three\n- there\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFile(t, w.Vault, path, c.file)
			writeCopy(t, w, path, c.copied)
			m := &Merger{Writer: w, Layout: &memory.Layout{}}
			plan, err := m.Plan(copyPath)
			must(t, err)
			if !plan.Base || !plan.Additions || len(plan.Conflicts) > 0 {
				t.Errorf("base %t, additions %t, conflicts %v", plan.Base, plan.Additions, plan.Conflicts)
			}
			must(t, second(m.MergeAdditions(t.Context(), copyPath, true, false)))
			wantFiles(t, w, map[string]string{path: c.want})
			w.mustUndo(t, w.lastChange())
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
	w.wantRefused(t, contentChange(copyPath, "- never\n"), "conflict copy")
}

// TestMergeTicks merges versions in which each machine ticked another box, with the
// ticks of this machine in the journal and without a journal. The result has the
// ticks of both.
func TestMergeTicks(t *testing.T) {
	w := newWriter(t, nil)
	m, n := &Merger{Writer: w, Layout: &memory.Layout{}}, 0
	for _, c := range []struct{ name, mine, theirs, want string }{
		{"one on each", "- [x] one\n- [ ] two\n", "- [ ] one\n- [x] two\n", "- [x] one\n- [x] two\n"},
		{"on this machine only", "- [x] one\n- [x] two\n", "- [ ] one\n- [ ] two\n", "- [x] one\n- [x] two\n"},
		{"and a new task", "- [x] one\n- [ ] two\n", "- [ ] one\n- [x] two\n- new\n", "- [x] one\n- [x] two\n- new\n"},
		{"opened again on this machine", "- [x] one\n- [ ] two\n", "- [x] one\n- [x] two\n", "- [x] one\n- [x] two\n"},
		{"nested", "- [x] one\n  - [ ] two\n", "- [ ] one\n  - [x] two\n", "- [x] one\n  - [x] two\n"},
	} {
		for _, swapped := range []bool{false, true} {
			for _, known := range []bool{false, true} {
				n++
				path := fmt.Sprintf("notes/t%d.md", n)
				if known {
					w.mustWrite(t, contentChange(path, strings.ReplaceAll(c.mine, "[x]", "[ ]")), contentChange(path, c.mine))
				}
				file, copied := c.theirs, c.mine
				if swapped {
					file, copied = copied, file
				}
				writeFile(t, w.Vault, path, file)
				plan, err := m.Plan(writeCopy(t, w, path, copied))
				must(t, err)
				must(t, second(m.Apply(t.Context(), plan, nil)))
				if got := w.readTestTree(t)[path]; got != c.want {
					t.Errorf("%s, swapped %t, known %t: %q", c.name, swapped, known, got)
				}
			}
		}
	}
}

// TestMergeFrontmatter merges versions whose frontmatter has times of their own, and
// finds the common version by the text below.
func TestMergeFrontmatter(t *testing.T) {
	const path = "memory/2026-02-05.md"
	front := func(hour, body string) string { return "---\nupdated_at: 2026-02-05T" + hour + ":00:00Z\n---\n" + body }
	w := newWriter(t, nil)
	w.mustWrite(t, contentChange(path, front("10", "- one\n")), contentChange(path, front("11", "- one\n- here\n")))
	m := &Merger{Writer: w, Layout: &memory.Layout{}}
	must(t, second(m.MergeAdditions(t.Context(), writeCopy(t, w, path, front("12", "- one\n- there\n")), true, false)))
	wantFiles(t, w, map[string]string{path: front("12", "- one\n- here\n- there\n")})

	// A change of the readers is not undone by a version that lacks it.
	const other, public, private = "notes/a.md", "---\nvisibility: public_ok\n---\n", "---\nvisibility: private_only\n---\n"
	w.mustWrite(t, contentChange(other, public+"- one\n"), contentChange(other, private+"- one\n"))
	must(t, second(m.MergeAdditions(t.Context(), writeCopy(t, w, other, public+"- one\n"), true, false)))
	if got := w.readTestTree(t)[other]; got != private+"- one\n" {
		t.Errorf("%s", got)
	}
}

// TestMergeChangedFile merges a copy into a file that cannot be merged by entries
// any more, because it has changed since the plan.
func TestMergeChangedFile(t *testing.T) {
	const path, changed = "memory/2026-02-05.md", "---\nvisibility: [\n---\n<private>\n- new\n"
	for _, keep := range []memory.Keep{memory.KeepBoth, memory.KeepOurs, memory.KeepTheirs} {
		w := newWriter(t, nil)
		writeFile(t, w.Vault, path, "- one\n")
		writeCopy(t, w, path, "- two\n")
		m := &Merger{Writer: w, Layout: &memory.Layout{}}
		plan, err := m.Plan(copyPath)
		must(t, err)
		writeFile(t, w.Vault, path, changed)
		_, err = m.Apply(t.Context(), plan, &keep)
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

// TestMergesLoseNothing merges random versions of a file, some with a common version
// in the journal. After each merge, every line of every version must be in the
// file, in a copy or in the journal, and an undo must restore all files.
func TestMergesLoseNothing(t *testing.T) {
	t.Parallel()
	rounds := 100
	if os.Getenv("STRESS") != "" {
		rounds = 2000
	}
	r := rand.New(rand.NewPCG(1, 2))
	w := newWriter(t, nil)
	w.fault = func(call string, do func() error) error {
		if strings.HasPrefix(call, "sync") {
			return nil // a thousand rounds in a short time
		}
		return do()
	}
	m := &Merger{Writer: w, Layout: &memory.Layout{}}
	outcomes := map[string]int{}
	for n := range rounds {
		path := fmt.Sprintf("memory/2026-02-05.n%d.md", n)
		base := randomVersion(r)
		if r.IntN(3) > 0 {
			w.mustWrite(t, contentChange(path, strings.Join(base, "")))
		}
		writeFile(t, w.Vault, path, strings.Join(editVersion(r, base), ""))
		var copies []string
		for i := range 1 + r.IntN(2) {
			copies = append(copies, fmt.Sprintf("memory/2026-02-05.n%d.sync-conflict-20260205-12000%d-ABCDEFG.md", n, i))
			writeFile(t, w.Vault, copies[i], strings.Join(editVersion(r, base), ""))
		}
		for _, copied := range copies {
			before := w.readTestTree(t)
			plan, err := m.Plan(copied)
			must(t, err)
			requested, last := r.IntN(4) > 0, w.lastChange()
			keep := []*memory.Keep{nil, new(memory.KeepOurs), new(memory.KeepTheirs), new(memory.KeepBoth)}[r.IntN(4)]
			if !requested {
				keep = nil
			}
			var written Written
			if requested {
				written, err = m.Apply(t.Context(), plan, keep)
			} else {
				written, err = m.MergeAdditions(t.Context(), copied, true, r.IntN(2) == 0)
			}
			w.settleAll(t)
			after := w.readTestTree(t)
			known := linesOf(after)
			for _, record := range w.Journal.List(time.Time{}, "", 0) {
				if record.ID == last {
					break
				}
				old, _, err := w.Journal.Contents(record)
				must(t, err)
				addLines(known, old)
			}
			for line := range linesOf(before) {
				if !known[line] {
					t.Errorf("round %d: %q is lost\nbefore: %q\nafter: %q", n, line, before, after)
				}
			}
			_, left := after[copied]
			outcomes[fmt.Sprintf("requested %t, merged %t", requested, !left)]++
			if left && cmp.Equal(before, after) {
				continue // the copy stays for a person
			}
			must(t, err)
			if left || r.IntN(2) == 0 {
				continue
			}
			w.mustUndo(t, written.ID)
			wantFiles(t, w, before)
			outcomes["undone"]++
		}
		if t.Failed() {
			break
		}
		for path := range w.readTestTree(t) {
			must(t, os.Remove(w.Vault.name(path)))
		}
	}
	t.Log(outcomes)
}

// lastChange returns the ID of the newest change in the journal, or "".
func (w *Writer) lastChange() string {
	for _, r := range w.Journal.List(time.Time{}, "", 1) {
		return r.ID
	}
	return ""
}

func linesOf(files map[string]string) map[string]bool {
	lines := map[string]bool{}
	for _, text := range files {
		addLines(lines, []byte(text))
	}
	return lines
}

// addLines adds the lines of a text, without their ends.
func addLines(lines map[string]bool, text []byte) {
	for line := range strings.Lines(string(text)) {
		lines[strings.TrimRight(line, "\r\n")] = true
	}
}

// randomLine returns a line of a memory file.
func randomLine(r *rand.Rand) string {
	words := []string{"kestrel", "lantern", "orchid", "granite", "saddle"}
	text := words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
	return []string{
		"- " + text + "\n", "- [ ] " + text + "\n", "- [x] " + text + "\n", "  - [ ] " + text + "\n", text + "\n", "\n", "## " + text + "\n",
		"- " + text + " <!-- id=k" + fmt.Sprint(r.IntN(3)) + " -->\n", "- " + text + "\r\n", "```\n", "- " + text + " <!-- visibility=public_ok -->\n",
		"## 2:0" + fmt.Sprint(r.IntN(9)) + " PM\n", "<!-- " + text + "\n",
	}[r.IntN(13)]
}

func randomVersion(r *rand.Rand) (lines []string) {
	if r.IntN(4) == 0 {
		lines = []string{"---\n", "visibility: " + []string{"public_ok", "private_only"}[r.IntN(2)] + "\n", "---\n"}
	}
	for range r.IntN(12) {
		lines = append(lines, randomLine(r))
	}
	return lines
}

// editVersion returns the lines of a file after a few edits by another program.
func editVersion(r *rand.Rand, lines []string) []string {
	lines = slices.Clone(lines)
	for range r.IntN(4) {
		i := r.IntN(len(lines) + 1)
		switch r.IntN(6) {
		case 5:
			lines = append(lines, "- \xff\n")
		case 0, 1:
			lines = append(lines, randomLine(r))
		case 2:
			lines = slices.Insert(lines, i, randomLine(r))
		case 3:
			lines = slices.Delete(lines, i, min(i+1, len(lines)))
		case 4:
			if i < len(lines) {
				lines[i] = strings.Replace(lines[i], "[ ]", "[x]", 1)
			}
		}
	}
	return lines
}
