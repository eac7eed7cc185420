package api

// ContextRequest requests a block of text for a prompt.
type ContextRequest struct {
	Query    string  `json:"query" arg:"rest" doc:"relevant: what the entries should be about, such as what a person has just said; quotes mean nothing in it"`
	Format   string  `json:"format" default:"summary" enum:"summary,boot,full,items,relevant" doc:"summary: the summaries of long-term memory and of the recent sessions, with their paths; boot: who the agent is, whom it helps, the notes of today and yesterday, and MEMORY.md; full: MEMORY.md alone; items: the keyed items; relevant: the entries that match a query"`
	Session  string  `json:"session" complete:"session" doc:"summary: id of the session that asks: its file of today comes first"`
	Days     int     `json:"days" min:"0" max:"3650" doc:"summary: how many days of sessions; 0 for as many as are configured"`
	Limit    int     `json:"limit" default:"8" min:"1" max:"100" doc:"relevant: how many entries at most"`
	MinCover float64 `json:"min_cover" min:"0" max:"1" doc:"relevant: the share of the query that an entry has to cover, its rarer words counting more: 0 for any; 0.4 leaves out what only shares a word or two with it by chance"`
	MaxItems *int    `json:"max_items" min:"0" max:"10000" doc:"summary, items: how many lines or items at most, if fewer than are configured"`
	MaxChars *int    `json:"max_chars" min:"0" max:"10000000" doc:"boot, full, items, relevant: how many characters at most, if fewer than are configured"`
	Lang     string  `json:"lang" enum:"en,zh" doc:"boot, full: in which language memwatchd's own words are; that of the text if not given"`
	Count    *bool   `json:"count" default:"true" doc:"relevant: what is shown counts as used, and is kept longer when long-term memory is tidied up"`
	Fresh
	Scope
}

// ContextAnswer is a block of text for a prompt. The text is empty if there is
// nothing to show.
type ContextAnswer struct {
	Text    string     `json:"text"`
	Items   int        `json:"items"`  // lines, files, items or entries
	Chars   int        `json:"chars"`  // characters
	Tokens  int        `json:"tokens"` // estimate
	LeftOut Left       `json:"left_out"`
	Hints   []string   `json:"hints"`
	Index   IndexState `json:"index"`

	Redaction
}

// Left counts the parts left out of a block, either for lack of space or
// because they are untrusted.
type Left struct {
	LongTerm   int `json:"long_term,omitempty"`  // lines of summaries of long-term memory
	Recent     int `json:"recent,omitempty"`     // summaries of sessions and daily notes
	Files      int `json:"files,omitempty"`      // whole files
	Items      int `json:"items,omitempty"`      // keyed items
	Entries    int `json:"entries,omitempty"`    // entries that matched
	Characters int `json:"characters,omitempty"` // in the middle of MEMORY.md
	Untrusted  int `json:"untrusted,omitempty"`  // summaries, items or entries
}
