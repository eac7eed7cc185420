package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// SearchRequest requests entries.
type SearchRequest struct {
	Query           string   `json:"query" size:"16384" arg:"rest" doc:"words, all optional; entries with more words and rarer words rank higher; entries with a \"quoted phrase\" come first; pre* stands for the words that begin with pre"`
	Phrase          string   `json:"phrase" flag:"exact" default:"first" bare:"required" enum:"first,required" doc:"quoted phrases: first (entries that contain them come first), or required (hits contain all of them)"`
	Typing          bool     `json:"typing" doc:"the query is being typed: its last word stands for the words that begin with it, unless a space follows"`
	Typos           string   `json:"typos" default:"correct" enum:"correct,keep" with:"mode=auto,relevance,hybrid" doc:"unquoted words that no entry contains: correct (similar words are searched too, and the answer lists them), or keep"`
	Group           string   `json:"group" flag:"by" default:"entry" preset:"file" enum:"entry,file" doc:"hits: entry (each entry is a hit), or file (the best entry of each file, with the number of other matching entries in it); with mode overlap, each entry is one"`
	Exclude         string   `json:"exclude" size:"16384" doc:"words and quoted phrases that no hit may contain"`
	Limit           int      `json:"limit" default:"10" min:"1" max:"100" doc:"maximum number of hits, 1 to 100"`
	Offset          int      `json:"offset" min:"0" max:"100000" doc:"number of hits to skip, 0 to 100000"`
	Mode            string   `json:"mode" default:"auto" enum:"auto,relevance,semantic,hybrid,overlap" doc:"ranking: relevance (by words), semantic (by meaning, with an embeddings endpoint), hybrid (by both), auto (hybrid if the endpoint answers in time, else relevance), or overlap (an exact formula of word share, recency and importance)"`
	RecencyBias     *float64 `json:"recency_bias" default:"0.3" min:"0" max:"1" with:"mode=overlap" doc:"overlap: weight of recency against text, 0 to 1"`
	AsOf            string   `json:"as_of" doc:"time from which the ages in a score are counted, in the forms of since; default: now"`
	All             bool     `json:"all" with:"mode=overlap" doc:"overlap: also return entries that contain none of the words"`
	Kinds           []string `json:"kinds" enum:"note,session,daily,longterm,items,identity,archive,review" doc:"only files of these kinds: note, session, daily, longterm, items, identity, archive, review"`
	Types           []string `json:"types" enum:"fact,preference,project,decision,crumb,request,result" doc:"only entries of these types: fact, preference, project, decision, crumb, request, result"`
	Tags            []string `json:"tags" complete:"tag" doc:"only entries with all of these tags"`
	AnyTag          bool     `json:"any_tag" with:"tags" doc:"match entries with at least one of the tags"`
	Sections        []string `json:"sections" complete:"section" doc:"only entries below one of these headings"`
	Path            string   `json:"path" complete:"path" doc:"only files below this directory, or files that match this glob"`
	Roots           []string `json:"roots" flag:"root" doc:"only these folders: names of memory.roots, or memory for the memory directory; default: all"`
	Since           string   `json:"since" doc:"only entries since this time: 2026-02-04, 2026-02, 2026, RFC 3339, 36h, 7d, 2w, today, yesterday, a weekday, last week or 3 days ago"`
	Until           string   `json:"until" doc:"only entries until this time, in the same forms"`
	State           string   `json:"state" enum:"open,done" doc:"only entries with a task in this state: open or done"`
	Session         string   `json:"session" complete:"session" doc:"only entries of the session with this id"`
	Contact         string   `json:"contact" doc:"only entries of sessions with this contact"`
	IncludeArchived bool     `json:"include_archived" with:"!kinds" doc:"also search archived entries"`
	Review          bool     `json:"review" with:"!kinds" doc:"also search entries that wait for a review"`
	Count           *bool    `json:"count" default:"true" doc:"count the returned entries as used; used entries stay longer in long-term memory"`
	Explain         bool     `json:"explain" doc:"return the parts of each score"`
	Fresh
	Scope
	For[SearchAnswer]
}

// RecentRequest requests the newest entries.
type RecentRequest struct {
	Hours *float64 `json:"hours" with:"!since" default:"24" min:"0" max:"876000" arg:"1" doc:"number of hours to look back, 0 to 876000"`
	Since string   `json:"since" doc:"time to look back to, in place of hours, in the forms that search accepts"`
	Tags  []string `json:"tags" complete:"tag" doc:"only entries with all of these tags"`
	Limit int      `json:"limit" default:"10" min:"1" max:"100" doc:"maximum number of entries, 1 to 100"`
	AsOf  string   `json:"as_of" doc:"time to look back from, in the same forms; default: now"`
	Fresh
	Scope
	For[SearchAnswer]
}

// SearchAnswer is a page of hits.
type SearchAnswer struct {
	Hits     []Hit     `json:"hits"`             // on this page, in order
	Total    int       `json:"total"`            // readable entries that match, before equal ones are folded
	TotalAll int       `json:"total_all"`        // of these, entries that contain all words of the query
	Absent   []string  `json:"absent,omitempty"` // words of the query that nothing readable contains
	Files    int       `json:"files"`            // files with these entries
	Next     int       `json:"next,omitempty"`   // offset of the next page; absent on the last one
	AsOf     time.Time `json:"as_of"`            // reference time for ages
	Note     string    `json:"note,omitempty"`   // why there are no hits, or fewer than expected
	// words that nothing readable contains, for which similar words were searched
	Corrected []Correction `json:"corrected,omitempty"`
	Index     IndexState   `json:"index"`
	TookMS    float64      `json:"took_ms"` // duration in milliseconds

	Redaction
}

// A Correction is a word of a query that was replaced by similar words.
type Correction struct {
	Word string   `json:"word"` // as in the query, in lower case
	To   []string `json:"to"`   // words of the hits
}

// A Hit is a matching entry in the present version of its file. Its line
// numbers refer to the file as visible to the scope of the request.
type Hit struct {
	ID      string  `json:"id"` // path#id, accepted by get
	Path    string  `json:"path"`
	Line    int     `json:"line"`     // first line
	EndLine int     `json:"end_line"` // last line
	Score   float64 `json:"score"`    // higher is better; with explain, why contains the parts
	// machine that published the entry, if that is another one; the path begins with it
	Host string `json:"host,omitempty"`
	// note, session, daily, longterm, items, identity or archive
	Kind    string `json:"kind"`
	Subject string `json:"subject,omitempty"` // owner of the entry
	Day     string `json:"day,omitempty"`     // day of the file, YYYY-MM-DD
	Session string `json:"session,omitempty"` // session of the file
	// headings above the entry, joined by " > "; at most 2000 characters
	Section   string `json:"section,omitempty"`
	Title     string `json:"title,omitempty"`     // at most 2000 characters
	Text      string `json:"text"`                // at most 2000 characters
	Truncated bool   `json:"truncated,omitempty"` // the text is longer
	// part of the text with the matching words: up to six lines of code, a list or a table, or one line
	Snippet    string   `json:"snippet,omitempty"`
	Language   string   `json:"language,omitempty"`   // of the code in the snippet, as in its fence
	Highlights [][2]int `json:"highlights,omitempty"` // start and end of each match in the snippet, in characters
	// fact, preference, project, decision, crumb, request or result
	Type       string    `json:"type"`
	Tags       []string  `json:"tags,omitempty"`       // at most 100
	Importance float64   `json:"importance,omitempty"` // 0 to 1
	Visibility string    `json:"visibility"`           // private_only or public_ok
	Task       string    `json:"task,omitempty"`       // open if any of its tasks is open, else done
	Added      string    `json:"added,omitempty"`      // day on which the entry was added, YYYY-MM-DD
	Time       time.Time `json:"time,omitzero"`        // time from which the age is counted
	// written by others than the subject, in public or through a topic
	Untrusted bool   `json:"untrusted,omitempty"`
	Source    string `json:"source,omitempty"` // writer of untrusted text, or where it was written
	// the file that lacks the entry, if it is only in a conflict copy of the file
	Conflict     string  `json:"conflict,omitempty"`
	AlsoAt       []Place `json:"also_at,omitempty"`       // other places with the same text
	SupersededBy *Place  `json:"superseded_by,omitempty"` // readable entry that replaces this one
	// words of the query that the entry lacks, for queries of up to 12 words
	Missing []string `json:"missing,omitempty"`
	// other entries of the file that match, if the file is one hit
	More  int  `json:"more,omitempty"`
	Stale bool `json:"stale,omitempty"` // the file cannot be read: this is its last known content
	Why   *Why `json:"why,omitempty"`   // with explain
}

// A Place is the position of an entry.
type Place struct {
	ID   string `json:"id"` // path#id
	Path string `json:"path"`
	Line int    `json:"line"`
}

// Why contains the parts of a score. Score = Own + Near + File + Date + Superseded
// in Relevance, Text*(1-bias) + Recency*bias + Importance*0.15 in Overlap.
// In a search by words and meaning, these are the parts of the score by words, and
// Score is that of the two ranks.
type Why struct {
	Terms []TermScore `json:"terms,omitempty"`
	Own   float64     `json:"own,omitempty"`  // from the words in the entry
	Near  float64     `json:"near,omitempty"` // from the words in the neighboring entries
	File  float64     `json:"file,omitempty"` // from the words in the file
	// from the dates in the query, and from words of time if the query asks for one
	Date    float64 `json:"date,omitempty"`
	Recency float64 `json:"recency,omitempty"` // overlap: from the age of the entry
	// negative if the entry that replaces this one has a lower score
	Superseded  float64 `json:"superseded,omitempty"`
	Text        float64 `json:"text,omitempty"` // overlap: share of the words in the entry
	Importance  float64 `json:"importance,omitempty"`
	WordsRank   int     `json:"words_rank,omitempty"`   // rank by words, from 1; 0 beyond the ranks that count
	MeaningRank int     `json:"meaning_rank,omitempty"` // rank by meaning, from 1; 0 beyond the ranks that count
	Cosine      float64 `json:"cosine,omitempty"`       // similarity of the meanings of query and entry, -1 to 1
}

// TermScore is one term's part of an entry's own score.
type TermScore struct {
	Term  string  `json:"term"` // word or stem
	Idf   float64 `json:"idf"`  // inverse document frequency
	Tf    float64 `json:"tf"`   // term frequency
	Score float64 `json:"score"`
}

func (a *SearchAnswer) render(t *Text) {
	most, cut := a.modelChars(), false
	for i := range a.Hits {
		if i > 0 && t.Audience != Programs {
			t.addBlank()
		}
		cut = a.Hits[i].render(t, most) || cut
	}
	if cut {
		t.hint("an end in … is a cut: `get` with the place of a hit returns its full text")
	}
	t.Nothing = len(a.Hits) == 0
	if a.Next > 0 {
		if t.Audience == People {
			t.addBlank()
		}
		t.hint("%s", a.more(t))
	}
	if len(a.Absent) > 0 && !t.Nothing {
		t.hint("no entry contains %s", strings.Join(a.Absent, ", "))
	}
	for _, c := range a.Corrected {
		t.hint("%s", c.describe(t.notice))
	}
	t.hint("%s", a.Note)
}

// more returns the number of shown hits, and the parameter that shows further ones.
func (a *SearchAnswer) more(t *Text) string {
	shown, _ := strconv.Atoi(t.given("offset")) // a missing offset is zero
	text := fmt.Sprintf("%d of %s", shown+len(a.Hits), Plural(a.Files, "file"))
	if t.given("group") != "file" || t.given("mode") == "overlap" {
		for _, h := range a.Hits { // entries with equal text, or of one note, are one hit
			shown += 1 + len(h.AlsoAt) + h.More
		}
		text = fmt.Sprintf("%d of %s", shown, Plural(a.Total, "entry"))
	}
	switch {
	case t.accepts("offset"):
		text += fmt.Sprintf("; `offset` %d shows more", a.Next)
	case t.accepts("limit"):
		text += "; a higher `limit` shows more"
	}
	return text
}

// describe returns a correction in words. If the answer may be incomplete, as its notice
// explains, an exact match may exist.
func (c *Correction) describe(notice string) string {
	return TextIf(notice == "", "no exact match for "+c.Word+"; ") + "showing " + strings.Join(c.To, ", ")
}

// Bounds of the texts of hits for a model, in characters: those of ten hits have modelText
// each on average, and none has more than maxModelText. Ten hits need less than 900 tokens
// with their places.
const (
	modelText    = 210
	maxModelText = 600
)

// modelChars returns the bound of the text of each hit for a model. Short texts leave their
// rest to the long ones.
func (a *SearchAnswer) modelChars() int {
	for most := maxModelText; ; most -= 20 {
		sum := 0
		for i := range a.Hits {
			sum += min(utf8.RuneCountInString(a.Hits[i].Text), most)
		}
		if sum <= modelText*max(10, len(a.Hits)) {
			return most
		}
	}
}

// modelText returns the text for a model in at most most characters, and reports whether it
// is cut. The snippet of a long text contains the matching words.
func (h *Hit) modelText(most int) (text string, cut bool) {
	text = h.Text
	if h.Snippet != "" && utf8.RuneCountInString(text) > most {
		text = h.Snippet
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text, text != h.Text || h.Truncated
}

// render adds a hit, to a model with at most most characters of its text. It reports whether
// the model's text is cut.
func (h *Hit) render(t *Text, most int) (cut bool) {
	replaced := ""
	if s := h.SupersededBy; s != nil {
		replaced = fmt.Sprintf("replaced by %s:%d", s.Path, s.Line)
	}
	if h.Host == "" { // else not a file of this machine
		t.Files = append(t.Files, h.Path)
		for _, other := range h.AlsoAt {
			t.Files = append(t.Files, other.Path)
		}
	}
	if t.Audience == Programs {
		for _, m := range h.places() {
			t.add(Line{Form: Finding, Path: m.Path, Line: m.Line, Column: m.Column, Text: m.Text, Notes: []string{replaced},
				Untrusted: h.Untrusted})
		}
		if h.Stale {
			t.warn("stale: %s is unreadable", h.Path)
		}
		h.explain(t)
		return false
	}
	text := Line{Form: Body, Depth: 2, Text: t.shorten(firstLine(h.Text)), Untrusted: h.Untrusted}
	title := Line{Path: h.Path, Line: h.Line, Section: h.Section, Untrusted: h.Untrusted,
		Notes: []string{TextIf(h.Task != "", h.Task+" task"),
			TextIf(h.Day == "" || !strings.Contains(h.Path, h.Day), t.formatDay(h.Time)), h.Language,
			TextIf(h.Source != "", "by "+h.Source), replaced,
			TextIf(h.Conflict != "", "conflict copy"), TextIf(h.Stale, "stale: the file is unreadable"),
			TextIf(h.More > 0, fmt.Sprintf("and %d more in this file", h.More))}}
	if t.Audience == Models {
		title.EndLine = h.EndLine
		text.Text, cut = h.modelText(most)
	} else if h.Snippet != "" {
		text.Text, text.Matches = h.Snippet, h.Highlights
	}
	t.add(title, text)
	t.addPlaces(h.AlsoAt, Line{Depth: 2, Head: "also at", HeadStyle: Muted, Untrusted: h.Untrusted})
	h.explain(t)
	return cut
}

// A Match is the place of a text that a search found.
type Match struct {
	Path         string
	Line, Column int // the column counts bytes from 1; 0 if unknown
	Text         string
}

// places returns the places of a hit and of its copies. The place of the hit is its first
// match, if the text contains all lines of the entry.
func (h *Hit) places() []Match {
	at := Match{Path: h.Path, Line: h.Line, Text: firstLine(h.Text)}
	shown, match := h.firstMatch()
	if h.Snippet != "" {
		at.Text = strings.TrimSpace(shown)
	}
	lines := strings.Split(strings.TrimSuffix(h.Text, "\n"), "\n")
	if match != "" && (h.Truncated || len(lines) == h.EndLine-h.Line+1) {
		whole := strings.TrimSuffix(strings.TrimSpace(shown), "…")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, whole) })
		if i < 0 || !strings.Contains(lines[i], match) { // the snippet joins lines
			i = slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, match) })
		}
		if i >= 0 {
			at.Line += i
			at.Column = strings.Index(lines[i], match) + 1
		}
	}
	places := []Match{at}
	for _, other := range h.AlsoAt {
		places = append(places, Match{Path: other.Path, Line: other.Line, Text: at.Text})
	}
	return places
}

// firstMatch returns the line of the snippet with the first highlight, and the
// highlighted text. Without highlights it returns the first line.
func (h *Hit) firstMatch() (line, match string) {
	line, _, _ = strings.Cut(h.Snippet, "\n")
	if len(h.Highlights) == 0 {
		return line, ""
	}
	runes, from, to := []rune(h.Snippet), h.Highlights[0][0], h.Highlights[0][1]
	if from < 0 || to > len(runes) || from >= to { // of a daemon of another version
		return line, ""
	}
	before, after := string(runes[:from]), string(runes[from:])
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	return before + after, string(runes[from:to])
}

// explain adds the parts of the score of a hit, if the answer contains them.
func (h *Hit) explain(t *Text) {
	w := h.Why
	if w == nil {
		return
	}
	if len(h.Missing) > 0 {
		t.add(Line{Depth: 2, Text: "lacks " + strings.Join(h.Missing, ", "), Style: Muted, Untrusted: h.Untrusted})
	}
	parts, err := json.Marshal(w)
	if err != nil { // a part is not a number
		return
	}
	t.add(Line{Depth: 2, Style: Muted, Untrusted: h.Untrusted, Text: fmt.Sprintf("score %.4g: %s", h.Score, parts)})
}
