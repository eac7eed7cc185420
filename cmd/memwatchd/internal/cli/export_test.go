package cli

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// Files whose names are equal, or differ in case only, are all exported.
func TestExportEqualNames(t *testing.T) {
	files := []api.ExportFile{{Path: "a/k.md", Text: "1"}, {Path: "a/k.md", Text: "2"}, {Path: "A/K.md", Text: "3"},
		{Path: "a/k-2.md", Text: "4"}}
	var archive bytes.Buffer
	dir := filepath.Join(t.TempDir(), "out")
	for format, output := range map[string]string{"zip": "", "md": dir} {
		e, err := newExport(format, output, &archive)
		testkit.Must(t, err)
		for i := range files {
			testkit.Must(t, e.add(&files[i]))
		}
		if err := e.add(&api.ExportFile{Path: "../x.md"}); err == nil {
			t.Error("a path outside was written")
		}
		testkit.Must(t, e.close())
	}
	written, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	testkit.Must(t, err)
	want := map[string]string{"a/k.md": "1", "a/k-2.md": "2", "A/K-3.md": "3", "a/k-2-2.md": "4"}
	for name, fsys := range map[string]fs.FS{"zip": written, "md": os.DirFS(dir)} {
		for file, text := range want {
			if got, err := fs.ReadFile(fsys, file); err != nil || string(got) != text {
				t.Errorf("%s: %s: %q, %v", name, file, got, err)
			}
		}
	}
	if len(written.File) != len(want) {
		t.Errorf("%d files", len(written.File))
	}
}
