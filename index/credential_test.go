package index

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// TestNoCredentialOnDisk checks that no file of the index contains a credential
// of a memory, wherever it is, or a token of it, and that searches find the
// entries of each file nevertheless, also after the index is opened again and
// rebuilt.
func TestNoCredentialOnDisk(t *testing.T) {
	const part = "zx81kqmr4vtw9slh7bqw"
	token := "glpat-" + "Zx81Kq" + "mR4vTw" + "9sLh7Bqw"
	s := &mapSource{layout: memory.Layout{Mask: secrets.Mask}, text: map[string]string{
		"2026-02-04/" + token + ".md":        "- medlar in a name\n",
		"notes/" + token + "/a.md":           "- medlar in a directory\n",
		"2026-02-04/a.md":                    "---\nsession_id: " + token + "\n---\n- medlar of a session #fruit\n",
		"2026-02-04/b.md":                    "---\nsession_id: b\ncontact_id: " + token + "\n---\n- medlar of a contact\n",
		"2026-02-04/c.md":                    "---\nsubject_id: " + token + "\n---\n- medlar of a subject\n",
		"_longterms/" + token + "/_index.md": "---\nsubject_id: " + token + "\n---\n- medlar of a subject\n",
		"2026-02-04/d.md":                    "---\nsummary: " + token + "\ntags: [" + token + "]\n" + token + ": x\npassword: hunter2\nother: " + token + "\n---\n- medlar of fields\n",
		"e.md":                               "- medlar [a](" + token + ".md) #" + token + " <!-- id=" + token + " -->\n  the password is hunter2, 4111 1111 1111 1111\n",
		"f.md":                               "- medlar links to [it](2026-02-04/a.md)\n",
	}}
	dir := t.TempDir()
	check := func(x *Index, when string) {
		t.Helper()
		var want []string
		for path := range s.text {
			if !strings.Contains(s.text[path], "subject_id") { // others are not the owner's
				want = append(want, path)
			}
		}
		slices.Sort(want)
		find := func(q Query) (found []string) {
			for _, place := range hitsOf(t, x, q) {
				path, _, _ := strings.Cut(place, ":")
				found = append(found, path)
			}
			slices.Sort(found)
			return found
		}
		if diff := cmp.Diff(want, find(Query{Text: "medlar"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		for path, filter := range map[string]Filter{
			"2026-02-04/" + token + ".md": {Path: "2026-02-04/" + token + ".md"},
			"2026-02-04/a.md":             {Session: token},
			"2026-02-04/b.md":             {Contact: token},
		} {
			if got := find(Query{Text: "medlar", Filter: filter}); !slices.Contains(got, path) {
				t.Errorf("%s: %+v finds %q, not %s", when, filter, got, path)
			}
		}
		if got := find(Query{Text: "medlar", Filter: Filter{Tags: []string{"fruit"}}}); !slices.Equal(got, []string{"2026-02-04/a.md"}) {
			t.Errorf("%s: the tag finds %q", when, got)
		}
		if refs, err := x.LinksTo(t.Context(), ownerView(t), "2026-02-04/a.md", nil); err != nil || len(refs) != 1 {
			t.Errorf("%s: %v, %v link to a session", when, refs, err)
		}
		if _, ok := x.File("2026-02-04/a.md"); !ok {
			t.Errorf("%s: a file is not listed", when)
		}
	}
	for _, when := range []string{"first", "again"} {
		x := s.open(t, dir)
		s.confirmComplete(t, x)
		check(x, when)
		if when == "again" {
			s.text["2026-02-04/a.md"] = "---\nsession_id: a\n---\n- medlar of a session #fruit\n"
			s.text["g.md"] = "---\nsession_id: " + token + "\n---\n- medlar of another session\n"
			s.apply(t, x, "2026-02-04/a.md", "g.md")
			if got := hitsOf(t, x, Query{Text: "medlar", Filter: Filter{Session: token}}); !slices.Contains(got, "g.md:4") || slices.Contains(got, "2026-02-04/a.md:4") {
				t.Errorf("changed files: %q", got)
			}
		}
		for _, secret := range []string{part, "hunter2", "4111"} {
			if term := findTerm(t, x, secret); term != "" {
				t.Errorf("%s: the dictionary contains %q", when, term)
			}
		}
		if findTerm(t, x, "medlar") == "" {
			t.Errorf("%s: the dictionary is empty", when)
		}
		must(t, x.Close())
		files := 0
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			files++
			for _, secret := range []string{part, "hunter2", "4111"} {
				if bytes.Contains(bytes.ToLower(data), []byte(secret)) {
					t.Errorf("%s: %s contains %s", when, filepath.Base(path), secret)
				}
			}
			return err
		})
		if err != nil || files < 3 {
			t.Errorf("%d files, %v", files, err)
		}
	}
}

// findTerm returns a term in the dictionaries of the store that contains part, or
// "" if there is none.
func findTerm(t *testing.T, x *Index, part string) string {
	t.Helper()
	l, err := openPostings(x.store)
	must(t, err)
	defer l.close()
	found := ""
	for _, seg := range l.segments {
		for _, field := range seg.segment.Fields() {
			must(t, seg.eachTerm(t.Context(), field, "", func(term string) error {
				if strings.Contains(strings.ToLower(term), part) {
					found = term
				}
				return nil
			}))
		}
	}
	return found
}
