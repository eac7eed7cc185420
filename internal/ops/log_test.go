package ops

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestNoteTimes checks that two notes with the same clock time are an hour
// apart if the clock was set back between them.
func TestNoteTimes(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{Comment: []byte("now: 2026-10-25T12:00:00Z\ntimezone: Europe/Berlin\n")}).disk(t)
	for _, who := range []string{"owner", "acct:42"} {
		call := d.callAs(t, who, "private")
		var path string
		want := []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"}
		for _, at := range want {
			a, err := d.memory.adminOps().note(t.Context(), call, &api.NoteRequest{Text: "at " + at, Time: at})
			checkError(t, err)
			path = a.Path
		}
		doc, err := d.Load(path)
		checkError(t, err)
		var got []string
		for _, e := range doc.Entries {
			if e.Block == memory.Paragraph {
				got = append(got, e.Time.Format(time.RFC3339))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestNotesAtOnce checks that concurrent notes in the same minute all become
// entries.
func TestNotesAtOnce(t *testing.T) {
	const n = 12
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	call := d.callAs(t, "owner", "private")
	var group errgroup.Group
	for i := range n {
		group.Go(func() error {
			_, err := d.memory.adminOps().note(t.Context(), call, &api.NoteRequest{Text: fmt.Sprintf("note %d", i), Topic: "Topic"})
			return err
		})
		group.Go(func() error {
			a, err := d.memory.adminOps().capture(t.Context(), call, &api.CaptureRequest{Bullets: []string{"the same", fmt.Sprint("bullet ", i)}, Session: "s"})
			if err == nil && len(a.Lines) != 2 {
				return fmt.Errorf("the lines are %v", a.Lines)
			}
			return err
		})
	}
	checkError(t, group.Wait())
	doc, err := d.Load("memory/2026-02-05.md")
	checkError(t, err)
	seen := map[string]int{}
	for _, e := range doc.Entries {
		seen[e.Text]++
	}
	for i := range n {
		if seen[fmt.Sprintf("note %d", i)] != 1 || seen[fmt.Sprintf("- bullet %d", i)] != 1 {
			t.Errorf("%d is not there once: %v", i, seen)
		}
	}
	if seen["- the same"] != 1 || len(doc.Entries) != 2*n+1 {
		t.Errorf("%d entries are %v", len(doc.Entries), seen)
	}
}
