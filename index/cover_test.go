package index

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// threshold is the minimum coverage that hooks require.
const threshold = 0.4

// chatter returns everyday messages to an agent.
func chatter(t *testing.T) []string {
	return slices.DeleteFunc(readLines(t, "testdata/chat.txt"), func(l string) bool { return strings.HasPrefix(l, "#") })
}

// passing returns the best hits of a query with sufficient coverage.
func passing(t *testing.T, x *testIndex, query string, asOf time.Time) []Hit {
	t.Helper()
	res, err := x.Search(t.Context(), x.view, Query{Text: Unquoted(query), Limit: 32, Cover: true, AsOf: asOf})
	if err != nil {
		t.Fatal(err)
	}
	hits := slices.DeleteFunc(res.Hits, func(h Hit) bool { return h.Cover < threshold })
	return hits[:min(8, len(hits))]
}

// TestEvalCover measures the hits that pass the threshold for three sets:
// questions that a conversation answers, questions about another conversation,
// and chatter.
func TestEvalCover(t *testing.T) {
	if *convDir == "" {
		t.Skip("no conversations: give -conversations DIR")
	}
	byConv := conversations(t)
	var names []string
	for name := range byConv {
		names = append(names, name)
	}
	slices.Sort(names)
	type tally struct{ queries, shown, entries, right, found int }
	tallies := map[string]*tally{"questions": {}, "others' questions": {}, "chatter": {}}
	for i, name := range names {
		x := openTest(t, filepath.Join(*convDir, "by-conversation", name))
		count := func(kind string, q question) {
			n := tallies[kind]
			asOf, _ := time.Parse(time.DateOnly, q.AsOf)
			hits := passing(t, x, q.Question, asOf)
			right := 0
			for _, h := range hits {
				if slices.ContainsFunc(q.Gold, func(g gold) bool {
					return h.Doc.Place.Path == g.Path && h.Entry.Line <= g.Line && g.Line <= h.Entry.EndLine
				}) {
					right++
				}
			}
			n.queries++
			n.entries += len(hits)
			n.right += right
			if len(hits) > 0 {
				n.shown++
			}
			if right > 0 {
				n.found++
			}
		}
		for _, q := range byConv[name] {
			count("questions", q)
		}
		for _, q := range byConv[names[(i+1)%len(names)]] {
			q.Gold = nil
			count("others' questions", q)
		}
		for _, q := range chatter(t) {
			count("chatter", question{Question: q, AsOf: "2024-01-01"})
		}
	}
	for _, kind := range []string{"questions", "others' questions", "chatter"} {
		n := tallies[kind]
		share := func(a, b int) float64 { return float64(a) / float64(max(b, 1)) }
		fmt.Printf("%-18s %4d, %.3f are shown something, %.2f entries each, %.3f of which are right; %.3f are shown evidence\n",
			kind, n.queries, share(n.shown, n.queries), share(n.entries, n.queries), share(n.right, n.entries), share(n.found, n.queries))
	}
}

// TestCover checks that queries about a subject in memory have sufficient
// coverage, in any language and of any length. Chatter and texts with
// accidentally equal words must not.
func TestCover(t *testing.T) {
	x := openTest(t, "testdata/cover")
	for query, want := range map[string]bool{
		"which region is the billing database in?": true,
		"计费数据库在哪个区域？":                              true,
		"the region":                               false,
		"write to the landlord, who has let the heating of our office be broken for a year, that we pay less from May on":              false,
		"I have read all there is about pricing, taxes, invoices and shops, and still wonder which region our billing database was in": true,
		"": false,
	} {
		if got := len(passing(t, x, query, x.now)) > 0; got != want {
			t.Errorf("%q: something passes is %v", query, got)
		}
	}
	for _, query := range chatter(t) {
		if hits := passing(t, x, query, x.now); len(hits) > 0 {
			t.Errorf("%q: %q covers %.2f", query, hits[0].Entry.Text, hits[0].Cover)
		}
	}
}

// TestCoverIsPrivate checks that the coverage of an entry does not depend on
// entries that the view cannot read.
func TestCoverIsPrivate(t *testing.T) {
	var dirs memory.Directories
	public, err := dirs.View(memory.Scope{Subject: "owner", Context: memory.Public})
	if err != nil {
		t.Fatal(err)
	}
	said := "- The login page is slow. <!-- visibility=public_ok -->\n- A slow train. <!-- visibility=public_ok -->\n"
	secret := strings.Repeat("- The login page of the bank. <!-- visibility=private_only -->\n- More. <!-- visibility=private_only -->\n", 20)
	covers := func(text string) (list []float64) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "memory"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"2026-02-04.md": said, "2026-02-05.md": text} {
			if err := os.WriteFile(filepath.Join(dir, "memory", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x := openTest(t, dir)
		res, err := x.Search(t.Context(), public, Query{Text: "slow login page", Limit: 10, Cover: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			list = append(list, h.Cover)
		}
		return list
	}
	got, want := covers(secret), covers("")
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 2 {
		t.Errorf("without, and with what is private (-want +got):\n%s", diff)
	}
}
