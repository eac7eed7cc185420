package compactor

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

const archivePath = "_longterms/acct_42/_archive/2026-03.desk.md"

// TestNothingGoesToAnothersArchive checks the archive directory of MEMORY.md,
// which is named after the subject. If its files name another subject, no entry
// is archived there.
func TestNothingGoesToAnothersArchive(t *testing.T) {
	r := newTestRoot(t, []txtar.File{
		{Name: "MEMORY.md", Data: []byte("---\nsubject_id: acct:42\n---\n- one\n- two\n")},
		{Name: "_longterms/acct_42/preference.md", Data: []byte("---\nsubject_id: acct_42\n---\n- **a**: b\n")},
	})
	r.Limits = []api.CompactLimit{{Pattern: "MEMORY.md", Items: 1}}
	before := r.String()
	report := r.compact(Request{})
	if len(report.Plan) != 1 || !strings.Contains(report.Plan[0].Problem, "belongs to another subject") || r.String() != before {
		t.Errorf("%+v\n%s", report.Plan, r)
	}
	r.files["_longterms/acct_42/preference.md"] = "- **a**: b\n"
	if report := r.compact(Request{}); report.Applied != 1 {
		t.Errorf("%+v", report.Plan)
	}
	doc, err := r.Load(archivePath)
	if err != nil || doc.Claim != "acct:42" || doc.Entries[0].Partition != (memory.Partition{Owner: "?acct_42"}) {
		t.Errorf("the archive is not theirs: %v", err)
	}
}
