package ops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// BenchmarkContext renders blocks of a memory with a week of 50 sessions a day
// and a subject with 1,000 items.
func BenchmarkContext(b *testing.B) {
	var files []txtar.File
	for day := range 7 {
		for n := range 50 {
			files = append(files, txtar.File{
				Name: fmt.Sprintf("2026-02-%02d/s%02d.md", 5-day+1, n),
				Data: []byte("---\nsummary: Discussed the layout, and the templates.\n---\n## Tasks\n- [x] a\n- [ ] b\n" + strings.Repeat("- an entry of a session\n", 20)),
			})
		}
	}
	for _, namespace := range []string{"profile", "preference", "fact", "project", "task_state"} {
		var text strings.Builder
		for n := range 200 {
			fmt.Fprintf(&text, "- **key_%03d**: value %d <!-- id=%s%d visibility=public_ok updated=2026-02-01T00:00:00Z -->\n", n, n, namespace, n)
		}
		files = append(files, txtar.File{Name: "_longterms/owner/" + namespace + ".md", Data: []byte(text.String())})
	}
	m := readOpsCase(b, &txtar.Archive{Files: files}).memory(b)
	call, err := m.readOps().resolveCall(api.Caller{AsOwner: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range []*api.ContextRequest{{Format: "auto"}, {Format: "summary"}, {Format: "items"}, {Format: "boot"}, {Format: "relevant", Query: "the layout of a session", Limit: 8, Count: new(bool)}} {
		b.Run(r.Format, func(b *testing.B) {
			for b.Loop() {
				answer, err := m.readOps().context(context.Background(), call, r)
				if err != nil || answer.Text == "" && r.Format != "boot" {
					b.Fatalf("%q, %v", answer.Text, err)
				}
			}
		})
	}
}
