package ops

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestContextCounts checks that the entries in a relevant block count as used
// unless the request disables that, and that omitted entries do not.
func TestContextCounts(t *testing.T) {
	m := readOpsCase(t, txtar.Parse([]byte("-- MEMORY.md --\n- a train <!-- id=a -->\n- a train that is late <!-- id=b -->\n"))).memory(t)
	var used []string
	m.Used = func(ids []string, _ time.Time) { used = append(used, ids...) }
	room := 85
	for _, c := range []struct {
		what string
		r    api.ContextRequest
		want []string
	}{
		{"relevant", api.ContextRequest{Query: "train", Format: "relevant"}, []string{"MEMORY.md#a", "MEMORY.md#b"}},
		{"relevant, with little room", api.ContextRequest{Query: "train", Format: "relevant", MaxChars: &room}, []string{"MEMORY.md#a"}},
		{"relevant, not counted", api.ContextRequest{Query: "train", Format: "relevant", Count: new(bool)}, nil},
		{"all of a file", api.ContextRequest{Format: "full"}, nil},
	} {
		used = nil
		call, err := m.readOps().resolveCall(api.Caller{AsOwner: true})
		if err != nil {
			t.Fatal(err)
		}
		if c.r.Count == nil {
			yes := true
			c.r.Count = &yes
		}
		c.r.Limit = 8
		answer, err := m.readOps().context(t.Context(), call, &c.r)
		if err != nil || answer.Text == "" {
			t.Fatalf("%s: %q, %v", c.what, answer.Text, err)
		}
		if diff := cmp.Diff(c.want, used); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}
