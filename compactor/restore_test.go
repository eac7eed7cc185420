package compactor

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

const archivePath = "_longterms/acct_42/_archive/2026-03.desk.md"

func TestRestore(t *testing.T) {
	archive := func(attributes string) string {
		return "# Key Facts\n\n- **Home**: Lisbon <!-- id=home " + attributes + " -->\n- other\n"
	}
	const from = "from=_longterms/acct_42/_index.md section=Key%20Facts archived=2026-03-01T12:00:00Z"
	for _, test := range []struct{ name, file, archive, want, refused string }{
		{"to its section", "# Key Facts\n- one\n\n# Other\n- two\n", archive(from), "# Key Facts\n- one\n- **Home**: Lisbon <!-- id=home -->\n\n# Other\n- two\n", ""},
		{"at the end of the section", "# Key Facts\n- one\n\nA paragraph.\n", archive(from), "# Key Facts\n- one\n\nA paragraph.\n\n- **Home**: Lisbon <!-- id=home -->\n", ""},
		{"below an empty heading", "# Key Facts\n\n# Other\n", archive(from), "# Key Facts\n- **Home**: Lisbon <!-- id=home -->\n\n# Other\n", ""},
		{"the section is gone", "# Other\n- two\n", archive(from), "# Other\n- two\n\n## Key Facts\n- **Home**: Lisbon <!-- id=home -->\n", ""},
		{"a section in one that is there", "# Long-term\n## Other\n- two\n", archive("from=_longterms/acct_42/_index.md section=Long-term/Key%20Facts"),
			"# Long-term\n## Other\n- two\n\n## Key Facts\n- **Home**: Lisbon <!-- id=home -->\n", ""},
		{"above sections", "# Long-term\n## Other\n- two\n", archive("from=_longterms/acct_42/_index.md section=Long-term"),
			"# Long-term\n- **Home**: Lisbon <!-- id=home -->\n## Other\n- two\n", ""},
		{"without a section", "# Other\n- two\n", archive("from=_longterms/acct_42/_index.md"), "- **Home**: Lisbon <!-- id=home -->\n# Other\n- two\n", ""},
		{"above what has no end", "# Key Facts\n\n```\ncode\n", archive(from), "", "would have another meaning"},
		{"the file is gone", "", archive(from), "## Key Facts\n- **Home**: Lisbon <!-- id=home -->\n", ""},
		{"the file is public now", "---\nvisibility: public_ok\n---\n- one\n", archive("from=_longterms/acct_42/_index.md"),
			"---\nvisibility: public_ok\n---\n- one\n- **Home**: Lisbon <!-- id=home visibility=private_only -->\n", ""},
		{"it was public by its file", "---\nvisibility: public_ok\n---\n- one\n", archive("visibility=public_ok inherited=visibility from=_longterms/acct_42/_index.md"),
			"---\nvisibility: public_ok\n---\n- one\n- **Home**: Lisbon <!-- id=home -->\n", ""},
		{"it was public by itself", "- one\n", archive("visibility=public_ok from=_longterms/acct_42/_index.md"),
			"- one\n- **Home**: Lisbon <!-- id=home visibility=public_ok -->\n", ""},
		{"somebody else's file", "- one\n", archive("from=_longterms/acct_43/_index.md"), "", "as its source, but that file has another archive"},
		{"a session", "- one\n", archive("from=2026-01-01/cli.md"), "", "as its source, but that file has another archive"},
		{"an archive", "- one\n", archive("from=_longterms/acct_42/_archive/x.md"), "", "as its source, but that file has another archive"},
		{"nowhere", "- one\n", archive("source=cli"), "", ErrNotArchived.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newTestRoot(t, []txtar.File{{Name: archivePath, Data: []byte(test.archive)}})
			if test.file != "" {
				r.files[indexPath] = test.file
			}
			before := r.String()
			got, err := r.Restore(t.Context(), archivePath, "home")
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("got %v, want an error with %q", err, test.refused)
				}
				if r.String() != before {
					t.Errorf("files have changed:\n%s", r)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := r.files[indexPath]; text != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", text, test.want)
			}
			if text := r.files[archivePath]; text != "# Key Facts\n\n- other\n" {
				t.Errorf("left in the archive:\n%s", text)
			}
			if e := entryOf(parseText(indexPath, r.files[indexPath]), strings.TrimPrefix(got.ID, indexPath+"#")); e == nil || e.Line != got.Line || e.Title != "Home" || got.Path != indexPath {
				t.Errorf("it is said to be at %+v", got)
			}
		})
	}
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
	if len(report.Plans) != 1 || !strings.Contains(report.Plans[0].Problem, "belongs to another subject") || r.String() != before {
		t.Errorf("%+v\n%s", report.Plans, r)
	}
	r.files["_longterms/acct_42/preference.md"] = "- **a**: b\n"
	if report := r.compact(Request{}); report.Applied != 1 {
		t.Errorf("%+v", report.Plans)
	}
	doc, err := r.Load(archivePath)
	if err != nil || doc.Claim != "acct:42" || doc.Entries[0].Partition != (memory.Partition{Owner: "?acct_42"}) {
		t.Errorf("the archive is not theirs: %v", err)
	}
}

const (
	restoredTo = "_longterms/owner/_index.md"
	restoredOf = "_longterms/owner/_archive/2026-02.desk.md"
)

// TestRestoreAfterACrash repeats the restore of an entry that is back in its
// file but, after a crash, still in the archive. The entry then leaves the
// archive.
func TestRestoreAfterACrash(t *testing.T) {
	const index = "# Facts\n\n- keep\n"
	r := newTestRoot(t, []txtar.File{
		{Name: restoredTo, Data: []byte(index)},
		{Name: restoredOf, Data: []byte("# Facts\n\n- one <!-- from=" + restoredTo + " section=Facts archived=2026-02-01T00:00:00Z -->\n")},
	})
	id := r.archived()[0].Entries[0].ID
	r.before = func(c vault.Change) error {
		if c.Path == restoredOf {
			return errors.New("killed")
		}
		return nil
	}
	if _, err := r.Restore(t.Context(), restoredOf, id); err == nil || !strings.Contains(err.Error(), "remains in the archive") {
		t.Fatal(err)
	}
	r.before = nil
	back := r.restore(restoredOf, id)
	if got, want := r.files[restoredTo], index+"- one\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	if back.Path != restoredTo || back.Line != 4 {
		t.Errorf("it is said to be back as %+v", back)
	}
	if left := r.archived(); len(left) != 1 || strings.Contains(r.files[restoredOf], "one") {
		t.Errorf("the archive still has %v", left)
	}
}

// entryOf returns the entry with an id, or nil.
func entryOf(doc *memory.Document, id string) *memory.Entry {
	for i := range doc.Entries {
		if doc.Entries[i].ID == id {
			return &doc.Entries[i]
		}
	}
	return nil
}
