package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// ImportsDir is the directory of imported records.
const ImportsDir = "imports"

// ImportSource precedes the program from which a record was imported, in the
// frontmatter of its file and in attributes.
const ImportSource = "import:"

// An Imported is a record of another program that becomes a file, such as a conversation.
type Imported struct {
	Program          string // lower-case letters and dashes
	ID               string // of the record in the program; never changes
	Title            string
	Created, Updated time.Time // zero if unknown
	Tags             []string
	Parts            []ImportedPart
}

// An ImportedPart is a message or a block of Markdown. A message is written as a
// quote, so that it is one entry and its text has no effect on other entries.
type ImportedPart struct {
	Author string // of a message: person, agent or attachment; the text of the last two is untrusted
	Text   string
}

// Suffix returns the end of the name of the record's file. It depends on the
// program and the id only, and finds the file after a change of its title.
func (r *Imported) Suffix() string {
	sum := sha256.Sum256([]byte(r.Program + "\x00" + r.ID))
	return hex.EncodeToString(sum[:6]) + ".md"
}

// Path returns the path of the record's file. No part of the title can be a
// directory, and without a usable title the name is the day and a hash.
func (r *Imported) Path(loc *time.Location) string {
	year, name := "undated", ""
	if at := r.time(); !at.IsZero() {
		day := at.In(loc).Format(time.DateOnly)
		year, name = day[:4], day+"-"
	}
	if slug := FileSlug(r.Title); slug != "" {
		name += slug + "-"
	}
	return strings.Join([]string{ImportsDir, r.Program, year, name + r.Suffix()}, "/")
}

// time returns the time that selects the file of the record.
func (r *Imported) time() time.Time { return cmp.Or(r.Created, r.Updated) }

// Changed returns the time of the last change, or zero if it is unknown.
func (r *Imported) Changed() time.Time { return cmp.Or(r.Updated, r.Created) }

// id returns the id in the form of the frontmatter.
func (r *Imported) id() string {
	if id := CleanLine(r.ID); id == r.ID && len(id) <= maxSubject {
		return id
	}
	sum := sha256.Sum256([]byte(r.ID))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plainTag matches a tag that can stand in a list of tags in frontmatter.
var plainTag = lazyregexp.New(`^[^\pC\pZ<>][^\pC<>]*$`)

const maxSlug = 60

// FileSlug returns the words of a title for the name of a file: letters and
// digits, in lower case, joined by dashes.
func FileSlug(title string) string {
	var b strings.Builder
	words := strings.FieldsFunc(strings.ToLower(title),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) || r == utf8.RuneError })
	for _, w := range words {
		if b.Len()+len(w) > maxSlug {
			if b.Len() == 0 {
				b.WriteString(strings.ToValidUTF8(w[:maxSlug], ""))
			}
			break
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(w)
	}
	return b.String()
}

// Keys of the frontmatter of an imported file. The digest covers the other lines,
// so that a change by hand is detected.
const (
	importIDKey     = "source_id"
	importDigestKey = "source_hash"
)

// File returns the content of the record's file, which is private. Markdown that has an
// effect on the file is quoted.
func (r *Imported) File(l *Layout) []byte {
	text := r.source(false)
	if d := l.Parse(ImportsDir+"/a.md", text, Meta{}); d.Unsound || len(d.Problems) > 0 {
		text = r.source(true)
	}
	at := bytes.Index(text, []byte("\n---\n")) + 1 // the end of the frontmatter
	return slices.Concat(text[:at], digestLine(text), text[at:])
}

// source returns the content of the file without its digest.
func (r *Imported) source(quoted bool) []byte {
	fields := []fieldChange{{"source", ImportSource + r.Program}, {importIDKey, r.id()},
		{"visibility", PrivateOnly.String()}}
	if !r.time().IsZero() {
		fields = append(fields, fieldChange{"created_at", Timestamp(r.time())},
			fieldChange{"updated_at", Timestamp(r.Changed())})
	}
	tags := tagList(slices.DeleteFunc(slices.Clone(r.Tags), func(t string) bool { return !plainTag().MatchString(t) }))
	if len(tags) > 0 {
		fields = append(fields, fieldChange{"tags", tags})
	}
	b := bytes.NewBufferString("---\n" + fieldLines(fields, "\n") + "---\n")
	level, title := "#", headingText(CleanLine(r.Title))
	if title != "" && !strings.HasPrefix(r.Parts[0].Text, title) {
		b.WriteString("\n# " + title + "\n")
		level = "##"
	}
	for _, p := range r.Parts {
		text := strings.Trim(cleanText(p.Text), "\n")
		if p.Author != "" {
			b.WriteString("\n" + level + " " + strings.ToUpper(p.Author[:1]) + p.Author[1:] + "\n")
		}
		if p.Author != "" || quoted {
			text = p.quote(text, r.Program)
		}
		b.WriteString("\n" + text + "\n")
	}
	return b.Bytes()
}

// quote returns the text of a part as a quote. The mark of an untrusted text is on the first
// line, where no text can precede it.
func (p *ImportedPart) quote(text, program string) string {
	var b strings.Builder
	if p.Author == "agent" || p.Author == "attachment" {
		b.WriteString("> " + commentOf(map[string]string{"written_by": ImportSource + program}, nil) + "\n")
	}
	for line := range strings.Lines(text) {
		line = quotedBox().ReplaceAllString(strings.TrimRight(line, " \t\n"), `$1\$2`)
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// quotedBox matches the box of a task, which would be a task of the reader in a
// conversation too.
var quotedBox = lazyregexp.New(`^((?:[\s>]|[-+*]\s|[0-9]{1,9}[.)]\s)*)(\[[ xX]\](?:\s|$))`)

// digestLine returns the line with the digest of a file without that line.
func digestLine(text []byte) []byte {
	return []byte(importDigestKey + ": " + TextDigest(string(text)) + "\n")
}

// TextDigest returns the digest of a text that an import has written. A text that a person
// has changed has another one.
func TextDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// EditedImport reports whether the content of an imported file was changed since its import,
// or is that of another file.
func EditedImport(source []byte) bool {
	_, rest, _ := bytes.Cut(source, []byte("\n"+importDigestKey+": "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	line = []byte(importDigestKey + ": " + string(line) + "\n")
	return !bytes.Equal(digestLine(bytes.Replace(source, line, nil, 1)), line)
}

// FitImported is [Layout.Fit] for a block of Markdown that anyone may have written: the text
// as it is, or a list item if it is not one entry, whatever follows.
func (l *Layout) FitImported(path string, p *Put) error {
	text, err := p.Text, error(ErrText)
	p.Form = markdownForm
	for _, p.Text = range []string{strings.Trim(cleanText(text), "\n"), ListItem(text)} {
		d := l.Parse(path, []byte(p.Text+"\n\n# Next\n"), Meta{})
		if len(d.Entries) == 2 && d.Entries[0].Block != EmptyHeading && d.Entries[0].Attributes == nil {
			p.Attributes[OriginAttribute] = TextDigest(d.Entries[0].Norm)
			err = l.Fit(path, p)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// cleanText converts any Markdown to Markdown that [CheckText] accepts, see
// [CleanLine], and that does not extend into the text that follows: an open fence
// is closed.
func cleanText(text string) string {
	text = strings.ToValidUTF8(unixLines(text), "\ufffd")
	clean := CheckText(text) == nil
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if !clean {
			content = CleanLine(line)
			line = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + content
		}
		switch mark := fenceOf(content); {
		case mark == "":
		case fence == "":
			fence = mark
		case strings.HasPrefix(mark, fence) && content == mark:
			fence = ""
		}
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	return escapePercent(b.String())
}

// AddTag returns a text with a tag at its end, unless the text has it, and reports
// whether the tag can be written. Below several lines, the tag becomes a paragraph.
func (l *Layout) AddTag(text, tag string) (string, bool) {
	space := " "
	if last := text[strings.LastIndexByte(text, '\n')+1:]; last != text && !strings.HasPrefix(last, "#") {
		space = "\n\n"
	}
	for _, tagged := range []string{text, text + space + "#" + tag, text + space + `#"` + tag + `"`} {
		for _, e := range l.Parse(memoryDir+"/log.md", []byte(tagged+"\n"), Meta{}).Entries {
			if slices.Contains(e.Tags, FoldTag(tag)) {
				return tagged, true
			}
		}
	}
	return text, false
}
