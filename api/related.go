package api

import (
	"strings"
)

// RelatedRequest requests the links of a file or an entry.
type RelatedRequest struct {
	Path  string `json:"path" arg:"1" complete:"path" doc:"path of the file, relative to the memory directory"`
	ID    string `json:"id" doc:"entry in place of a file: path#id, or its explicit id"`
	Limit int    `json:"limit" default:"20" min:"1" max:"100" doc:"maximum number of links in each direction, 1 to 100"`
	Fresh
	Scope
	For[RelatedAnswer]
}

// RelatedAnswer lists links, in the order of the files.
type RelatedAnswer struct {
	Path  string     `json:"path"`
	To    []LinkTo   `json:"to"`   // outgoing links, and the evidence of summaries
	From  []LinkFrom `json:"from"` // incoming links
	Index IndexState `json:"index"`

	Redaction
}

// LinkTo is a link in the requested file or entry.
type LinkTo struct {
	Line      int    `json:"line"` // first line of the entry with the link
	Text      string `json:"text"`
	Target    string `json:"target"`         // as written
	Path      string `json:"path,omitempty"` // target file, if it exists
	Anchor    string `json:"anchor,omitempty"`
	Missing   bool   `json:"missing,omitempty"`   // target: a note that the caller cannot read or that does not exist
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

// LinkFrom is an entry that links to the requested file or entry.
type LinkFrom struct {
	Place
	Text      string `json:"text"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

func (a *RelatedAnswer) render(t *Text) {
	for _, l := range a.To {
		t.Files = append(t.Files, l.Path)
		link := Line{Path: a.Path, Line: l.Line, Text: strings.Join(strings.Fields(l.Text), " "),
			Untrusted: l.Untrusted}
		anchor := TextIf(l.Anchor != "", "#"+l.Anchor) + TextIf(l.Missing, " [missing]")
		if l.Path != "" {
			link.Target = l.Path + anchor
		} else {
			link.Text = strings.TrimRight("-> "+l.Target+anchor+"  "+link.Text, " ")
		}
		t.addLink(link)
	}
	for _, l := range a.From {
		t.Files = append(t.Files, l.Path)
		link := Line{Path: l.Path, Line: l.Line, Text: "<-  " + firstLine(l.Text), Untrusted: l.Untrusted}
		if t.Audience == Models {
			link.Target, link.Text = a.Path, firstLine(l.Text)
		}
		t.addLink(link)
	}
	if len(a.To)+len(a.From) == 0 {
		t.listNothing("no links")
	}
}

func (t *Text) addLink(link Line) {
	link.Text = t.shorten(link.Text)
	if t.Audience == Programs {
		link.Form = Finding
	}
	t.add(link)
}
