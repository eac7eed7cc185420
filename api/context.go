package api

import "strings"

// ContextRequest requests a block of text for a prompt.
type ContextRequest struct {
	Query      string   `json:"query" size:"request" arg:"rest" with:"format=relevant" doc:"relevant: text to match, such as the user's last message; quotation marks have no special meaning"`
	Format     string   `json:"format" default:"auto" enum:"auto,summary,boot,full,items,relevant" doc:"auto: memory for the start of a session: SOUL.md and USER.md, long-term memory, recent notes and sessions, keyed items and open tasks; summary: summaries of long-term memory and recent sessions, with paths; boot: SOUL.md, USER.md, the notes of today and yesterday, and MEMORY.md; full: MEMORY.md; items: keyed items; relevant: entries that match the query"`
	Session    string   `json:"session" complete:"session" doc:"id of the current session; auto, summary: its file of today is listed first; auto, relevant: entries that a block of the session has shown are left out of later ones"`
	Project    string   `json:"project" with:"format=auto,relevant" doc:"auto, relevant: name of the project that the reader works on; its entries come first, those of other projects last"`
	Dir        string   `json:"dir" flag:"project-dir" with:"format=relevant" doc:"relevant: directory of the reader's project, absolute; an entry that names a file in it that was written after the day of the entry says so; ignored unless the caller is the owner, in private"`
	Days       int      `json:"days" min:"0" max:"3650" with:"format=auto,summary" doc:"auto, summary: number of days of sessions, 0 to 3650; 0 means the configured number"`
	Limit      int      `json:"limit" default:"8" min:"1" max:"100" with:"format=relevant" doc:"relevant: maximum number of entries, 1 to 100"`
	Roots      []string `json:"roots" flag:"root" with:"format=relevant" doc:"relevant: also entries of these folders: names of memory.roots"`
	MinCover   float64  `json:"min_cover" min:"0" max:"1" with:"format=relevant" doc:"relevant: minimum share of the query that the best entry contains, 0 to 1, else none is shown; rare words weigh more; 0.4 excludes everyday messages that share words with memory by chance"`
	MaxItems   *int     `json:"max_items" min:"0" max:"10000" with:"format=auto,summary,items" doc:"auto, summary, items: maximum number of lines of each list, 0 to 10000; cannot raise the configured limit"`
	MaxChars   *int     `json:"max_chars" min:"0" max:"10000000" with:"format=auto,boot,full,items,relevant" doc:"auto, boot, full, items, relevant: maximum number of characters, 0 to 10000000; default for auto: 9000; cannot raise the configured limit of items and relevant"`
	MaxTokens  int      `json:"max_tokens" min:"0" max:"1000000" with:"format=relevant" doc:"relevant: maximum number of tokens, estimated, 0 to 1000000; 0 for no other limit than that of characters"`
	Namespaces []string `json:"namespaces" enum:"profile,preference,fact,project,task_state" with:"format=items" doc:"items: only these namespaces; default: all"`
	Lang       string   `json:"lang" enum:"en,zh" with:"format=auto,boot,full" doc:"auto, boot, full: language of headings and notices: en or zh; default: the language of the text"`
	Count      *bool    `json:"count" default:"true" with:"format=relevant" doc:"relevant: count the shown entries as used; used entries stay longer in long-term memory"`
	Fresh
	Scope
	For[ContextAnswer]
}

// ContextAnswer is a block of text for a prompt. The text is empty if there is
// nothing to show.
type ContextAnswer struct {
	Text    string     `json:"text"`
	Items   int        `json:"items"`  // number of lines, files, items or entries in the text
	Chars   int        `json:"chars"`  // number of characters in the text
	Tokens  int        `json:"tokens"` // estimated number of tokens in the text
	LeftOut Omitted    `json:"left_out"`
	Hints   []string   `json:"hints"`
	Index   IndexState `json:"index"`

	Redaction
}

// Omitted counts the parts left out of a block, either for lack of space or
// because they are untrusted.
type Omitted struct {
	LongTerm   int `json:"long_term,omitempty"`  // number of omitted lines of long-term summaries
	Recent     int `json:"recent,omitempty"`     // number of omitted summaries of sessions and daily notes
	Files      int `json:"files,omitempty"`      // number of omitted files
	Items      int `json:"items,omitempty"`      // number of omitted keyed items
	Tasks      int `json:"tasks,omitempty"`      // number of omitted open tasks
	Entries    int `json:"entries,omitempty"`    // number of omitted matching entries
	Characters int `json:"characters,omitempty"` // number of characters omitted from MEMORY.md and other files
}

func (a *ContextAnswer) render(t *Text) {
	t.add(Line{Form: Block, Text: a.Text})
	var omitted []string
	l := a.LeftOut
	for _, c := range []struct {
		n   int
		one string
	}{
		{l.LongTerm, "long-term line"}, {l.Recent, "recent summary"}, {l.Files, "file"}, {l.Items, "item"},
		{l.Tasks, "task"}, {l.Entries, "entry"}, {l.Characters, "character"},
	} {
		if c.n > 0 {
			omitted = append(omitted, Plural(c.n, c.one))
		}
	}
	if len(omitted) > 0 && t.Audience != Models { // the block contains marks for models
		t.hint("omitted: %s", strings.Join(omitted, ", "))
	}
	for _, hint := range a.Hints {
		t.hint("hint: %s", hint)
	}
}
