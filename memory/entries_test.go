package memory

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTooManyBlocks checks that a file with too many blocks has its remaining
// lines in one last entry. That entry is private, because the lines were not
// searched for marks.
func TestTooManyBlocks(t *testing.T) {
	for name, text := range map[string]string{
		"items":      strings.Repeat("- a\n", 1<<18),
		"paragraphs": strings.Repeat("a\n\n", 1<<18),
		"headings":   strings.Repeat("#\n", 1<<18),
		"rules":      strings.Repeat("***\n", 1<<18),
		"nested":     strings.Repeat(strings.Repeat("1. ", 50)+"\n", 8<<10),
		"quotes":     strings.Repeat("> a\n\n", 1<<18),
		"html":       strings.Repeat("<!-- a -->\n", 1<<18),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := new(Layout).Parse("2026-02-04/s.md", []byte(text+"\nlast <!-- visibility=private_only -->\n"), Meta{})
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 200<<20 {
			t.Errorf("%s: the document keeps %d MB", name, kept>>20)
		}
		checkLines(t, d)
		if len(d.Problems) == 0 || d.Problems[len(d.Problems)-1].Code != tooManyBlocks {
			t.Errorf("%s: the problems are %+v", name, d.Problems)
		}
		if n := len(d.Entries); n > 0 && d.Entries[n-1].Partition.Visibility != PrivateOnly && d.Entries[n-1].EndLine == d.lines.count() {
			t.Errorf("%s: what was not read is public", name)
		}
		runtime.KeepAlive(d)
	}
}

// TestDerivedIDs pins the derived ids. Links, evidence and use counts contain
// them, so a different derivation is a change of format.
func TestDerivedIDs(t *testing.T) {
	const src = "# A\n\n- **Tea**: green\n- **tea**: GREEN\n\n## B\n\n- **Tea**: green\n- **Tea**: green <!-- visibility=private_only -->\n- **Tea**: green <!-- visibility=private_only -->\n"
	ids := func(path, src string) (out []string) {
		for _, e := range new(Layout).Parse(path, []byte(src), Meta{}).Entries {
			out = append(out, e.ID)
		}
		return out
	}
	want := []string{"~wacscebusi", "~iogkbznmag", "~tzraw2pnca", "~diy2bu2hty", "~teoiuzpkwm"}
	got := ids("2026-02-04/s.md", src)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	// Ids do not depend on case, width, white space, emphasis or boxes.
	if again := ids("2026-02-04/s.md", strings.NewReplacer("- **Tea**: green", "* [x]  ＴＥＡ:\tgreen").Replace(src)); !cmp.Equal(got, again) {
		t.Errorf("ids of the same text written differently: %q, want %q", again, got)
	}
	// Ids of public entries do not depend on private entries.
	public := ids("2026-02-04/s.md", strings.ReplaceAll(src, "- **Tea**: green <!-- visibility=private_only -->\n", ""))
	if !cmp.Equal(got[:3], public) {
		t.Errorf("ids without the private entries: %q, want %q", public, got[:3])
	}
	if other := ids("2026-02-05/s.md", src); other[0] == got[0] {
		t.Errorf("another file has the same id %s", other[0])
	}
}
