package vault

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// TestUndoSteps writes a change as group, path and number. The changes of one
// step are joined.
func TestUndoSteps(t *testing.T) {
	for _, test := range []struct{ name, records, want string }{
		{"one file", "g1:a:3 g2:a:2 g3:a:1", "a:3,2,1"},
		{"files on their own", "g1:a:4 g2:b:3 g3:a:2 g4:b:1", "a:4,2 b:3,1"},
		{"the archive waits for what came out of it", "g1:a:4 g1:z:3 g2:b:2 g2:z:1", "a:4 b:2 z:3,1"},
		{"within a group, too", "g1:a:3 g1:b:2 g1:c:1", "a:3 b:2 c:1"},
		{"archived, then restored", "g2:z:4 g2:a:3 g1:a:2 g1:z:1", "a:3,2 z:4,1"},
		{"there and back in one group", "g1:a:3 g1:z:2 g1:a:1", "z:2 a:3,1"},
		{"moved", "g3:a:5 g2:b>c:4 g2:a>b:3 g1:a:2 g0:a:1", "a:5 c:4 b:3 a:2,1"},
		{"what is older waits for a move", "g2:a:3 g1:x>y:2 g0:a:1", "a:3 y:2 a:1"},
	} {
		var records []journal.Record
		for _, word := range strings.Fields(test.records) {
			part := strings.Split(word, ":")
			r := journal.Record{Group: part[0], ID: part[2]}
			r.Path, r.To, _ = strings.Cut(part[1], ">")
			records = append(records, r)
		}
		var got []string
		for _, step := range undoSteps(records) {
			got = append(got, step[0].FilePath()+":"+strings.ReplaceAll(joinIDs(step), " ", ","))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
