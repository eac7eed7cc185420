package memory

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entriesFile returns the content of a file with the entries of the record, without
// its digest. It compares the entries of the parsed file with the parts, adds the
// attributes in which they differ, and counts the differences that remain.
func (r *Imported) entriesFile(l *Layout) (text []byte, changes map[string]int) {
	parse := func(source []byte) *Document { return l.Parse(r.Place, source, Meta{}) }
	r.Parts = slices.DeleteFunc(r.Parts, func(p ImportedPart) bool { return strings.TrimSpace(p.Text) == "" })
	front := l.Parse(r.Place, []byte(r.head()), Meta{}).Front
	noFront := front.Broken
	if noFront {
		r.Front = ""
		front = l.Parse(r.Place, []byte(r.head()), Meta{}).Front
	}
	writer := entryWriter{l: l, path: r.Place, shared: front.Tags, words: map[string]string{}}
	blocks, above := make([]string, len(r.Parts)), ""
	for i := range r.Parts {
		below := "- next"
		if i+1 == len(r.Parts) || len(r.Parts[i+1].Section) > 0 || strings.HasPrefix(r.Parts[i+1].Text, "#") {
			below = "# next" // an empty section ends only with a heading
		}
		blocks[i] = writer.entryBlock(above, &r.Parts[i], below)
		above = blocks[i]
	}
	d := parse(r.source(blocks))
	if len(d.Entries) != len(blocks) || d.Unsound {
		for i := range r.Parts {
			blocks[i] = quotedPart(&r.Parts[i])
		}
		d = parse(r.source(blocks))
	}
	if len(d.Entries) == len(blocks) {
		var edits []Edit
		ids := map[string]bool{}
		for i := range r.Parts {
			e := &d.Entries[i]
			if comment := r.Parts[i].comment(e, ids); comment != "" {
				edits = append(edits, d.addComment(e, comment))
			}
		}
		if source, err := Splice(d.Source, edits); err == nil {
			d = parse(source)
		}
	}
	changes = map[string]int{}
	if noFront {
		changes["frontmatter"] = 1
	}
	if !r.keepsPrivate(d) { // private, without attributes
		for i := range r.Parts {
			r.Parts[i].Attributes = map[string]string{}
		}
		r.Front = ""
		return r.source(blocks), map[string]int{"attributes": len(blocks)}
	}
	for i := range r.Parts {
		r.Parts[i].countChanges(&d.Entries[i], changes)
	}
	return d.Source, changes
}

// keepsPrivate reports whether a document has an entry for each part, and none has more
// readers than its part.
func (r *Imported) keepsPrivate(d *Document) bool {
	for i := range d.Entries {
		if len(d.Entries) == len(r.Parts) && d.Entries[i].Partition.Visibility == PublicOK &&
			r.Parts[i].Attributes["visibility"] != PublicOK.String() {
			return false
		}
	}
	return len(d.Entries) == len(r.Parts)
}

type entryWriter struct {
	l      *Layout
	path   string
	shared []string          // tags of the file
	words  map[string]string // tags as written, empty for those that cannot be written
}

// entryBlock returns the text of an entry in the first form in which it is one entry
// with its tags: as it is, without structure that would have an effect, as an item
// of a list, or as a quote. Above is the block before it, and below is an entry like the
// one below it.
func (w *entryWriter) entryBlock(above string, p *ImportedPart, below string) string {
	text := strings.ToValidUTF8(unixLines(p.Text), "\ufffd")
	text = strings.Trim(text, "\n")
	clean := strings.Trim(CleanText(text), "\n")
	for _, form := range []string{text, clean, asItem(clean)} {
		e := w.entryOf("", form, below)
		if e == nil {
			continue
		}
		missing := w.missingTags(p.Tags, e)
		tags := " " + strings.Join(missing, " ")
		for _, tagged := range []string{form + tags, form + "\n\n " + tags} {
			if len(missing) > 0 {
				e = w.entryOf("", tagged, below)
				if e == nil || len(w.missingTags(p.Tags, e)) > 0 {
					continue
				}
				form = tagged
			}
			if above != "" && strings.ContainsAny(form[:1], " \t`~<") && w.entryOf(above, form, below) == nil {
				form = "<!-- -->\n\n" + form // the end of the block above
			}
			return form
		}
	}
	return quotedPart(p)
}

// missingTags returns the tags that an entry lacks and that can be written.
func (w *entryWriter) missingTags(tags []string, e *Entry) (list []string) {
	for _, tag := range tags {
		tag = FoldTag(strings.TrimPrefix(strings.TrimSpace(tag), "#"))
		word, known := w.words[tag]
		if !known {
			if line, ok := w.l.AddTag("-", tag); ok {
				word = strings.TrimPrefix(line, "- ")
			}
			w.words[tag] = word
		}
		has := func(list []string) bool {
			return slices.ContainsFunc(list, func(t string) bool { return FoldTag(t) == tag })
		}
		if word != "" && !has(e.Tags) && !has(w.shared) {
			list = append(list, word)
		}
	}
	return list
}

// entryOf returns the entry that a text between two others is, if it is exactly one,
// without attributes.
func (w *entryWriter) entryOf(above, text, below string) *Entry {
	d := w.l.Parse(w.path, []byte(strings.TrimLeft(above+"\n\n", "\n")+text+"\n\n"+below+"\n"), Meta{})
	n := len(d.Entries) - 2
	if strings.TrimSpace(text) == "" || n < 0 || d.Unsound || above == "" && (n > 0 || len(d.Hidden) > 0) ||
		d.Entries[n].Text != text || d.Entries[n].Attributes != nil || d.Entries[n+1].Text != below {
		return nil
	}
	return &d.Entries[n]
}

func asItem(text string) string {
	return "- " + strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n  "), "\n  \n", "\n\n")
}

// comment returns the comment with the attributes in which a parsed entry differs from
// the part, or "". Ids are the ids of the entries before it.
func (p *ImportedPart) comment(e *Entry, ids map[string]bool) string {
	attributes := maps.Clone(p.Attributes)
	moves := !e.has("visibility", p.Attributes["visibility"]) // the time of the file is not that of the entry then
	maps.DeleteFunc(attributes, func(key, value string) bool {
		if moves && key == "updated" {
			return false
		}
		return !isKey(key) || e.has(key, value) || key == "id" && (ids[value] || strings.ContainsFunc(value, isSpace))
	})
	ids[p.Attributes["id"]] = true
	evidence := p.Evidence
	if slices.Equal(e.Evidence, evidence) {
		evidence = nil
	}
	return Comment(attributes, evidence)
}

func isSpace(c rune) bool { return c <= ' ' || c == 0x7f }

// has reports whether an attribute has a value, whether it is written or a default.
func (e *Entry) has(key, value string) bool {
	number := func(f float64) bool {
		wanted, err := strconv.ParseFloat(value, 64)
		return err == nil && wanted == f
	}
	switch key {
	case "id":
		return e.ID == value
	case "type":
		return e.Type == value
	case "importance":
		return number(e.Importance)
	case "confidence":
		return e.HasConfidence && number(e.Confidence)
	case "visibility":
		return e.Partition.Visibility.String() == value
	case "updated":
		wanted, err := time.Parse(time.RFC3339Nano, value)
		return err == nil && wanted.Equal(e.Time)
	default:
		return e.Attributes[key] == value
	}
}

// countChanges counts the properties in which an entry differs from the part.
func (p *ImportedPart) countChanges(e *Entry, changes map[string]int) {
	count := func(name string, same bool) {
		if !same {
			changes[name]++
		}
	}
	switch rest, ok := strings.CutPrefix(e.Text, p.Text); {
	case e.Text == strings.TrimRight(p.Text, "\n"):
	case ok && strings.HasPrefix(strings.TrimSpace(rest), "#"):
		changes["tags added to the text"]++
	default:
		changes["text"]++
	}
	count("section", slices.Equal(e.Sections, p.Section) || len(e.Sections)+len(p.Section) == 0)
	count("evidence", slices.Equal(e.Evidence, p.Evidence))
	tags := slices.DeleteFunc(slices.Clone(p.Tags), func(t string) bool {
		return slices.Contains(e.Tags, strings.ToLower(strings.TrimPrefix(strings.TrimSpace(t), "#")))
	})
	count("tags lost", len(tags) == 0)
	for key, value := range p.Attributes {
		count(key, e.has(key, value))
	}
}
