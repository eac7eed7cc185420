package memory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestMergeVersions compares merges with the archives in testdata/versions: each has
// the files ours and theirs, base if it is known, and the results: merged, marked
// if there are conflicts, and the counts.
func TestMergeVersions(t *testing.T) {
	golden(t, "versions", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		path := "memory/2026-02-05.md"
		if line, _, _ := strings.Cut(string(a.Comment), "\n"); strings.HasPrefix(line, "path: ") {
			path = strings.TrimPrefix(line, "path: ")
		}
		texts := map[string][]byte{}
		for _, f := range a.Files {
			texts[f.Name] = f.Data
		}
		m := testLayout().MergeVersions(path, texts["base"], texts["ours"], texts["theirs"])
		a.Files = append(a.Files, txtar.File{Name: "→ merged", Data: versionText(m, KeepOurs)})
		if len(m.Conflicts) > 0 && !m.Whole {
			a.Files = append(a.Files, txtar.File{Name: "→ marked", Data: versionText(m, KeepMarked)},
				txtar.File{Name: "→ both", Data: versionText(m, KeepBoth)})
		}
		a.Files = append(a.Files, txtar.File{Name: "→ counts", Data: fmt.Appendf(nil,
			"added %d, changed %d, removed %d, conflicts %d, whole %t, additions %t\n",
			m.Added, m.Changed, m.Removed, len(m.Conflicts), m.Whole, m.Additions)})
		return a
	})
}

func versionText(m *VersionMerge, keep Keep) []byte {
	text, err := m.Text(keep)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return text
}

// checkMerged checks the laws of a merge: each line that a version added is in the
// result or in a conflict, no line is invented, no entry has more readers than in
// the version that it is from, and the merge of its result with a version changes
// nothing.
func checkMerged(t *testing.T, path string, base, ours, theirs []byte) (whole bool) {
	t.Helper()
	l := testLayout()
	m := l.MergeVersions(path, base, ours, theirs)
	if m.Whole {
		if len(m.Conflicts) != 1 || m.Additions {
			t.Fatal("an impossible merge is not one conflict")
		}
		return true
	}
	for keep := KeepOurs; keep <= KeepMarked; keep++ {
		out, err := m.Text(keep)
		if err != nil {
			if keep == KeepOurs {
				t.Fatal(err)
			}
			continue
		}
		in := map[string]bool{}
		for line := range strings.Lines(lawLines(out)) {
			in[line] = true
		}
		open := slices.Clone(out)
		for _, c := range m.Conflicts {
			for _, text := range []string{c.Ours, c.Theirs, c.Base} {
				for line := range strings.Lines(lawLines([]byte(text + "\n"))) {
					in[line] = true
				}
			}
		}
		before := lawLines(base)
		for i, v := range [][]byte{ours, theirs} {
			for line := range strings.Lines(lawLines(v)) {
				if !in[line] && !strings.Contains("\n"+before, "\n"+line) {
					t.Fatalf("keep %d: line %q of version %d is lost in\n%s", keep, line, i+1, open)
				}
			}
		}
		all := "\n" + lawLines(base) + "\n" + lawLines(ours) + "\n" + lawLines(theirs)
		for line := range strings.Lines(lawLines(out)) {
			if keep != KeepMarked && !strings.Contains(all, "\n"+line) {
				t.Fatalf("keep %d: line %q is invented in\n%s", keep, line, open)
			}
		}
		checkUnchanged(t, base, ours, theirs, out)
		if m.Additions {
			for line := range strings.Lines(lawLines(base)) {
				if !in[line] {
					t.Fatalf("line %q of the base is lost", line)
				}
			}
		}
	}
	return false
}

// checkMergeLaw checks that a merge without conflicts has the ticks of both versions,
// that a second merge with either version changes nothing, and that the opposite
// merge has the same lines.
func checkMergeLaw(t *testing.T, path string, base, ours, theirs []byte) {
	t.Helper()
	merge := func(base, ours, theirs []byte) ([]byte, bool) {
		m := testLayout().MergeVersions(path, base, ours, theirs)
		out, err := m.Text(KeepBoth)
		return out, err == nil && len(m.Conflicts) == 0
	}
	out, ok := merge(base, ours, theirs)
	if !ok {
		return
	}
	count := func(text []byte, box string) map[string]int {
		counts := map[string]int{}
		for line := range strings.Lines(string(text)) {
			if task, ok := strings.CutPrefix(strings.TrimSpace(line), "- ["+box+"] "); ok {
				counts[task]++
			}
		}
		return counts
	}
	open, ticked := count(out, " "), count(out, "x")
	for i, v := range [][]byte{ours, theirs} {
		wasOpen := count(v, " ")
		for task := range count(v, "x") {
			if wasOpen[task] == 0 && ticked[task] == 0 && open[task] > 0 {
				t.Fatalf("the tick of %q in version %d is lost in\n%s", task, i+1, out)
			}
		}
	}
	for i, v := range [][]byte{ours, theirs} {
		for _, b := range [][]byte{base, nil} {
			again, ok := merge(b, out, v)
			if b != nil && (!ok || !bytes.Equal(again, out)) {
				t.Fatalf("base known %t: a second merge with version %d changes\n%s\nto (%t)\n%s\nbase, ours and theirs are\n%s\n%s\n%s", b != nil, i+1, out, ok, again, base, ours, theirs)
			}
			if b == nil && ok && base == nil && lawLines(again) != lawLines(out) {
				t.Fatalf("a second merge with version %d changes\n%s\nto\n%s", i+1, out, again)
			}
		}
	}
	opposite, ok := merge(base, theirs, ours)
	lines := func(text []byte) []string {
		list := strings.Split(lawLines(text), "\n")
		slices.Sort(list)
		return slices.Compact(list)
	}
	if !ok || !slices.Equal(lines(out), lines(opposite)) {
		t.Fatalf("merged (%t)\n%s\nin the opposite order\n%s", ok, out, opposite)
	}
}

// checkUnchanged checks that a merged text contains the bytes of each line that all
// versions contain, with its ending. It skips lines that are not unique, and
// counters, which a merge corrects.
func checkUnchanged(t *testing.T, base, ours, theirs, out []byte) {
	t.Helper()
	sources := func(b []byte) map[string][]string {
		b = bytes.TrimPrefix(b, bom)
		ln, list := splitLines(unixText(b)), map[string][]string{}
		for i := range ln.count() {
			s := ln.span(i+1, i+1)
			text := string(trimEnding(b[s.Start:s.End]))
			list[text] = append(list[text], string(b[s.Start:s.End]))
		}
		return list
	}
	merged, versions := sources(out), []map[string][]string{sources(ours), sources(theirs)}
	if base != nil {
		versions = append(versions, sources(base))
	}
	for text, got := range merged {
		want := versions[0][text]
		if isBlankText([]byte(text)) || strings.HasPrefix(text, "tasks:") || strings.HasPrefix(text, "follow_ups:") || len(got) != 1 ||
			slices.ContainsFunc(versions, func(v map[string][]string) bool { return len(v[text]) != 1 || v[text][0] != want[0] }) {
			continue
		}
		if got[0] != want[0] && (want[0] != text || bytes.HasSuffix(out, []byte(text))) {
			t.Fatalf("line %q, which no version changed, is %q in\n%q", want[0], got[0], out)
		}
	}
}

// lawLines returns the lines of a text that a merge must keep: without blank lines,
// line endings, states of boxes and generated values of the frontmatter.
func lawLines(b []byte) string {
	var out strings.Builder
	b = bytes.TrimPrefix(b, bom)
	for line := range strings.Lines(displayText(string(b))) {
		s := openBoxes(strings.TrimRight(line, "\n"))
		if isBlankText([]byte(s)) || strings.HasPrefix(s, "updated_at:") || strings.HasPrefix(s, "tasks:") ||
			strings.HasPrefix(s, "follow_ups:") || isFence([]byte(s), true) {
			continue
		}
		out.WriteString(s + "\n")
	}
	return out.String()
}

func FuzzMergeVersions(f *testing.F) {
	f.Add("memory/2026-02-05.md", "# Day\n\n- a\n", "# Day\n\n- a\n- b\n", "# Day\n\n- c\n- a\n", true)
	f.Add("2026-02-05/s.md", "---\nsubject_id: acct:42\ntasks: 0/1\n---\n## Tasks\n- [ ] x\n",
		"---\nsubject_id: acct:42\ntasks: 1/1\n---\n## Tasks\n- [x] x\n", "---\nsubject_id: acct:42\ntasks: 0/2\n---\n## Tasks\n- [ ] x\n- [ ] y\n", true)
	f.Add("MEMORY.md", "", "## A\r\n- a\r\n<private>\n- p\n</private>\n", "## A\n- b <!-- visibility=public_ok -->\n```\ncode\n", false)
	f.Add("a.md", "- a\r\n- b\n- c\r- d", "- a\r\n- b\n- b2\n- c\r- d", "- a\r\n- b\n- c\r- new\r\n- d", true)
	f.Fuzz(func(t *testing.T, path, base, ours, theirs string, known bool) {
		if len(base)+len(ours)+len(theirs) > 1<<14 {
			return
		}
		b := []byte(base)
		if !known {
			b = nil
		}
		checkMerged(t, path, b, []byte(ours), []byte(theirs))
	})
}

// TestMergeVersionsUnchanged checks that a merge keeps the bytes of lines that no
// version changed: line endings, blank lines and the end of the file.
func TestMergeVersionsUnchanged(t *testing.T) {
	checkTable(t, "mergebytes", func(t *testing.T, in []string) string {
		m := testLayout().MergeVersions("notes/a.md", []byte(in[1]), []byte(in[2]), []byte(in[3]))
		text, err := m.Text(KeepOurs)
		if err != nil {
			t.Errorf("%s: %v", in[0], err)
		}
		return string(text)
	})
}

// TestMergeVersionsAtRandom merges random edits of random files. Edits of entries
// alone can always be merged.
func TestMergeVersionsAtRandom(t *testing.T) {
	const rounds = 1000
	whole := 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		base := randomLog(r)
		ours, theirs := editLog(r, base, "o", true), editLog(r, base, "t", true)
		known := logText(base, seed%3 == 0)
		if seed%4 == 0 {
			known = nil
		}
		if checkMerged(t, "memory/2026-02-05.md", known, logText(ours, seed%3 == 0), logText(theirs, seed%3 == 0)) {
			whole++
		}
	}
	t.Logf("%d of %d merges are left to a person", whole, rounds)
	if whole > rounds/20 {
		t.Errorf("%d of %d merges are left to a person", whole, rounds)
	}
}

// TestMergeVersionsLaw merges random versions, whose base is known or not, again and in
// the opposite order.
func TestMergeVersionsLaw(t *testing.T) {
	for seed := range 400 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		base := randomLog(r)
		ours, theirs := editLog(r, base, "o", false), editLog(r, base, "t", false)
		known := logText(base, false)
		if seed%2 == 0 {
			known = nil
		}
		checkMergeLaw(t, "memory/2026-02-05.md", known, logText(ours, false), logText(theirs, false))
	}
}

// logText returns a text of lines. With mixed line endings, each depends on the length
// of its line.
func logText(lines []string, mixed bool) []byte {
	var text []byte
	for _, line := range lines {
		ending := "\n"
		if mixed && len(line)%2 == 0 {
			ending = "\r\n"
		}
		text = append(append(text, line...), ending...)
	}
	return text
}

func randomLog(r *rand.Rand) []string {
	list := []string{"# 2026-02-05", ""}
	for i := range 1 + r.IntN(12) {
		switch r.IntN(6) {
		case 0:
			list = append(list, "", fmt.Sprintf("## %02d:%02d Topic %d", i, r.IntN(60), r.IntN(3)), "")
		case 1:
			list = append(list, fmt.Sprintf("- [ ] task number %d of %d", i, r.IntN(9)))
		case 2:
			list = append(list, "", fmt.Sprintf("A paragraph with the number %d.", i), "")
		default:
			list = append(list, fmt.Sprintf("- entry number %d is about %d", i, r.IntN(99)))
		}
	}
	return list
}

// editLog returns a list with random additions, changes, removals, ticks and moves.
func editLog(r *rand.Rand, base []string, name string, moves bool) []string {
	list := slices.Clone(base)
	for i := range 1 + r.IntN(5) {
		at := 1 + r.IntN(len(list))
		pick := func() (int, bool) {
			k := r.IntN(len(list))
			return k, strings.HasPrefix(list[k], "- ")
		}
		switch k, ok := pick(); r.IntN(8) {
		case 0:
			if ok {
				list[k] += " changed by " + name
			}
		case 1:
			if ok {
				list = slices.Delete(list, k, k+1)
			}
		case 2:
			list[k] = strings.Replace(list[k], "- [ ]", "- [x]", 1)
		case 3:
			if ok && moves {
				moved := list[k]
				list = slices.Delete(list, k, k+1)
				list = slices.Insert(list, min(at, len(list)), moved)
			}
		case 4:
			list = append(list, "", fmt.Sprintf("## 2%d:0%d New %s", r.IntN(4), i, name), "", fmt.Sprintf("- new below %s %d", name, i))
		case 5:
			list = append(list, "- both wrote this")
		default:
			list = slices.Insert(list, at, fmt.Sprintf("- new %s %d", name, i))
		}
	}
	return list
}

// TestMergeVersionsReaders merges a version that makes the file public with one
// that changes it while it is private.
func TestMergeVersionsReaders(t *testing.T) {
	const private, public = "---\nvisibility: private_only\n---\n", "---\nvisibility: public_ok\n---\n"
	const body = "- call Bob\n\n- later\n"
	for name, theirs := range map[string]string{
		"changed entry": private + "- call Bob the lawyer\n\n- later\n",
		"heading":       private + body + "\n## Divorce\n",
		"summary":       "---\nvisibility: private_only\nsummary: divorce\n---\n" + body,
		"new entry":     private + body + "- divorce\n",
	} {
		for _, swapped := range []bool{false, true} {
			a, b := []byte(public+body), []byte(theirs)
			if swapped {
				a, b = b, a
			}
			m := new(Layout).MergeVersions("notes/a.md", []byte(private+body), a, b)
			if text, err := m.Text(KeepOurs); err == nil || m.Additions {
				t.Errorf("%s (swapped: %t): merged to\n%s", name, swapped, text)
			}
		}
	}
	m := new(Layout).MergeVersions("notes/a.md", []byte(private+body), []byte(public+body+"- new\n"), []byte(private+body))
	if text, err := m.Text(KeepOurs); err != nil || string(text) != public+body+"- new\n" {
		t.Errorf("only one version changed: %v\n%s", err, text)
	}
}
