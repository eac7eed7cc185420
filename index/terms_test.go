package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamesOfWhatIsThere checks that tags and sections are those of the current
// entries. Deleted or changed entries must not contribute, although bleve may
// keep their postings for some time.
func TestNamesOfWhatIsThere(t *testing.T) {
	s := &mapSource{text: map[string]string{
		"a.md": "## Plans\n- one #tea #green\n", "b.md": "## plans!\n- two #tea\n", "c.md": "## Other\n- three #coffee\n",
	}}
	x := s.complete(t)
	view, all := ownerView(t), Listing{Limit: 10}
	check := func(when string, wantTags, wantSections []string) {
		t.Helper()
		names, entries, n, err := x.Tags(t.Context(), view, all)
		if err != nil || n != len(names) || n != len(entries) {
			t.Fatal(n, err)
		}
		var tags []string
		for i, name := range names {
			tags = append(tags, fmt.Sprint(name, " ", entries[i]))
		}
		sections, n, err := x.Sections(t.Context(), view, all)
		if err != nil || n != len(sections) {
			t.Fatal(n, err)
		}
		if diff := cmp.Diff([][]string{wantTags, wantSections}, [][]string{tags, sections}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("at first", []string{"coffee 1", "green 1", "tea 2"}, []string{"Other", "Plans"})
	s.text["a.md"] = "## Other plans\n- one #tea\n"
	delete(s.text, "c.md")
	s.apply(t, x, "a.md", "c.md")
	check("after a change", []string{"tea 2"}, []string{"Other plans", "plans!"})

	// The new files reuse the numbers of the deleted ones.
	s.text["d.md"], s.text["e.md"] = "## Later\n- four #cocoa\n", "## Later\n- five\n"
	s.apply(t, x, "d.md", "e.md")
	check("after something new", []string{"cocoa 1", "tea 2"}, []string{"Later", "Other plans", "plans!"})

	tags, _, n, err := x.Tags(t.Context(), view, Listing{Prefix: "t", After: "tea", Limit: 1})
	if len(tags) != 0 || n != 1 || err != nil {
		t.Errorf("behind the last tag there are %q of %d, %v", tags, n, err)
	}
	if got, want := x.Owners(), []string{"owner"}; !slices.Equal(got, want) {
		t.Errorf("owners are %q, want %q", got, want)
	}
}

func TestListingPage(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, c := range []struct {
		after string
		limit int
		want  string
	}{{"", 2, "[a b]"}, {"a", 2, "[b c]"}, {"aa", 9, "[b c]"}, {"c", 1, "[]"}, {"zz", 1, "[]"}} {
		if got := fmt.Sprint(Listing{After: c.after, Limit: c.limit}.Page(names)); got != c.want {
			t.Errorf("behind %q, %d at most: %s, want %s", c.after, c.limit, got, c.want)
		}
	}
}
