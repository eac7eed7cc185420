package memory

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An Attribute is an attribute of an entry's comment. An empty value means that
// the attribute is absent.
type Attribute struct{ Key, Value string }

// An attr is an attribute as parsed, with its value as written.
type attr struct {
	Attribute
	raw string
}

type commentState uint8

const (
	commentPlain      commentState = iota // ordinary text
	commentAttributes                     // key=value pairs
	commentBroken                         // intended as attributes, but does not parse
	commentUnclosed                       // has no end, so a rendered page hides the text that follows
)

// attributeKeys lists the known attribute keys in the order in which they are
// written. Unknown keys are kept.
var attributeKeys = []string{"id", "type", "importance", "visibility", "confidence", "evidence", "source", "created",
	"updated", "pin", "supersedes", "written_by", "encoding"}

// parseComment parses the inside of a comment. A comment that does not parse is
// broken, not plain, if it begins with key= or mentions visibility: a typing
// error must not make hidden text public.
func parseComment(s string) ([]attr, commentState) {
	var attrs []attr
	var keys map[string]bool
	for w := range strings.FieldsSeq(s) {
		a, ok := parseAttr(w)
		if !ok || keys[a.Key] {
			if meantAsAttributes(strings.Fields(s)) {
				return nil, commentBroken
			}
			return nil, commentPlain
		}
		if attrs == nil {
			attrs, keys = make([]attr, 0, strings.Count(s, "=")+1), make(map[string]bool)
		}
		keys[a.Key] = true
		attrs = append(attrs, a)
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
		return attr{Attribute{key, "true"}, "true"}, true
	}
	if !ok || !isKey(key) || !rawValue(raw) {
		return attr{}, false
	}
	value, err := url.PathUnescape(raw)
	if err != nil {
		return attr{}, false
	}
	return attr{Attribute{key, value}, raw}, true
}

// rawValue reports whether a value is valid as written, which means that
// quotes, brackets and any text that could end the comment are escaped.
func rawValue(raw string) bool {
	return !strings.ContainsAny(raw, "\"'`<>") && !strings.Contains(raw, "--")
}

func isKey(s string) bool { return keyRE.MatchString(s) }

var keyRE = regexp.MustCompile(`^[a-z_][a-z0-9_.-]*$`)

func meantAsAttributes(words []string) bool {
	key, _, pair := strings.Cut(words[0], "=")
	if pair && isKey(strings.ToLower(key)) {
		return true
	}
	if len(words) > 1 && words[1][0] == '=' && slices.Contains(attributeKeys, strings.ToLower(words[0])) {
		return true
	}
	for i, w := range words {
		w = strings.ToLower(w)
		if w == "private_only" || strings.HasPrefix(w, "visibility=") || strings.HasPrefix(w, "visibility:") ||
			w == "visibility" && i+1 < len(words) && (words[i+1][0] == '=' || words[i+1][0] == ':') {
			return true
		}
	}
	return false
}

// unclosedComment returns commentBroken if a comment without an end was
// intended as attributes, else commentPlain.
func unclosedComment(b []byte) commentState {
	words := strings.Fields(string(b[:min(len(b), 200)]))
	if len(words) > 0 && meantAsAttributes(words) {
		return commentBroken
	}
	return commentPlain
}

// hasKnownKey reports whether any attribute has a known key.
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

// applyAttributes copies attributes to the entry and returns the problems
// found. It ignores the visibility, which [docParser.entryVisibility] decides.
func (e *Entry) applyAttributes(attrs []attr) (problems []Problem) {
	bad := func(code, format string, args ...any) {
		problems = append(problems, Problem{code, e.Line, fmt.Sprintf(format, args...)})
	}
	if e.Attributes == nil {
		e.Attributes = make(map[string]string, len(attrs))
	}
	for _, a := range attrs {
		e.Attributes[a.Key] = a.Value
		switch a.Key {
		case "id":
			if a.Value == "" || strings.ContainsFunc(a.Value, notInID) {
				bad("id_unusable", "invalid id (empty, or with spaces or control characters), ignored")
			} else {
				e.ID, e.Given = a.Value, true
			}
		case "type":
			if slices.Contains(entryTypes, a.Value) {
				e.Type = a.Value
			} else {
				bad("type_unknown", "unknown type, ignored; use one of %s", strings.Join(entryTypes, ", "))
			}
		case "importance":
			if f, ok := parseFraction(a.Value); ok {
				e.Importance = f
			} else {
				bad("importance_unreadable", "importance is not a number from 0 to 1, ignored")
			}
		case "confidence":
			if f, ok := parseFraction(a.Value); ok {
				e.Confidence, e.HasConfidence = f, true
			} else {
				bad("confidence_unreadable", "confidence is not a number from 0 to 1, ignored")
			}
		case "visibility":
			if a.Value != PublicOK.String() && a.Value != PrivateOnly.String() {
				bad("visibility_unknown",
					"unknown visibility, treated as private_only; use public_ok or private_only")
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
			e.Pin = isTrueWord(a.Value)
		}
	}
	return problems
}

func notInID(r rune) bool { return r <= ' ' || r == 0x7f }

func parseFraction(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 0 && f <= 1
}
