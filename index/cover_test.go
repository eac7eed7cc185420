package index

import (
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
	res := x.mustSearch(t, x.view, Query{Text: Unquoted(query), Limit: 32, Cover: true, AsOf: asOf})
	hits := Covered(res.Hits, threshold)
	return hits[:min(8, len(hits))]
}

// TestCover checks that queries about a subject in memory have sufficient
// coverage, in any language and of any length. Chatter and texts with
// accidentally equal words must not.
func TestCover(t *testing.T) {
	x := openDir(t, "testdata/cover")
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
	x := openDir(t, "testdata/cover-zh")
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
	x = openFiles(t, map[string]string{"a.md": "- 入职日期是三月二日。 The billing database is slow.\n"}, nil)
	for query, want := range map[string]bool{
		"我什么时候入职的？": true, "is the billing slow?": true, "护照什么时候过期？": false, "which region?": false,
	} {
		if got := len(passing(t, x, query, x.now)) > 0; got != want {
			t.Errorf("one entry: %q: something passes is %v", query, got)
		}
	}
	text := "- The release is in May.\n- The release needs a tag.\n- Ann writes the notes of the release.\n"
	x = openFiles(t, map[string]string{"a.md": text}, nil)
	if len(passing(t, x, "When is the release?", x.now)) == 0 {
		t.Error("three entries on a subject: nothing passes")
	}
}

// TestCoverIsPrivate checks that the coverage of an entry does not depend on
// entries that the view cannot read.
func TestCoverIsPrivate(t *testing.T) {
	public := contextView(t, memory.Public)
	said := "---\nvisibility: public_ok\n---\n- The login page is slow.\n- A slow train.\n"
	secret := strings.Repeat("- The login page of the bank.\n- More.\n", 20)
	covers := func(text string) (list []float64) {
		x := openFiles(t, map[string]string{"memory/2026-02-04.md": said, "memory/2026-02-05.md": text}, nil)
		res := x.mustSearch(t, public, Query{Text: "slow login page", Limit: 10, Cover: true})
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
