package ops

import (
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
)

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
