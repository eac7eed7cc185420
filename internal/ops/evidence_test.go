package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
)

// TestMissingTargets checks that only evidence and linked notes that are neither in
// their places nor archived are missing.
func TestMissingTargets(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/ops/evidence_archived.txtar")
	checkError(t, err)
	archive.Files = append(archive.Files, txtar.File{Name: "_longterms/bob/profile.md", Data: []byte(
		"# Summaries\n\n- **tea**: Green. <!-- evidence=notes/a.md#n1,notes/a.md#n2,notes/b.md -->\n")},
		txtar.File{Name: "links/a.md", Data: []byte("---\naliases: [Bee]\n---\n- [[b]] [[Bee]] [[A]] [x](gone.md) " +
			"[[links/b]] [[photo.png]] [y](https://x.y/z.md) [z](sub/) [up](../../x.md) [old](2026-02-01/cli.md)\n")},
		txtar.File{Name: "links/imported.md", Data: []byte("---\nsource_id: s1\n---\n- [x](gone.md)\n")})
	m := readOpsCase(t, archive).start(t).memory.adminOps()
	for dir, want := range map[string][]string{
		"": {"_longterms/bob/profile.md:3 notes/a.md#n2", "_longterms/bob/profile.md:3 notes/b.md", "_longterms/owner/project.md:3 2026-02-01/gone.md", "links/a.md:4 b",
			"links/a.md:4 gone.md", "links/a.md:4 links/b"},
		"notes": nil, "_longterms/owner/": {"_longterms/owner/project.md:3 2026-02-01/gone.md"},
	} {
		list, err := m.missingTargets(t.Context(), dir)
		checkError(t, err)
		var got []string
		for _, p := range list {
			var piece string
			format := map[string]string{evidenceMissing: "evidence %s does not exist", linkMissing: "no file for the link %s"}
			if _, err := fmt.Sscanf(p.Message, format[p.Code], &piece); err != nil {
				t.Errorf("%+v: %v", p, err)
			}
			piece = strings.TrimSuffix(piece, ";")
			got = append(got, fmt.Sprintf("%s:%d %s", p.Path, p.Line, piece))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("below %q, %q is missing, want %q", dir, got, want)
		}
	}
}

// loadedFiles counts the loads of each file.
type loadedFiles struct {
	compactor.Files
	loads map[string]int
}

func (f *loadedFiles) Load(path string) (*memory.Document, error) {
	f.loads[path]++
	return f.Files.Load(path)
}

// TestMissingTargetsOfMany checks that missing evidence does not make check read
// all archives for each piece: a stranger can write any number of them.
func TestMissingTargetsOfMany(t *testing.T) {
	archive := &txtar.Archive{}
	for i := range 5 {
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("_longterms/owner/_archive/2026-02-0%d/cli.md", i+1),
			Data: fmt.Appendf(nil, "- Text. <!-- id=a%d -->\n", i)})
	}
	var notes []byte
	for i := range 20 {
		notes = fmt.Appendf(notes, "- Fact. <!-- evidence=2026-02-01/gone.md#x%d -->\n", i)
	}
	archive.Files = append(archive.Files, txtar.File{Name: "notes/a.md", Data: notes})
	m := readOpsCase(t, archive).start(t).memory
	files := &loadedFiles{m.Files, map[string]int{}}
	m.Files = files
	list, err := m.adminOps().missingTargets(t.Context(), "")
	if err != nil || len(list) != 20 {
		t.Errorf("%d pieces are missing, %v", len(list), err)
	}
	for path, n := range files.loads {
		if n > 2 { // as a file with evidence, and as one that evidence names
			t.Errorf("%s was read %d times", path, n)
		}
	}
}
