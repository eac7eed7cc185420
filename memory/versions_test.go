package memory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestMergeVersions compares merges with the archives in testdata/versions: each has
// the files ours and theirs, base if it is known, and the results: merged, marked
// if there are conflicts, as the lines that differ from ours, and the counts.
func TestMergeVersions(t *testing.T) {
	golden.Run(t, "versions", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		path := "memory/2026-02-05.md"
		if line, _, _ := strings.Cut(string(a.Comment), "\n"); strings.HasPrefix(line, "path: ") {
			path = strings.TrimPrefix(line, "path: ")
		}
		texts := map[string][]byte{}
		for _, f := range a.Files {
			texts[f.Name] = f.Data
		}
		m := testLayout().MergeVersions(path, texts["base"], texts["ours"], texts["theirs"])
		shown := func(name string, keep Keep) {
			a.Files = append(a.Files, txtar.File{Name: "→ " + name, Data: golden.Changed(texts["ours"], versionText(m, keep))})
		}
		shown("merged", KeepOurs)
		if len(m.Conflicts) > 0 && !m.Whole {
			shown("marked", KeepMarked)
			shown("both", KeepBoth)
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
// result or in a conflict, no line is invented, lines that no version changed keep their
// bytes, and additions remove nothing. It reports whether the versions can be merged.
func checkMerged(t *testing.T, path string, base, ours, theirs []byte) bool {
	t.Helper()
	m := testLayout().MergeVersions(path, base, ours, theirs)
	if m.Whole {
		if len(m.Conflicts) != 1 || m.Additions {
			t.Fatal("an impossible merge is not one conflict")
		}
		return false
	}
	before, body := lawLines(base), ""
	if m.Additions {
		body = lawLines(base[testLayout().Parse(path, base, Meta{}).Front.Span.End:])
	}
	for keep := KeepOurs; keep <= KeepMarked; keep++ {
		out, err := m.Text(keep)
		if err != nil && keep == KeepOurs {
			t.Fatal(err)
		} else if err != nil {
			continue
		}
		in := lawLines(out)
		for _, c := range m.Conflicts {
			in += lawLines([]byte(c.Ours)) + lawLines([]byte(c.Theirs)) + lawLines([]byte(c.Base))
		}
		all := before + lawLines(ours) + lawLines(theirs)
		for line := range strings.Lines(all) {
			if (strings.Contains(body, "\n"+line) || !strings.Contains(before, "\n"+line)) && !strings.Contains(in, "\n"+line) {
				t.Fatalf("keep %d: line %q is lost in\n%s", keep, line, out)
			}
		}
		for line := range strings.Lines(lawLines(out)) {
			if keep != KeepMarked && !strings.Contains(all, "\n"+line) {
				t.Fatalf("keep %d: line %q is invented in\n%s", keep, line, out)
			}
		}
		checkUnchanged(t, base, ours, theirs, out)
	}
	return true
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
	has := func(text []byte, box, task string) bool { return bytes.Contains(text, []byte("- ["+box+"] "+task)) }
	for _, v := range [][]byte{ours, theirs} {
		for line := range strings.Lines(string(v)) {
			task, ok := strings.CutPrefix(line, "- [x] ")
			if ok && !has(v, " ", task) && has(out, " ", task) && !has(out, "x", task) {
				t.Fatalf("the tick of %q is lost in\n%s", task, out)
			}
		}
		again, ok := merge(base, out, v)
		if base != nil && (!ok || !bytes.Equal(again, out)) || base == nil && ok && lawLines(again) != lawLines(out) {
			t.Fatalf("base %q: a second merge with\n%s\nchanges (%t)\n%s\nto\n%s", base, v, ok, out, again)
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
	versions := []map[string][]string{sources(ours), sources(theirs)}
	if base != nil {
		versions = append(versions, sources(base))
	}
	for text, got := range sources(out) {
		want := versions[0][text]
		if generatedLine.MatchString(text) || len(got) != 1 ||
			slices.ContainsFunc(versions, func(v map[string][]string) bool { return len(v[text]) != 1 || v[text][0] != want[0] }) {
			continue
		}
		if got[0] != want[0] && (want[0] != text || bytes.HasSuffix(out, []byte(text))) {
			t.Fatalf("line %q, which no version changed, is %q in\n%q", want[0], got[0], out)
		}
	}
}

// lawLines returns the lines of a text that a merge must keep, below empty ones: without
// blank lines, line endings, states of boxes and generated values of the frontmatter.
func lawLines(b []byte) string {
	out := "\n\n"
	for line := range strings.Lines(displayText(string(bytes.TrimPrefix(b, bom)))) {
		s := openBoxes(strings.TrimRight(line, "\n"))
		if !isBlankText([]byte(s)) && !fenceEndRE().MatchString(s) && !generatedLine.MatchString(s) {
			out += s + "\n"
		}
	}
	return out
}

var generatedLine = regexp.MustCompile("^(updated_at|tasks|follow_ups):")

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
	golden.Table(t, "mergebytes", func(t *testing.T, in []string) string {
		m := testLayout().MergeVersions("notes/a.md", []byte(in[1]), []byte(in[2]), []byte(in[3]))
		text, err := m.Text(KeepOurs)
		if err != nil {
			t.Errorf("%s: %v", in[0], err)
		}
		return string(text)
	})
}

// TestMergeVersionsReaders merges a version that makes the file public with one that
// changes it while it is private.
func TestMergeVersionsReaders(t *testing.T) {
	const base = "---\nvisibility: private_only\n---\n- [ ] call Bob\n\n- later\n"
	public := strings.Replace(base, "private_only", "public_ok", 1)
	for _, private := range []string{
		strings.Replace(base, "[ ]", "[x]", 1), strings.Replace(base, "\n- later\n", "", 1),
		strings.Replace(base, "Bob", "Bob the lawyer", 1), base + "\n## Divorce\n", base + "- divorce\n", strings.Replace(base, "---\n-", "summary: divorce\n---\n-", 1),
	} {
		for _, sides := range [][2]string{{public, private}, {private, public}} {
			m := new(Layout).MergeVersions("notes/a.md", []byte(base), []byte(sides[0]), []byte(sides[1]))
			if text, err := m.Text(KeepOurs); err == nil || m.Additions {
				t.Errorf("%q merged to\n%s", sides, text)
			}
		}
	}
}

// TestMergeVersionsAtRandom merges random edits of random files, whose base is known or
// not. Versions without moves are merged again and in the opposite order. Almost all
// can be merged by entries.
func TestMergeVersionsAtRandom(t *testing.T) {
	const path, rounds = "memory/2026-02-05.md", 1000
	whole := 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		moves, mixed := seed%2 == 0, seed%3 == 0
		lines := randomLog(r)
		ours, theirs := logText(editLog(r, lines, "o", moves), mixed), logText(editLog(r, lines, "t", moves), mixed)
		base := logText(lines, mixed)
		if seed%4 < 2 {
			base = nil
		}
		if !checkMerged(t, path, base, ours, theirs) {
			whole++
		}
		if !moves {
			checkMergeLaw(t, path, base, ours, theirs)
		}
	}
	if whole > rounds/50 {
		t.Errorf("%d of %d merges are left to a person", whole, rounds)
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
