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
