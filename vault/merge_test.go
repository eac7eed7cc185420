package vault

import (
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

// writeCopy saves a conflict copy of a file and returns its path.
func writeCopy(t *testing.T, w *Writer, path, text string) string {
	t.Helper()
	copied := strings.TrimSuffix(path, ".md") + ".sync-conflict-20260205-120000-ABCDEFG.md"
	writeFile(t, w.Vault, copied, text)
	return copied
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
