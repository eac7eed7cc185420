package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// unwritten is what is said of a change that had no effect because memory is
// turned off.
const unwritten = "memory is turned off: nothing was written"

// item shows the value of an item that was asked for, or where one was written.
func (p *printer) item(b *strings.Builder, a *api.ItemAnswer) {
	switch {
	case a.Disabled || a.Item == nil:
		p.say(asText, unwritten)
	case a.Index != nil:
		b.WriteString(escapeText(a.Item.Value))
		b.WriteByte('\n')
	default:
		p.titled(b, "", a.Item.Path, a.Item.Line, "", append([]string{a.Item.Key}, itemNotes(a.Item)...)...)
	}
}

// items lists items by namespace: a key with its value, or with the value below
// it if that has several lines.
func (p *printer) items(b *strings.Builder, a *api.ItemListAnswer) {
	namespace := ""
	for _, item := range a.Items {
		if item.Namespace != namespace {
			namespace = item.Namespace
			fmt.Fprintf(b, "%s\n", p.style(asTitle, escapeLine(namespace)+":"))
		}
		notes := joined("  ", itemNotes(item)...)
		value := strings.TrimRight(item.Value, "\n")
		t := plainText(asText, "  "+item.Key+":")
		if !strings.Contains(value, "\n") {
			t.add(asText, " "+value)
			value = ""
		}
		t.add(asMuted, notes)
		p.long(b, t)
		for line := range strings.Lines(value) {
			p.lines(b, 0, plainText(asText, strings.TrimRight(line, "\r\n")))
		}
	}
	switch {
	case a.Next != "":
		p.say(asMuted, "--cursor %s shows more", a.Next)
	case len(a.Items) == 0:
		p.say(asMuted, "no items")
	}
	p.note("", a.Index)
}

// itemNotes are the id of an item, and that it may be shown in public.
func itemNotes(item *api.Item) []string {
	notes := []string{item.ID}
	if item.Visibility == memory.PublicOK.String() {
		notes = append(notes, "public")
	}
	return notes
}

// itemsDeleted tells how many items are gone, and from where.
func (p *printer) itemsDeleted(b *strings.Builder, a *api.ItemDeleteAnswer) {
	if a.Disabled {
		p.say(asText, unwritten)
		return
	}
	fmt.Fprintf(b, "%s deleted\n", plural(a.Deleted, "item"))
	for _, path := range a.Paths {
		fmt.Fprintf(b, "%s%s\n", indent, p.paintedPlace(path, 0))
	}
}

// identity tells who an external key is.
func (p *printer) identity(b *strings.Builder, a *api.IdentityAnswer) {
	switch {
	case a.Disabled:
		p.say(asText, unwritten)
	case a.Subject == "":
		fmt.Fprintln(b, "nobody")
	default:
		fmt.Fprintf(b, "%s is %s\n", escapeLine(a.ExternalKey), escapeLine(a.Subject))
		for _, alias := range a.Aliases {
			fmt.Fprintf(b, "%s%s\n", indent, p.style(asMuted, "with "+escapeLine(alias)))
		}
	}
}

// links lists what is linked to whom.
func (p *printer) links(b *strings.Builder, a *api.LinksAnswer) {
	for _, l := range a.Links {
		fmt.Fprintf(b, "%s is %s\n", escapeLine(l.ExternalKey), escapeLine(l.Subject))
	}
	if a.Problem != "" {
		p.say(asBad, "%s", a.Problem)
	} else if len(a.Links) == 0 {
		p.say(asMuted, "nothing is linked")
	}
}
