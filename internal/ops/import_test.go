package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestExportPages checks that the pages of an export contain each readable file
// once, and that hidden files move no limit between them.
func TestExportPages(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	files := map[string]string{}
	want := map[string][]string{}
	for i := range 9 {
		path := fmt.Sprintf("memory/2026-01-%02d", i+1)
		files[path+".md"] = "# Day\n\n- " + strings.Repeat("word ", 50<<10) + "\n"
		files[path+"-notes.md"] = "- hidden\n"
		want["public"], want["private"] = append(want["public"], path+".md"), append(want["private"], path+"-notes.md", path+".md")
	}
	m := newDisk(t, files).memory
	for context, want := range want {
		for _, entries := range []bool{false, true} {
			var got []string
			pages := 0
			for r := (api.ExportRequest{Entries: entries}); pages == 0 || r.Cursor != "" && pages < 20; pages++ {
				page, err := do[api.ExportAnswer](t, m, as("owner", context), r)
				checkError(t, err)
				for _, f := range page.Files {
					got = append(got, f.Path)
					if entries == (f.Text != "") || entries != (len(f.Entries) > 0) {
						t.Errorf("%s has the text %.20q and %d entries", f.Path, f.Text, len(f.Entries))
					}
				}
				r.Cursor = page.Next
			}
			if !slices.Equal(got, want) || pages != 3 {
				t.Errorf("%s: %d pages with %v", context, pages, got)
			}
		}
	}
}
