package share

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/importer"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// DefaultOwner is the subject of a memory without a configured owner. The owners
// of several machines have it, so their entries are not those of one person, and
// none are shared.
const DefaultOwner = "owner"

// TenantOf returns the tenant of a subject's entries with a visibility. The
// subject is empty for public text without a subject.
func TenantOf(subject string, v memory.Visibility) string {
	sum := sha256.Sum256([]byte(subject + "\x00" + v.String()))
	return hex.EncodeToString(sum[:20])
}

// namespace is the UUID of the names from which ids are derived.
var namespace = [16]byte{0x6d, 0x65, 0x6d, 0x77, 0x61, 0x74, 0x43, 0x68, 0xa4, 0x64, 0x73, 0x68, 0x61, 0x72, 0x65, 0x64}

// idOf returns the id of an entry in the store, a UUID of version 5.
func idOf(host, tenant, memoryID string) string {
	h := sha1.New()
	h.Write(namespace[:])
	fmt.Fprintf(h, "%s\n%s\n%s", host, tenant, memoryID)
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// Rules decide which entries of a machine are published, and how.
type Rules struct {
	Host    string
	Publish []string                  // patterns of paths
	Private bool                      // private entries too
	Subject func(owner string) string // subject of an owner key; entries of one that begins with ? are not published
	Terms   func(text string) string  // analyzed terms, separated by spaces
}

// maxObject bounds an object in JSON, in bytes.
const maxObject = 4 << 20

// A Published is the result of the rules for a file.
type Published struct {
	Objects  []Object
	Withheld int // entries with a credential, or of more than maxObject bytes
}

// mayPublish reports whether entries of the file at a path may be published. A
// colon in the first part of a path separates the name of another place, such as
// an extra root or a machine, from a path there.
func (r *Rules) mayPublish(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return !strings.Contains(top, ":") &&
		slices.ContainsFunc(r.Publish, func(pattern string) bool { return index.MatchPath(pattern, path) })
}

// apply returns the objects of a document. A file with <private> tags is never published.
func (r *Rules) apply(doc *memory.Document) (p Published) {
	v := doc.Partition.Visibility
	if !r.mayPublish(doc.Place.Path) || doc.Place.Kind == memory.Archive || doc.Place.Copy != "" ||
		v != memory.PublicOK && (!r.Private || doc.InPrivate()) {
		return p
	}
	subject := r.Subject(doc.Partition.Owner)
	if subject == DefaultOwner || strings.HasPrefix(subject, "?") || subject == "" && v != memory.PublicOK {
		return p
	}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Block == memory.EmptyHeading {
			continue
		}
		o, size := r.encodeEntry(doc, e, subject)
		if size > maxObject-maxFrame || e.Masked || o.hasCredential() {
			p.Withheld++
			continue
		}
		p.Objects = append(p.Objects, o)
	}
	return p
}

// maxFrame exceeds the bytes of an object in JSON beside its properties.
const maxFrame = 1 << 10

// encodeEntry returns an entry as an object, and the size of its properties in JSON.
func (r *Rules) encodeEntry(doc *memory.Document, e *memory.Entry, subject string) (o Object, size int) {
	session := cmp.Or(doc.Front.SessionID, doc.Place.Session)
	line := importer.LineOf(importer.EntryOf(doc, e, subject, session))
	tenant := TenantOf(subject, e.Partition.Visibility)
	more := record{
		Payload: line.Payload, Host: r.Host, Line: e.Line, Analysis: index.Analysis,
		Terms:      r.Terms(strings.Join(slices.Concat([]string{e.Text}, e.Tags, e.Sections), "\n")),
		TitleTerms: r.Terms(e.Title),
	}
	if day, err := time.Parse(time.DateOnly, e.Added); err == nil {
		more.Created = day
	}
	o = Object{Collection: line.RecordType, Tenant: tenant, ID: idOf(r.Host, tenant, more.ID),
		Properties: more.properties(line.RecordType)}
	text, _ := json.Marshal(o.Properties) // strings and numbers have an encoding
	sum := sha256.Sum256(text)
	o.Properties["hash"], o.Properties["gone"] = hex.EncodeToString(sum[:20]), false
	return o, len(text)
}

// A record contains the properties of an object.
type record struct {
	importer.Payload
	Host       string    `json:"host"`
	Line       int       `json:"line,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	Hash       string    `json:"hash,omitempty"`
	Rev        int64     `json:"rev,omitempty"`
	Gone       bool      `json:"gone,omitempty"`
	Terms      string    `json:"terms,omitempty"`
	TitleTerms string    `json:"title_terms,omitempty"`
	Analysis   int       `json:"analysis,omitempty"`
}

// maxLineNumber bounds the number of a line, far above those of files that are read.
const maxLineNumber = 1 << 30

// check returns an error if no file of a machine has such an entry.
func (r *record) check(now time.Time) error {
	if err := checkLines(reflect.ValueOf(r).Elem()); err != nil {
		return err
	}
	hash := strings.LastIndexByte(r.ID, '#')
	if hash < 0 || !fs.ValidPath(r.ID[:hash]) {
		return fmt.Errorf("%q is not the id of an entry", r.ID)
	}
	tomorrow := now.AddDate(0, 0, 1)
	switch {
	case r.Day != "" && (!memory.IsDay(r.Day) || r.Day > tomorrow.AddDate(0, 0, 1).Format(time.DateOnly)):
		return fmt.Errorf("%q is not a day in the past", r.Day)
	case r.Updated.After(tomorrow), r.Created.After(tomorrow):
		return errors.New("time in the future")
	case r.Line < 0 || r.Line > maxLineNumber:
		return fmt.Errorf("line %d", r.Line)
	}
	return nil
}

// freeText are the fields of a record that may have several lines and any characters: the text,
// and the terms, which are not shown.
var freeText = []string{"Content", "Terms", "TitleTerms"}

// checkLines returns an error if a string in a value, other than free text, is not one
// line of visible characters.
func checkLines(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return checkLine(v.String())
	case reflect.Pointer:
		return checkLines(v.Elem()) // of nil, the zero Value
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkLines(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() || slices.Contains(freeText, f.Name) {
				continue
			}
			if err := checkLines(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *record) properties(collection string) map[string]any {
	var all map[string]any
	text, _ := json.Marshal(r) // strings, numbers and times have an encoding
	json.Unmarshal(text, &all)
	i := slices.IndexFunc(Collections, func(c Collection) bool { return c.Name == collection })
	out := make(map[string]any)
	for _, p := range Collections[i].Properties {
		if v, ok := all[p.Name]; ok {
			out[p.Name] = v
		}
	}
	return out
}

// hasCredential reports whether a property contains a credential or a redaction.
func (o *Object) hasCredential() bool {
	for name, value := range o.Properties {
		texts, isList := value.([]any)
		if !isList {
			texts = []any{value}
		}
		for _, v := range texts {
			s, ok := v.(string)
			if ok && name != "hash" && !strings.HasSuffix(name, "terms") && secrets.MatchingRule(s) != "" {
				return true
			}
		}
	}
	return false
}

func (o *Object) text(name string) string { s, _ := o.Properties[name].(string); return s }

// rev returns the revision of the object, or 0.
func (o *Object) rev() int64 {
	switch n := o.Properties["rev"].(type) {
	case float64:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// checkLine returns an error if a text is not one line of visible characters.
func checkLine(text string) error {
	if !utf8.ValidString(text) || len(text) > maxLineText || strings.ContainsAny(text, "\r\n\t") {
		return errors.New("text is not one short line")
	}
	return memory.CheckValue(text)
}

// maxLineText bounds the bytes of a line for [checkLine].
const maxLineText = 4 << 10
