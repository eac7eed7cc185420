package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// An attribute is an attribute of an entry's comment. An empty value means that
// the attribute is absent.
type attribute struct{ Key, Value string }

// An attr is an attribute as parsed, with its value as written.
type attr struct {
	attribute
	raw string
}

type commentState uint8

const (
	commentPlain      commentState = iota // ordinary text
	commentAttributes                     // key=value pairs
	commentBroken                         // has no end, or is intended as attributes but does not parse
)

// attributeKeys lists the known attribute keys in the order in which they are
// written. Unknown keys are kept.
var attributeKeys = []string{"id", "type", "importance", "visibility", "confidence", "evidence", "source", "created",
	"updated", "checked", "stale_after", "pin", "supersedes", "written_by", "encoding"}

// OriginAttribute is the attribute with the digest of the text that an import wrote.
const OriginAttribute = "origin"

// parseComment parses the inside of a comment. A comment that does not parse is
// broken, not plain, if it begins with key= or mentions visibility: a typing
// error must not make hidden text public.
func parseComment(s string) ([]attr, commentState) {
	var attrs []attr
	keys := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		a, ok := parseAttr(w)
		if !ok || keys[a.Key] {
			if meantAsAttributes(strings.Fields(s)) {
				return nil, commentBroken
			}
			return nil, commentPlain
		}
		keys[a.Key] = true
		attrs = append(attrs, a)
	}
	if !keys["visibility"] && slices.ContainsFunc(attrs, func(a attr) bool { return meansPrivate(a.Value) }) {
		return nil, commentBroken
	}
	if attrs == nil {
		return nil, commentPlain
	}
	return attrs, commentAttributes
}

func parseAttr(w string) (attr, bool) {
	key, raw, ok := strings.Cut(w, "=")
	key = strings.ToLower(key)
	if !ok && key == "pin" {
		return attr{attribute{key, "true"}, "true"}, true
	}
	if !ok || !isKey(key) || !rawValue(raw) {
		return attr{}, false
	}
	value, err := url.PathUnescape(raw)
	if err != nil {
		return attr{}, false
	}
	return attr{attribute{key, value}, raw}, true
}

// rawValue reports whether a value is valid as written, which means that
// quotes, brackets and any text that could end the comment are escaped.
func rawValue(raw string) bool {
	return !strings.ContainsAny(raw, "\"'`<>") && !strings.Contains(raw, "--")
}

// isKey reports whether a text has the form of a key: lower-case letters, digits, _, . and -.
func isKey(s string) bool {
	return s != "" && strings.IndexByte("0123456789.-", s[0]) < 0 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}

// meantRE matches a comment that begins with a key, and meantVisibilityRE one that mentions
// the visibility.
var (
	meantRE           = lazyregexp.New(`^(?:[a-z_][a-z0-9_.-]*=|(?:` + strings.Join(attributeKeys, "|") + `) =)`)
	meantVisibilityRE = lazyregexp.New(`(?:^| )visibility ?[=:]`)
)

func meantAsAttributes(words []string) bool {
	text := strings.Join(words, " ")
	folded := letters.FoldCase(text)
	return meantRE().MatchString(strings.ToLower(text)) || strings.Contains(folded, "private_only") ||
		strings.Contains(folded, "visibility") && meantVisibilityRE().MatchString(folded)
}

func hasKnownKey(attrs []attr) bool {
	return slices.ContainsFunc(attrs, func(a attr) bool { return slices.Contains(attributeKeys, a.Key) })
}

func attrValue(attrs []attr, key string) (string, bool) {
	for _, a := range attrs {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// setsPrivate reports whether attributes make text private.
func setsPrivate(attrs []attr) bool {
	v, ok := attrValue(attrs, "visibility")
	return ok && ParseVisibility(v) == PrivateOnly
}

const unknownVisibility = "unknown visibility, treated as private_only; use public_ok or private_only"

// applyAttributes copies attributes to an entry. It ignores the visibility, which
// [docParser.entryVisibility] decides.
func (p *docParser) applyAttributes(e *Entry, attrs []attr) {
	bad := func(code, format string, args ...any) { p.addProblem(code, e.Line, fmt.Sprintf(format, args...)) }
	if e.Attributes == nil {
		e.Attributes = make(map[string]string, len(attrs))
	}
	for _, a := range attrs {
		e.Attributes[a.Key] = a.Value
		switch a.Key {
		case "id":
			if a.Value == "" || strings.ContainsFunc(a.Value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
				bad("id_unusable", "invalid id (empty, or with spaces or control characters), ignored")
			} else {
				e.ID, e.Given = a.Value, true
			}
		case "type":
			if slices.Contains(EntryTypes, a.Value) {
				e.Type = a.Value
			} else {
				bad("type_unknown", "unknown type, ignored; use one of %s", strings.Join(EntryTypes, ", "))
			}
		case "importance", "confidence":
			switch f, err := strconv.ParseFloat(a.Value, 64); {
			case err != nil || !(f >= 0 && f <= 1):
				bad(a.Key+"_unreadable", "%s is not a number from 0 to 1, ignored", a.Key)
			case a.Key == "importance":
				e.Importance = f
			default:
				e.Confidence, e.HasConfidence = f, true
			}
		case "visibility":
			if a.Value != PublicOK.String() && a.Value != PrivateOnly.String() {
				bad("visibility_unknown", unknownVisibility)
			}
		case "checked":
			if _, err := time.Parse(time.DateOnly, a.Value); err != nil {
				bad("checked_unreadable", "checked is not a day such as 2026-02-05, ignored")
			}
		case "stale_after":
			if lastFreshDay(a.Value, "2026-02-05") == "" {
				bad("stale_after_unreadable", "stale_after is not a day, or a number of days such as 90d, ignored")
			}
		case "evidence":
			for raw := range strings.SplitSeq(a.raw, ",") {
				if v, err := url.PathUnescape(raw); err == nil && v != "" {
					e.Evidence = append(e.Evidence, v)
				}
			}
		case "source":
			e.Source = a.Value
		case "written_by":
			e.By = a.Value
		case "supersedes":
			e.Supersedes = a.Value
		case "pin":
			e.Pin = slices.Contains([]string{"true", "yes", "on", "1", "y"}, strings.ToLower(a.Value))
		}
	}
}

// UncheckedSince returns the day on which an entry was last known to be true, if
// its attribute stale_after lies before today, else "". That attribute is a day, or
// a number of days ("90d") after the attribute checked or, without it, after the
// day of the entry or of the file. Days have the form 2026-02-05.
func (d *Document) UncheckedSince(e *Entry, today string) string {
	day := cmp.Or(e.Added, d.Place.Day)
	if checked, err := time.Parse(time.DateOnly, e.Attributes["checked"]); err == nil {
		day = checked.Format(time.DateOnly)
	}
	last := lastFreshDay(e.Attributes["stale_after"], day)
	if last == "" || last >= today {
		return ""
	}
	return cmp.Or(day, last)
}

// lastFreshDay returns the day of an attribute stale_after, counted from a day if
// it is a number of days. It returns "" if either is unreadable.
func lastFreshDay(value, day string) string {
	if _, err := time.Parse(time.DateOnly, value); err == nil {
		return value
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(value, "d"), 10, 16)
	from, dayErr := time.Parse(time.DateOnly, day)
	if err != nil || dayErr != nil {
		return ""
	}
	return from.AddDate(0, 0, int(n)).Format(time.DateOnly)
}

// Comment returns the HTML comment that gives attributes to the entry it
// follows. Known attributes come first, in a fixed order, then the others
// sorted by name. Attributes with an empty value are omitted. Each element of
// evidence is encoded separately, and the list replaces any attribute
// "evidence" in the map.
func commentOf(attributes map[string]string, evidence []string) string {
	pieces := make([]string, len(evidence))
	for i, e := range evidence {
		pieces[i] = strings.ReplaceAll(encodeValue(e), ",", "%2C")
	}
	keys := slices.Concat(attributeKeys, slices.Sorted(maps.Keys(attributes)))
	var b strings.Builder
	for i, key := range keys {
		value := encodeValue(attributes[key])
		if key == "evidence" {
			value = strings.Join(pieces, ",")
		}
		if value != "" && slices.Index(keys, key) == i {
			b.WriteString(" " + key + "=" + value)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<!--" + b.String() + " -->"
}

// newComment returns a comment with attributes, empty if none has a value.
func newComment(attrs []attribute) string { return string(editComment([]byte("<!-- -->"), attrs)) }

// editComment sets attributes of a comment and removes those with an empty
// value. It returns nil if no attribute is left.
func editComment(comment []byte, attrs []attribute) []byte {
	inner := comment[len(commentOpen) : len(comment)-len(commentClose)]
	for _, a := range attrs {
		inner = editWord(inner, a)
	}
	if isBlankText(inner) {
		return nil
	}
	return slices.Concat(commentOpen, inner, commentClose)
}

// editWord sets or removes one attribute inside a comment. A new attribute goes
// after the last one.
func editWord(inner []byte, a attribute) []byte {
	words := wordRE().FindAllIndex(inner, -1)
	at := slices.IndexFunc(words, func(w []int) bool {
		key, _, _ := strings.Cut(string(inner[w[0]:w[1]]), "=")
		return strings.ToLower(key) == a.Key
	})
	pair := a.Key + "=" + encodeValue(a.Value)
	switch {
	case at < 0 && a.Value == "":
		return inner
	case at < 0 && len(words) == 0:
		return []byte(" " + pair + " ")
	case at < 0:
		end := words[len(words)-1][1]
		return slices.Concat(inner[:end], []byte(" "+pair), inner[end:])
	}
	start, end := words[at][0], words[at][1]
	switch {
	case a.Value != "":
		key, _, _ := bytes.Cut(inner[start:end], []byte("=")) // keeps its case
		return slices.Concat(inner[:start], key, []byte("="+encodeValue(a.Value)), inner[end:])
	case at > 0:
		start = words[at-1][1]
	case len(words) > 1:
		end = words[1][0]
	}
	return slices.Concat(inner[:start], inner[end:])
}

// wordRE matches a word, separated from others by white space.
var wordRE = lazyregexp.New(`[^\s\v\x{85}\pZ]+`)

// encodeValue encodes an attribute's value. It percent-encodes characters that
// would end the word or the comment. Commas stay, because they separate the
// parts of a list.
func encodeValue(s string) string { return encodedRE().ReplaceAllStringFunc(s, encodePercent) }

var encodedRE = lazyregexp.New("[\"'`<>%\\x{fffd}]|[^\\pL\\pM\\pN\\pP\\pS]|--+|-$")

// encodePercent percent-encodes all bytes of a text.
func encodePercent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

var (
	commentOpen  = []byte("<!--")
	commentClose = []byte("-->")
)

// EntryTypes contains the types of entries.
var EntryTypes = []string{"fact", "preference", "project", "decision", "crumb", "request", "result"}
