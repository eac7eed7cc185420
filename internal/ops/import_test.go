package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestExportPages checks that the pages of an export contain each readable file
// once, and that hidden files move no limit between them.
func TestExportPages(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	archive := "now: 2026-02-05T12:00:00Z\nvisibility: public_ok\n"
	var want, wantPublic []string
	for i := range 9 {
		path := fmt.Sprintf("memory/2026-01-%02d.md", i+1)
		want, wantPublic = append(want, path), append(wantPublic, path)
		archive += "\n-- " + path + " --\n# Day\n\n- " + strings.Repeat("word ", 50<<10) + "\n"
		secret := fmt.Sprintf("memory/2026-01-%02d-notes.md", i+1)
		want = append(want, secret)
		archive += "-- " + secret + " --\n- hidden\n"
	}
	slices.Sort(want)
	c := readOpsCase(t, txtar.Parse([]byte(archive)))
	socket := serveOps(t, c.disk(t).memory)
	for _, context := range []string{"private", "public"} {
		expected := map[string][]string{"private": want, "public": wantPublic}[context]
		for _, entries := range []bool{false, true} {
			var got []string
			cursor, pages := "", 0
			for pages < 20 {
				pages++
				request := fmt.Sprintf(`{"subject": "owner", "context": %q, "entries": %v, "cursor": %q}`, context, entries, cursor)
				page := decodeAnswer[api.ExportAnswer](string(postOps(t, socket, "export", []byte(request))))
				for _, f := range page.Files {
					got = append(got, f.Path)
					if entries == (f.Text != "") || entries != (len(f.Entries) > 0) {
						t.Errorf("%s has the text %.20q and %d entries", f.Path, f.Text, len(f.Entries))
					}
				}
				cursor = page.Next
				if cursor == "" {
					break
				}
			}
			if !slices.Equal(got, expected) || pages != 3 {
				t.Errorf("%s: %d pages with %v", context, pages, got)
			}
		}
	}
}
