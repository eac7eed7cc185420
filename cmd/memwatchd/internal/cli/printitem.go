package cli

import (
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
)

// disabledHint is the hint for a write without effect because memory is turned
// off.
const disabledHint = "memory is disabled; nothing was written"

// printItem shows the value of an item that was read, or the place of an item that
// was written.
func (p *Printer) printItem(a *api.ItemAnswer) {
	switch {
	case a.Item == nil:
		p.addHint(term.AsText, disabledHint)
	case a.Index != nil:
		p.out.WriteString(term.EscapeText(a.Item.Value))
		p.println("")
	default:
		p.printTitle("", a.Item.Path, a.Item.Line, "", append([]string{a.Item.Key}, itemNotes(a.Item)...)...)
	}
	for _, hint := range a.Hints {
		p.addHint(term.AsMuted, "%s", hint)
	}
}

// printItems lists items by namespace: each key with its value. A value of several
// lines follows below the key.
func (p *Printer) printItems(a *api.ItemListAnswer) {
	namespace := ""
	for _, item := range a.Items {
		if item.Namespace != namespace {
			namespace = item.Namespace
			p.println(p.Style(term.AsTitle, term.EscapeLine(namespace)+":"))
		}
		notes := joinNonEmpty(itemNotes(item)...)
		value := strings.TrimRight(item.Value, "\n")
		t := plainText(term.AsText, "  "+item.Key+":")
		if !strings.Contains(value, "\n") {
			t.add(term.AsText, " "+value)
			value = ""
		}
		t.add(term.AsMuted, notes)
		p.printWrapped(t)
		for line := range strings.Lines(value) {
			p.printIndented(0, plainText(term.AsText, strings.TrimRight(line, "\r\n")))
		}
	}
	switch {
	case a.Next != "":
		p.addHint(term.AsMuted, "--cursor %s shows more", a.Next)
	case len(a.Items) == 0:
		p.addEmptyHint("no items")
	}
}

// itemNotes returns the id of an item, and "public" for public items.
func itemNotes(item *api.Item) []string {
	notes := []string{item.ID}
	if item.Visibility == memory.PublicOK.String() {
		notes = append(notes, "public")
	}
	return notes
}

// printDeletedItems shows the number of deleted items and their files.
func (p *Printer) printDeletedItems(a *api.ItemDeleteAnswer) {
	p.printf("%s deleted\n", term.Plural(a.Deleted, "item"))
	for _, path := range a.Paths {
		p.printf("%s%s\n", indent, p.paintPlace(path, 0))
	}
}

// printIdentity shows the subject of an external key.
func (p *Printer) printIdentity(a *api.IdentityAnswer) {
	if a.Subject == "" {
		p.println("anonymous")
		return
	}
	p.printf("%s is %s\n", term.EscapeLine(a.ExternalKey), term.EscapeLine(a.Subject))
	for _, alias := range a.Aliases {
		p.printf("%s%s\n", indent, p.Style(term.AsMuted, "with "+term.EscapeLine(alias)))
	}
}

// printLinks lists external keys with their subjects.
func (p *Printer) printLinks(a *api.LinksAnswer) {
	for _, l := range a.Links {
		p.printf("%s is %s\n", term.EscapeLine(l.ExternalKey), term.EscapeLine(l.Subject))
	}
	p.addHint(term.AsBad, "%s", a.Problem)
	if len(a.Links) == 0 && a.Problem == "" {
		p.addHint(term.AsMuted, "no links")
	}
}
