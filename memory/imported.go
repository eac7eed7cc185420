package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
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

// An Imported is a record of another program, such as a conversation, for a file
// of its own.
type Imported struct {
	Program          string // lower-case letters and dashes
	ID               string // of the record in the program; never changes
	Title            string
	Untitled         bool      // the title is in the name of the file only
	Created, Updated time.Time // zero if unknown
	Tags             []string
	Parts            []ImportedPart
}

// An ImportedPart is a message or a block of Markdown. A message is written as a
// quote, so that it is one entry and its text has no effect on other entries.
type ImportedPart struct {
	Speaker    string   // heading of the message; empty for Markdown
	By         string   // author of the message if that is not the subject of the file, see [Author]
	Section    []string // headings above Markdown, outermost first
	Text       string
	Attributes map[string]string // of Markdown that is one entry
	Evidence   []string
}

// Suffix returns the end of the name of the record's file. It depends on the
// program and the id only, and finds the file after a change of its title.
func (r *Imported) Suffix() string {
	sum := sha256.Sum256([]byte(r.Program + "\x00" + r.ID))
	return hex.EncodeToString(sum[:6]) + ".md"
}

// Path returns the path of the record's file. No part of the title can be a
// directory, and without a usable title the name is the day and a hash.
func (r *Imported) Path(loc *time.Location, titled bool) string {
	year, name := "undated", ""
	if at := r.time(); !at.IsZero() {
		day := at.In(loc).Format(time.DateOnly)
		year, name = day[:4], day+"-"
	}
	if slug := fileSlug(r.Title); titled && slug != "" {
		name += slug + "-"
	}
	return strings.Join([]string{ImportsDir, r.Program, year, name + r.Suffix()}, "/")
}

// time returns the time that selects the file of the record.
func (r *Imported) time() time.Time {
	if r.Created.IsZero() {
		return r.Updated
	}
	return r.Created
}

// Changed returns the time of the last change, or zero if it is unknown.
func (r *Imported) Changed() time.Time {
	if r.Updated.IsZero() {
		return r.Created
	}
	return r.Updated
}

// id returns the id in the form of the frontmatter.
func (r *Imported) id() string {
	if id := CleanLine(r.ID); id == r.ID && len(id) <= maxSubject {
		return id
	}
	sum := sha256.Sum256([]byte(r.ID))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plainTag matches a tag that YAML and Markdown do not change.
var plainTag = lazyregexp.New(`^[\pL\pN][\pL\pN_/:.-]*$`)

const maxSlug = 60

// fileSlug returns the words of a title for the name of a file: letters and
// digits, in lower case, joined by dashes.
func fileSlug(title string) string {
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

// File returns the content of the record's file, which is private.
func (r *Imported) File(l *Layout) []byte {
	text := r.source(func(p *ImportedPart) string { return markdownPart(l, p) })
	if d := l.Parse(ImportsDir+"/a.md", text, Meta{}); d.Unsound || len(d.Problems) > 0 {
		text = r.source(quotedPart)
	}
	at := bytes.Index(text, []byte("\n---\n")) + 1
	return slices.Concat(text[:at], digestLine(text), text[at:])
}

// source returns the content of the file without its digest.
func (r *Imported) source(block func(*ImportedPart) string) []byte {
	fields := []fieldChange{{"visibility", PrivateOnly.String()}, {"source", ImportSource + r.Program},
		{importIDKey, r.id()}}
	if at := r.time(); !at.IsZero() {
		fields = append(fields, fieldChange{"created_at", Timestamp(at)})
	}
	if at := r.Changed(); !at.IsZero() {
		fields = append(fields, fieldChange{"updated_at", Timestamp(at)})
	}
	tags := slices.DeleteFunc(slices.Clone(r.Tags), func(t string) bool { return !plainTag().MatchString(t) })
	if list := tagList(tags); len(list) > 0 {
		fields = append(fields, fieldChange{"tags", list})
	}
	var b bytes.Buffer
	b.WriteString(frontText(fields, "\n"))
	level := 1 // of the outermost sections
	if title := HeadingText(CleanLine(r.Title)); title != "" && !r.Untitled {
		b.WriteString("\n# " + title + "\n")
		level = 2
	}
	var above []string
	for i := range r.Parts {
		p := &r.Parts[i]
		text := block(p)
		if text == "" {
			continue
		}
		section := p.Section
		if p.Speaker != "" {
			section, above = []string{p.Speaker}, nil
		}
		if !slices.Equal(section, above) {
			same := 0
			for same < min(len(above), len(section)-1) && above[same] == section[same] {
				same++
			}
			for n := same; n < len(section); n++ {
				fmt.Fprintf(&b, "\n%s %s\n", strings.Repeat("#", min(n+level, 6)), HeadingText(CleanLine(section[n])))
			}
			above = section
		}
		b.WriteString("\n" + text + "\n")
	}
	return b.Bytes()
}

// markdownPart returns a part as Markdown. Text with attributes that is not one
// entry becomes a quote.
func markdownPart(l *Layout, p *ImportedPart) string {
	if p.Speaker != "" {
		return quotedPart(p)
	}
	text := strings.Trim(CleanText(p.Text), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	// Text that follows must be an entry of its own.
	const next = "- next"
	parse := func(source []byte) *Document { return l.Parse(ImportsDir+"/a.md", source, Meta{}) }
	d := parse([]byte(text + "\n\n" + next + "\n"))
	last := len(d.Entries) - 1
	if last < 0 || d.Entries[last].Text != next || d.Unsound || len(d.Problems) > 0 {
		return quotedPart(p)
	}
	if p.comment() == "" {
		return text
	}
	if last != 1 || slices.ContainsFunc(p.Evidence, func(e string) bool { return strings.Contains(e, ",") }) {
		return quotedPart(p)
	}
	d = parse([]byte(text + "\n"))
	r := d.Revise()
	for _, key := range slices.Sorted(maps.Keys(p.Attributes)) {
		r.SetAttribute(0, key, p.Attributes[key])
	}
	if len(p.Evidence) > 0 {
		r.SetAttribute(0, "evidence", strings.Join(p.Evidence, ","))
	}
	source, err := r.Apply(parse)
	if err != nil {
		return quotedPart(p)
	}
	return strings.TrimRight(string(source), "\n")
}

// quotedPart returns a part as a quote. Its attributes are on the first line,
// where no text can precede them.
func quotedPart(p *ImportedPart) string {
	text := strings.Trim(CleanText(p.Text), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var b strings.Builder
	if comment := p.comment(); comment != "" {
		b.WriteString("> " + comment + "\n")
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

// comment returns the comment with the attributes of the part, or "".
func (p *ImportedPart) comment() string {
	attributes := p.Attributes
	if p.By != "" {
		attributes = map[string]string{"written_by": p.By}
	}
	return Comment(attributes, p.Evidence)
}

// digestLine returns the line with the digest of a file without that line.
func digestLine(text []byte) []byte {
	sum := sha256.Sum256(text)
	return []byte(importDigestKey + ": " + hex.EncodeToString(sum[:8]) + "\n")
}

// An ImportState is the state of the file of an imported record.
type ImportState int

// States of files.
const (
	ImportOther  ImportState = iota // not a file of the record
	ImportSame                      // contains the record
	ImportOlder                     // contains another version of the record
	ImportEdited                    // was edited since its import
)

// StateIn compares the record with a file that may contain it. File is the
// content that the record would have.
func (r *Imported) StateIn(l *Layout, source, file []byte) ImportState {
	front := l.Parse(ImportsDir+"/a.md", source, Meta{}).Front
	id, _ := front.Field(importIDKey)
	digest, _ := front.Field(importDigestKey)
	value, _ := digest.Value.(string)
	switch {
	case id.Value != r.id() || front.Source != ImportSource+r.Program:
		return ImportOther
	case bytes.Equal(source, file):
		return ImportSame
	case bytes.Contains(file, []byte("\n"+importDigestKey+": "+value+"\n")):
		return ImportEdited // by hand; the record is the same
	}
	line := []byte(importDigestKey + ": " + value + "\n")
	if bytes.Equal(digestLine(bytes.Replace(source, line, nil, 1)), line) {
		return ImportOlder
	}
	return ImportEdited
}

// CleanText converts any Markdown to Markdown that [CheckText] accepts, see
// [CleanLine], and that does not extend into the text that follows: an open fence
// is closed.
func CleanText(text string) string {
	text = strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\ufffd")
	clean := CheckText(text) == nil
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if !clean {
			content = CleanLine(line)
			line = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + content
		}
		switch mark := FenceOf(content); {
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

// FenceOf returns the fence with which a line begins, or "".
func FenceOf(line string) string {
	if n := max(runLen(line, '`'), runLen(line, '~')); n > 2 {
		return line[:n]
	}
	return ""
}
