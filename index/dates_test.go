package index

import (
	"testing"
	"time"
)

// TestDates checks that the files of a day or month that the query names come
// first, and then those of the days beside it.
func TestDates(t *testing.T) {
	x := newFiles(t, map[string]string{
		"memory/2026-02-04.md": "- The server failed twice.\n",
		"memory/2026-02-07.md": "- The server failed again.\n",
		"memory/2026-03-20.md": "- The server failed thrice.\n",
	})
	const feb4, feb7, mar20 = "memory/2026-02-04.md:1", "memory/2026-02-07.md:1", "memory/2026-03-20.md:1"
	now := time.Date(2026, 3, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string][]string{
		"server failed":                  {mar20, feb7, feb4},
		"server failed on 4 February":    {feb4, feb7, mar20},
		"server failed on 2026-02-05":    {feb4, feb7, mar20},
		"server failed on 2026-02-06":    {feb7, feb4, mar20},
		"server failed in February 2026": {feb7, feb4, mar20},
		"server failed yesterday":        {mar20, feb7, feb4},
		"server failed in May":           {mar20, feb7, feb4},
		"server failed on 4 May 9999":    {mar20, feb7, feb4},
	} {
		wantHits(t, x, Query{Text: text, AsOf: now, Limit: 10}, want...)
	}
	// Dates have no effect in other modes.
	wantHits(t, x, Query{Text: "server failed on 4 February", AsOf: now, Limit: 10, Mode: Recent}, mar20, feb7, feb4)
}

// TestNamedDays checks that a named day or week finds its notes without their date in
// the text, and that they concern a message that names it.
func TestNamedDays(t *testing.T) {
	x := newFiles(t, map[string]string{
		"memory/2026-02-09.md": "# 2026-02-09\n\n- wrote the report about herons\n",
		"memory/2026-02-10.md": "# 2026-02-10\n\n- The suspension ends on Feb 17\n- 3 of 9 done in February\n",
		"memory/2026-02-17.md": "- nothing\n",
	})
	now := time.Date(2026, 2, 18, 12, 0, 0, 0, time.UTC)
	const report, nothing = "memory/2026-02-09.md", "memory/2026-02-17.md"
	for query, first := range map[string]string{
		"what did I do on Feb 9": report, "Feb 9": report, "2026-02-09": report, "2月9日": report, "9 days ago": report, "2月9日做了什么": report,
		"yesterday": nothing, "昨天": nothing, "what did I do last week": report,
	} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: query, AsOf: now, Limit: 10, Cover: true})
		if err != nil || len(res.Hits) == 0 || res.Hits[0].Doc.Place.Path != first || res.Hits[0].Cover < 0.4 || res.Absent != nil {
			t.Errorf("%s: %s, absent: %q, %v", query, hitsOf(t, x, Query{Text: query, AsOf: now}), res.Absent, err)
		}
	}
	wantHits(t, x, Query{Text: "what did I do in May", AsOf: now})
}

// TestTimeWords checks that entries with words of time come first if the query
// asks for a time.
func TestTimeWords(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- Ann moved to Oslo by train\n- Ann moved to Oslo last week\n" +
		"- 安搬到了奥斯陆市中心\n- 安去年搬到了奥斯陆\n"})
	wantHits(t, x, Query{Text: "Ann moved"}, "a.md:1", "a.md:2")
	wantHits(t, x, Query{Text: "when did Ann move"}, "a.md:2", "a.md:1")
	wantHits(t, x, Query{Text: "when Ann moved"}, "a.md:1", "a.md:2")
	wantHits(t, x, Query{Text: "安什么时候搬到奥斯陆"}, "a.md:4", "a.md:3")
}

// TestIrregularForms checks that an entry with another form of a word contains
// the word, and that such a word is no misspelling.
func TestIrregularForms(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- the children bought a boat\n- to buy a boat\n- they brought it\n- a child\n"})
	for text, want := range map[string][]string{
		"bought":   {"a.md:1", "a.md:2"},
		"children": {"a.md:1", "a.md:4"},
		"mice":     nil,
	} {
		wantHits(t, x, Query{Text: text}, want...)
	}
	res, err := x.Search(t.Context(), ownerView(t), Query{Text: "child bought", Limit: 10})
	if err != nil || len(res.Hits) != 3 || res.TotalAll != 1 || res.Absent != nil || res.Corrected != nil || res.Hits[0].Missing != nil {
		t.Errorf("%+v %v", res, err)
	}
	wantHits(t, x, Query{Text: "bought", Mode: Overlap}, "a.md:1")
}
