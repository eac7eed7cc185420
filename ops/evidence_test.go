package ops

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestMissingEvidence checks that only evidence that is neither in its place nor
// archived is missing.
func TestMissingEvidence(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/ops/evidence_archived.txtar")
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = append(archive.Files, txtar.File{Name: "_longterms/bob/profile.md", Data: []byte(
		"# Summaries\n\n- **tea**: Green. <!-- evidence=notes/a.md#n1,notes/a.md#n2,notes/b.md -->\n")})
	m := readOpsCase(t, archive).memory(t).writeOps()
	for dir, want := range map[string][]string{
		"":      {"_longterms/bob/profile.md:3 notes/a.md#n2", "_longterms/bob/profile.md:3 notes/b.md", "_longterms/owner/project.md:3 2026-02-01/gone.md"},
		"notes": nil, "_longterms/owner/": {"_longterms/owner/project.md:3 2026-02-01/gone.md"},
	} {
		list, err := m.missingEvidence(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			var piece string
			if _, err := fmt.Sscanf(p.Message, "evidence %s does not exist", &piece); err != nil || p.Code != evidenceMissing {
				t.Errorf("%+v: %v", p, err)
			}
			got = append(got, fmt.Sprintf("%s:%d %s", p.Path, p.Line, piece))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("below %q, %q is missing, want %q", dir, got, want)
		}
	}
}
