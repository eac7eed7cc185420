package index

import (
	"encoding/json"
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

// chatter returns everyday messages to an agent from files below testdata.
func chatter(t *testing.T, names ...string) (messages []string) {
	for _, name := range names {
		messages = append(messages, readLines(t, filepath.Join("testdata", name))...)
	}
	return slices.DeleteFunc(messages, func(l string) bool { return strings.HasPrefix(l, "#") })
}

// passing returns the best hits of a query with sufficient coverage.
func passing(t *testing.T, x *testIndex, query string, asOf time.Time) []Hit {
	t.Helper()
	res, err := x.Search(t.Context(), x.view, Query{Text: Unquoted(query), Limit: 32, Cover: true, AsOf: asOf})
	if err != nil {
		t.Fatal(err)
	}
	hits := Covered(res.Hits, threshold)
	return hits[:min(8, len(hits))]
}

// TestEvalCover measures the hits that pass the threshold for three sets:
// questions that a conversation answers, questions about another conversation,
// and chatter. Of the questions whose evidence is among the first five hits of a
// search, it prints the share that are shown evidence. With -eval, it also
// measures the queries of madial-zh.
func TestEvalCover(t *testing.T) {
	if *convDir == "" {
		t.Skip("no conversations: give -conversations DIR")
	}
	byConv := conversations(t, *convDir)
	var names []string
	for name := range byConv {
		names = append(names, name)
	}
	slices.Sort(names)
	type tally struct{ queries, shown, entries, right, found, searched, kept int }
	tallies := map[string]*tally{"questions": {}, "others' questions": {}, "chatter": {}, "madial-zh": {}}
	// measure counts the hits of a query. isRight reports whether a hit is
	// evidence.
	measure := func(kind string, x *testIndex, query string, asOf time.Time, isRight func(Hit) bool) {
		n := tallies[kind]
		res, err := x.Search(t.Context(), x.view, Query{Text: Unquoted(query), Limit: 5, AsOf: asOf})
		if err != nil {
			t.Fatal(err)
		}
		hits, right := passing(t, x, query, asOf), 0
		for _, h := range hits {
			if isRight(h) {
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
		if slices.ContainsFunc(res.Hits, isRight) {
			n.searched++
			if right > 0 {
				n.kept++
			}
		}
	}
	for i, name := range names {
		x := openTest(t, filepath.Join(*convDir, "by-conversation", name))
		count := func(kind string, q question) {
			asOf, _ := time.Parse(time.DateOnly, q.AsOf)
			measure(kind, x, q.Question, asOf, func(h Hit) bool {
				return slices.ContainsFunc(q.Gold, func(g gold) bool {
					return h.Doc.Place.Path == g.Path && h.Entry.Line <= g.Line && g.Line <= h.Entry.EndLine
				})
			})
		}
		for _, q := range byConv[name] {
			count("questions", q)
		}
		for _, q := range byConv[names[(i+1)%len(names)]] {
			q.Gold = nil
			count("others' questions", q)
		}
		for _, q := range chatter(t, "chat.txt", "chat_more.txt") {
			count("chatter", question{Question: q, AsOf: "2024-01-01"})
		}
	}
	if *evalDir != "" {
		x, relevant := openTest(t, filepath.Join(*evalDir, "madial-zh", "docs")), map[[2]string]bool{}
		for _, line := range readLines(t, filepath.Join(*evalDir, "madial-zh", "qrels.tsv")) {
			if f := strings.Fields(line); f[2] != "0" {
				relevant[[2]string{f[0], f[1]}] = true
			}
		}
		for _, line := range readLines(t, filepath.Join(*evalDir, "madial-zh", "queries.jsonl")) {
			var q struct{ QID, Text string }
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				t.Fatal(err)
			}
			measure("madial-zh", x, q.Text, x.now, func(h Hit) bool {
				return relevant[[2]string{q.QID, strings.TrimSuffix(h.Doc.Place.Path, ".md")}]
			})
		}
		for _, q := range chatter(t, "chat.txt", "chat_more.txt") {
			measure("chatter", x, q, x.now, func(Hit) bool { return false })
		}
	}
	for _, kind := range []string{"questions", "others' questions", "madial-zh", "chatter"} {
		n := tallies[kind]
		share := func(a, b int) float64 { return float64(a) / float64(max(b, 1)) }
		fmt.Printf("%-18s %4d, %.3f are shown something, %.2f entries each, %.3f of which are right; "+
			"%.3f are shown evidence, %.3f of those with evidence in the first five\n",
			kind, n.queries, share(n.shown, n.queries), share(n.entries, n.queries), share(n.right, n.entries),
			share(n.found, n.queries), share(n.kept, n.searched))
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
		"region":                                   true,
		"which region?":                            true,
		"在哪个区域？":                                   true,
		"are they of the same kind?":               false,
		"write to the landlord, who has let the heating of our office be broken for a year, that we pay less from May on":              false,
		"I have read all there is about pricing, taxes, invoices and shops, and still wonder which region our billing database was in": true,
		"": false,
	} {
		if got := len(passing(t, x, query, x.now)) > 0; got != want {
			t.Errorf("%q: something passes is %v", query, got)
		}
	}
	for _, query := range chatter(t, "chat.txt") {
		if hits := passing(t, x, query, x.now); len(hits) > 0 {
			t.Errorf("%q: %q covers %.2f", query, hits[0].Entry.Text, hits[0].Cover)
		}
	}
}

// TestCoverOfFewEntries checks the same of a memory with few entries, all in
// Chinese, and of one with a single entry.
func TestCoverOfFewEntries(t *testing.T) {
	x := openTest(t, "testdata/cover-zh")
	for query, want := range map[string]bool{
		"我什么时候入职的？":   true,
		"面试":          true,
		"我的面试是哪天？":    true,
		"妈妈喜欢喝什么茶？":   true,
		"护照什么时候过期？":   true,
		"猫吃什么牌子的猫粮？":  true,
		"车停在哪里了？":     true,
		"客户想要的货币是什么？": true,
		"火车票订了吗？":     false,
		"孩子的学校在哪里？":   false,
		"帮我写一首关于春天的诗": false,
	} {
		if got := len(passing(t, x, query, x.now)) > 0; got != want {
			t.Errorf("%q: something passes is %v", query, got)
		}
	}
	for _, query := range chatter(t, "chat.txt", "chat_more.txt") {
		if hits := passing(t, x, query, x.now); len(hits) > 0 {
			t.Errorf("%q: %q covers %.2f", query, hits[0].Entry.Text, hits[0].Cover)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("- 入职日期是三月二日。 The billing database is slow.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir)
	for query, want := range map[string]bool{
		"我什么时候入职的？": true, "is the billing slow?": true, "护照什么时候过期？": false, "which region?": false,
	} {
		if got := len(passing(t, x, query, x.now)) > 0; got != want {
			t.Errorf("one entry: %q: something passes is %v", query, got)
		}
	}
	text := "- The release is in May.\n- The release needs a tag.\n- Ann writes the notes of the release.\n"
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir)
	if len(passing(t, x, "When is the release?", x.now)) == 0 {
		t.Error("three entries on a subject: nothing passes")
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
