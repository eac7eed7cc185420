package api

import (
	"fmt"
	"slices"
	"strings"
)

// GetRequest requests a file, some of its lines, or one entry.
type GetRequest struct {
	Path  string `json:"path" arg:"1" complete:"path" doc:"path or name of the file, also with lines: notes/a.md:3 (and on), notes/a.md:3-6; or path#id for one entry"`
	From  int    `json:"from" default:"1" min:"1" doc:"first line to return, from 1"`
	Lines int    `json:"lines" min:"0" doc:"number of lines to return; 0 returns all"`
	ID    string `json:"id" doc:"entry in place of a file: path#id, or its explicit id"`
	Plain bool   `json:"plain" doc:"return the text of the entry as it was given to note, capture or remember: without list marker, indentation and attributes, and in long-term files without added date"`
	Fresh
	Scope
	For[GetAnswer]
}

// GetAnswer is a text as visible to the scope of the request.
type GetAnswer struct {
	Path        string         `json:"path"`
	From        int            `json:"from"` // first line of the text
	To          int            `json:"to"`   // last line of the text
	Text        string         `json:"text"`
	TotalLines  int            `json:"total_lines"` // number of lines of the file, as visible to the caller
	Frontmatter map[string]any `json:"frontmatter,omitempty"`
	// SHA-256 of the file, or of its visible part; none if that has a redaction
	Hash string `json:"hash,omitempty"`
	Host string `json:"host,omitempty"` // machine that published the entry, if that is another one
	// of an entry: written by others than the subject, or published by a machine that the configuration does not trust
	Untrusted bool `json:"untrusted,omitempty"`

	// of a file: first and last lines of the ranges, within from and to, that others than the subject wrote
	UntrustedLines [][2]int `json:"untrusted_lines,omitempty"`

	Stale bool       `json:"stale,omitempty"` // the file cannot be read: this is its last known content
	Index IndexState `json:"index"`

	Redaction
}

func (a *GetAnswer) render(t *Text) {
	if t.Audience != Models {
		t.add(Line{Form: Verbatim, Text: a.Text})
	} else {
		next := t.addFile(a.Text, a.From, func(n int) bool {
			return a.Untrusted || slices.ContainsFunc(a.UntrustedLines,
				func(r [2]int) bool { return r[0] <= n && n <= r[1] })
		})
		switch {
		case next <= a.To:
			t.hint("lines %d to %d of %d; `get` with `from` %d reads on", a.From, next-1, a.TotalLines, next)
		case a.From == 1 && a.To == a.TotalLines && a.Hash != "":
			t.hint("hash %s", a.Hash)
		}
	}
	if a.Stale {
		t.warn("the file is unreadable; this is its last readable content")
	}
	switch {
	case t.Audience == Models: // the lines have marks
	case a.Untrusted && a.Host != "":
		t.warn("written on another machine, %s", a.Host)
	case a.Untrusted:
		t.warn("written by others")
	case len(a.UntrustedLines) > 0:
		var ranges []string
		for _, r := range a.UntrustedLines {
			ranges = append(ranges, fmt.Sprint(r[0])+TextIf(r[1] > r[0], fmt.Sprintf("-%d", r[1])))
		}
		t.warn("written by others: lines %s", strings.Join(ranges, ", "))
	}
}
