package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// IdentitiesPath is the path of the file that links external keys to subjects.
const IdentitiesPath = longtermsDir + "/_identities.yaml"

const maxIdentities = 1 << 20 // bytes; some twenty thousand links

// Identities maps external keys, such as telegram:123456, to subjects. The zero
// value is empty. Identities are immutable and safe for concurrent use.
type Identities struct {
	links   map[string]string   // external key → subject
	aliases map[string][]string // subject → ext: subjects, sorted
}

// ExternalSubject returns the subject of an external key without a link.
func ExternalSubject(key string) string { return "ext:" + key }

// ParseIdentities parses the file of links:
//
//	links:
//	  telegram:123456: acct:42
//
// Parsing is strict, because a link opens one subject's memory to another key:
// for any defect, ParseIdentities returns nil and an error with the line
// number.
func ParseIdentities(src []byte) (*Identities, error) {
	ids, _, _, err := parseLinks(src)
	return ids, err
}

// parseLinks parses the file of links. It also returns the node of the key
// "links", nil if there is none, and the node of its value.
func parseLinks(src []byte) (ids *Identities, key, links *yaml.Node, err error) {
	fail := func(err error) (*Identities, *yaml.Node, *yaml.Node, error) {
		return nil, nil, nil, fmt.Errorf("%s line %d: %w", IdentitiesPath, errorLine(err), err)
	}
	root, err := yamlMapping(src, maxIdentities, 1)
	if err != nil {
		return fail(err)
	}
	ids, links = &Identities{links: map[string]string{}, aliases: map[string][]string{}}, &yaml.Node{}
	for i := 0; i < len(root.Content); i += 2 {
		key, links = root.Content[i], root.Content[i+1]
		if key.Value != "links" {
			return fail(&lineError{key.Line, fmt.Sprintf("unknown key %q; the only key is links", key.Value)})
		}
		if links.Tag != "!!map" && links.Tag != "!!null" {
			return fail(&lineError{links.Line, "links is not a mapping of key: subject lines"})
		}
		for j := 0; j < len(links.Content); j += 2 {
			k, v := links.Content[j], links.Content[j+1]
			if err := ids.addLink(k.Value, v.Value, v.Tag); err != nil {
				return fail(&lineError{k.Line, err.Error()})
			}
		}
	}
	for _, a := range ids.aliases {
		slices.Sort(a)
	}
	return ids, key, links, nil
}

func (ids *Identities) addLink(key, subject, tag string) error {
	if err := ValidExternalKey(key); err != nil {
		return err
	}
	if tag != "!!str" {
		return errors.New("subject is not text; quote the subject")
	}
	if err := ValidSubject(subject); err != nil {
		return err
	}
	if strings.HasPrefix(subject, "ext:") {
		return errors.New("cannot link a key to the subject of another key")
	}
	ids.links[key] = subject
	ids.aliases[subject] = append(ids.aliases[subject], ExternalSubject(key))
	return nil
}

// ValidExternalKey returns an error if s cannot be an external key, which
// consists of a channel, a colon and the channel's name for the user.
func ValidExternalKey(s string) error {
	channel, user, _ := strings.Cut(s, ":")
	if channel == "" || user == "" {
		return errors.New("external key does not have the form channel:user")
	}
	if s != strings.TrimSpace(s) {
		return errors.New("external key begins or ends with a space") // it would be another user
	}
	if err := ValidSubject(ExternalSubject(s)); err != nil {
		return fmt.Errorf("external key: %w", err)
	}
	return nil
}

// Resolve returns the subject of an external key, and the other subjects whose
// memory is read with it. A key without a link has a subject of its own (see
// [ExternalSubject]). For an empty key the subject is empty, which means an
// anonymous caller.
func (ids *Identities) Resolve(externalKey string) (subject string, aliases []string) {
	if externalKey == "" {
		return "", nil
	}
	if subject := ids.Linked(externalKey); subject != "" {
		return subject, ids.AliasesOf(subject)
	}
	return ExternalSubject(externalKey), nil
}

// AliasesOf returns the subjects of the keys linked to a subject, sorted, or
// nil if there are none.
func (ids *Identities) AliasesOf(subject string) []string {
	if ids == nil {
		return nil
	}
	return slices.Clone(ids.aliases[subject])
}

// Linked returns the subject that an external key is linked to, or an empty
// string.
func (ids *Identities) Linked(key string) string {
	if ids == nil {
		return ""
	}
	return ids.links[key]
}

// A LinkedKey is one link.
type LinkedKey struct{ Key, Subject string }

// Links returns all links, sorted by key.
func (ids *Identities) Links() []LinkedKey {
	if ids == nil {
		return nil
	}
	out := make([]LinkedKey, 0, len(ids.links))
	for _, key := range slices.Sorted(maps.Keys(ids.links)) {
		out = append(out, LinkedKey{key, ids.links[key]})
	}
	return out
}

// Users edit the file of links by hand. So LinkKey and UnlinkKey change only
// the lines of one link and keep every other byte.

// LinkKey returns the source of the file of links with a link added. It fails
// if the key is already linked, to any subject, or if the file is invalid.
func LinkKey(src []byte, key, subject string) ([]byte, error) {
	ids, node, links, err := parseLinks(src)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(ids.links)
	if _, ok := want[key]; ok {
		return nil, fmt.Errorf("%s is already linked", key)
	}
	if err := (&Identities{links: want, aliases: map[string][]string{}}).addLink(key, subject, "!!str"); err != nil {
		return nil, err
	}
	ln := splitLines(unixText(src))
	after, indent, line := ln.count(), 2, 0 // insert below line after, indented by indent
	switch {
	case node == nil:
	case len(links.Content) > 0:
		last := links.Content[len(links.Content)-1]
		after, indent, line = last.Line, links.Content[0].Column-1, last.Line
	default:
		after, line = node.Line, node.Line
	}
	end := ln.ending(src, after)
	for _, quote := range []byte{0, '"'} {
		var text []byte
		if node == nil {
			text = append([]byte("links:"), end...)
		}
		text = append(text, bytes.Repeat([]byte(" "), indent)...)
		text = append(append(text, yamlScalar(key, quote)+": "+yamlScalar(subject, quote)...), end...)
		at := len(src)
		if after < ln.count() {
			at = ln.start(after + 1)
		} else if at > 0 && len(trimEnding(src)) == at && !bytes.Equal(src, bom) {
			text = append(bytes.Clone(end), bytes.TrimSuffix(text, end)...)
		}
		if next, ok := editLinks(src, Edit{Span{at, at}, text}, want); ok {
			return next, nil
		}
	}
	return nil, fmt.Errorf("%s line %d: write each link on a line of its own below links, or add the new link by hand",
		IdentitiesPath, max(line, 1))
}

// UnlinkKey returns the source of the file of links without a link. It fails if
// the key is not linked or if the file is invalid.
func UnlinkKey(src []byte, key string) ([]byte, error) {
	ids, _, links, err := parseLinks(src)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(ids.links)
	if _, ok := want[key]; !ok {
		return nil, fmt.Errorf("%s is not linked", key)
	}
	delete(want, key)
	ln, line := splitLines(unixText(src)), 0
	for i := 0; i < len(links.Content); i += 2 {
		if links.Content[i].Value != key {
			continue
		}
		line = links.Content[i].Line
		if links.Style&yaml.FlowStyle != 0 {
			break
		}
		if next, ok := editLinks(src, Edit{ln.span(line, links.Content[i+1].Line), nil}, want); ok {
			return next, nil
		}
	}
	return nil, fmt.Errorf("%s line %d: write the link on a line of its own, or remove the link "+
		"by hand", IdentitiesPath,
		line)
}

// editLinks applies an edit to the file of links and reports whether the result
// has exactly the wanted links.
func editLinks(src []byte, edit Edit, want map[string]string) ([]byte, bool) {
	next, err := Splice(src, []Edit{edit})
	if err != nil {
		return nil, false
	}
	ids, err := ParseIdentities(next)
	return next, err == nil && maps.Equal(ids.links, want)
}
