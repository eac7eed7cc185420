package compactor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

const archivePath = "_longterms/acct_42/_archive/2026-03.desk.md"

// TestRestore checks the file to which an item of an archive with these attributes returns.
func TestRestore(t *testing.T) {
	golden.Table(t, "restores", func(t *testing.T, in []string) string {
		r := newTestRoot(t, []txtar.File{{Name: archivePath,
			Data: []byte("# Key Facts\n\n- **Home**: Lisbon <!-- id=home " + in[2] + " -->\n- other\n")}})
		if in[1] != "" {
			r.files[indexPath] = in[1]
		}
		before := r.String()
		got, err := r.Restore(t.Context(), archivePath, "home")
		if err != nil {
			if r.String() != before {
				t.Errorf("%s: files have changed:\n%s", in[0], r)
			}
			return "error: " + err.Error()
		}
		if text := r.files[archivePath]; text != "# Key Facts\n\n- other\n" {
			t.Errorf("%s: left in the archive:\n%s", in[0], text)
		}
		if !slices.ContainsFunc(r.index().Entries, func(e memory.Entry) bool {
			return got.ID == indexPath+"#"+e.ID && e.Line == got.Line && e.Title == "Home"
		}) || got.Path != indexPath {
			t.Errorf("%s: it is said to be at %+v", in[0], got)
		}
		return r.files[indexPath]
	})
}

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

// TestRestoreAfterACrash repeats the restore of an entry that is back in its
// file but, after a crash, still in the archive. The entry then leaves the
// archive.
func TestRestoreAfterACrash(t *testing.T) {
	const index = "# Facts\n\n- keep\n"
	r := newTestRoot(t, []txtar.File{
		{Name: indexPath, Data: []byte(index)},
		{Name: archivePath, Data: []byte("# Facts\n\n- one <!-- from=" + indexPath + " section=Facts archived=2026-02-01T00:00:00Z -->\n")},
	})
	id := r.archived()[0].Entries[0].ID
	r.before = func(c vault.Change) error {
		if c.Path == archivePath {
			return errors.New("killed")
		}
		return nil
	}
	if _, err := r.Restore(t.Context(), archivePath, id); err == nil || !strings.Contains(err.Error(), "remains in the archive") {
		t.Fatal(err)
	}
	r.before = nil
	back := r.restore(archivePath, id)
	if got, want := r.files[indexPath], index+"- one\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	if back.Path != indexPath || back.Line != 4 {
		t.Errorf("it is said to be back as %+v", back)
	}
	if left := r.archived(); len(left) != 1 || strings.Contains(r.files[archivePath], "one") {
		t.Errorf("the archive still has %v", left)
	}
}
