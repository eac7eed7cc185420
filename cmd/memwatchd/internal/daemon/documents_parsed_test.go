package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestParsedForChange checks that a written file gets the document of its change, unless its
// entries depend on the time of the file or a directory has changed its owner.
func TestParsedForChange(t *testing.T) {
	layout := &memory.Layout{}
	at := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	file := func(line string, at time.Time) *vault.File {
		return &vault.File{Path: "_longterms/owner/fact.md", Data: []byte(strings.Repeat(line, 100)), ModTime: at}
	}
	const timed = "- **key**: value <!-- updated=2026-01-01T00:00:00Z -->\n"
	const untimed = "- an entry without a time of its own, which has that of the file\n"
	for _, test := range []struct {
		written, found *vault.File
		drop, want     bool
	}{
		{file(timed, at), file(timed, at.Add(time.Second)), false, true},
		{file(timed, at), file(timed+" ", at), false, false},
		{file(timed, at), file(timed, at), true, false},
		{file(untimed, at), file(untimed, at), false, true},
		{file(untimed, at), file(untimed, at.Add(time.Second)), false, false},
	} {
		d := &documents{}
		doc := layout.Parse(test.written.Path, test.written.Data, memory.Meta{ModTime: at})
		d.recordParsed(test.written, doc, 0)
		if test.drop {
			d.drop(func(string) bool { return false })
		}
		if found := d.findParsed(test.found); (found == doc) != test.want || (found == nil) == test.want {
			t.Errorf("%.40q, then %.40q: %t", test.written.Data, test.found.Data, found != nil)
		}
	}
}
