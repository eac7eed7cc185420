package main

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/memory"
)

// unwritten is what is said of a change that had no effect because memory is
// turned off.
const unwritten = "memory is turned off: nothing was written"

// item shows the value of an item that was asked for, or where one was written.
func (p *printer) item(b *strings.Builder, a *ipc.ItemAnswer) {
	switch {
	case a.Disabled || a.Item == nil:
		fmt.Fprintln(b, unwritten)
	case a.Index != nil:
		b.WriteString(escapeText(a.Item.Value))
		b.WriteByte('\n')
	default:
		fmt.Fprintf(b, "%s  %s%s\n", p.place(a.Item.Path, a.Item.Line), escapeLine(a.Item.Key), p.style(asMuted, itemNote(a.Item)))
	}
}

// items lists items by namespace.
func (p *printer) items(b *strings.Builder, a *ipc.ItemListAnswer) {
	namespace := ""
	for _, item := range a.Items {
		if item.Namespace != namespace {
			namespace = item.Namespace
			fmt.Fprintf(b, "%s\n", p.style(asTitle, namespace+":"))
		}
		value := escapeText(item.Value)
		if strings.Contains(value, "\n") {
			value = "\n    " + strings.ReplaceAll(strings.TrimRight(value, "\n"), "\n", "\n    ")
		} else {
			value = " " + value
		}
		fmt.Fprintf(b, "  %s:%s%s\n", escapeLine(item.Key), value, p.style(asMuted, itemNote(item)))
	}
	switch {
	case a.Next != "":
		fmt.Fprintf(b, "more with --cursor %s\n", a.Next)
	case len(a.Items) == 0:
		fmt.Fprintln(b, "nothing")
	}
}

// itemNote is the id of an item, and that it may be shown in public.
func itemNote(item *ipc.Item) string {
	note := "  " + escapeLine(item.ID)
	if item.Visibility == memory.PublicOK.String() {
		note += " public"
	}
	return note
}

// itemsDeleted tells how many items are gone, and from where.
func (p *printer) itemsDeleted(b *strings.Builder, a *ipc.ItemDeleteAnswer) {
	if a.Disabled {
		fmt.Fprintln(b, unwritten)
		return
	}
	fmt.Fprintf(b, "%s deleted\n", plural(a.Deleted, "item"))
	for _, path := range a.Paths {
		fmt.Fprintf(b, "    %s\n", p.style(asMuted, p.place(path, 0)))
	}
}

// identity tells who an external key is.
func (p *printer) identity(b *strings.Builder, a *ipc.IdentityAnswer) {
	switch {
	case a.Disabled:
		fmt.Fprintln(b, unwritten)
	case a.Subject == "":
		fmt.Fprintln(b, "nobody")
	default:
		fmt.Fprintf(b, "%s is %s\n", escapeLine(a.ExternalKey), escapeLine(a.Subject))
		for _, alias := range a.Aliases {
			fmt.Fprintf(b, "    %s\n", p.style(asMuted, "with "+escapeLine(alias)))
		}
	}
}

// links lists what is linked to whom.
func (p *printer) links(b *strings.Builder, a *ipc.LinksAnswer) {
	for _, l := range a.Links {
		fmt.Fprintf(b, "%s is %s\n", escapeLine(l.ExternalKey), escapeLine(l.Subject))
	}
	if a.Problem != "" {
		fmt.Fprintf(b, "%s\n", p.style(asBad, escapeLine(a.Problem)))
	} else if len(a.Links) == 0 {
		fmt.Fprintln(b, "nothing is linked")
	}
}
