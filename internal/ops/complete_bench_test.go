package ops

import (
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// BenchmarkComplete lists names in a memory of 10,000 files with 5,000
// different headings.
func BenchmarkComplete(b *testing.B) {
	var files []txtar.File
	for n := range 10_000 {
		files = append(files, txtar.File{
			Name: fmt.Sprintf("20%02d-%02d-%02d/s%03d.md", 10+n%14, 1+n%12, 1+n%28, n),
			Data: fmt.Appendf(nil, "---\nsession_id: telegram:%d\n---\n## Tasks\n- [ ] a #t%d\n## Topic %d\n- b #tag\n", n, n%500, n%5000),
		})
	}
	m := readOpsCase(b, &txtar.Archive{Files: files}).memory(b)
	call, err := m.readOps().resolveCall(api.Caller{AsOwner: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range []*api.CompleteRequest{
		{What: "path", Steps: true}, {What: "path", Prefix: "2012-03-"}, {What: "path", After: "2015", Limit: 1000},
		{What: "session"}, {What: "tag"}, {What: "section"}, {What: "section", Prefix: "topic 12"}, {What: "subject"}, {What: "namespace"},
	} {
		if r.Limit == 0 {
			r.Limit = 100
		}
		b.Run(fmt.Sprintf("%s/%s,steps=%t,limit=%d", r.What, r.Prefix, r.Steps, r.Limit), func(b *testing.B) {
			for b.Loop() {
				answer, err := m.readOps().complete(b.Context(), call, r)
				if err != nil || len(answer.Values) == 0 && r.What != "namespace" {
					b.Fatalf("%+v, %v", answer, err)
				}
			}
		})
	}
}
