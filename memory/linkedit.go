package memory

import (
	"bytes"
	"fmt"
	"maps"

	"gopkg.in/yaml.v3"
)

// The file of links is a person's: a link is added or taken away in lines of its
// own, and every other byte stays.

// LinkKey adds a link to the source of the file of links. A key that is linked
// already, to whomever, is an error, and so is a file that makes no sense.
func LinkKey(src []byte, key, subject string) ([]byte, error) {
	ids, err := ParseIdentities(src)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(ids.links)
	if _, ok := want[key]; ok {
		return nil, fmt.Errorf("%s is linked already", key)
	}
	if err := (&Identities{links: want, aliases: map[string][]string{}}).link(key, subject, "!!str"); err != nil {
		return nil, err
	}
	keys, links, err := linkNodes(src)
	if err != nil {
		return nil, err
	}
	ln := splitLines(unixText(src))
	after, indent, line := ln.count(), 2, 0 // below which line, and how far in
	switch {
	case keys == nil:
	case len(links.Content) > 0:
		last := links.Content[len(links.Content)-1]
		after, indent, line = last.Line, links.Content[0].Column-1, last.Line
	default:
		after, line = keys.Line, keys.Line
	}
	end := []byte("\n")
	if n := min(after, ln.count()); n > 0 {
		s := ln.span(n, n)
		if e := src[s.Start+len(trimEnding(src[s.Start:s.End])) : s.End]; len(e) > 0 {
			end = e
		}
	}
	for _, quote := range []byte{0, '"'} {
		var text []byte
		if keys == nil {
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
		next, err := Splice(src, []Edit{{Span{at, at}, text}})
		if err != nil {
			return nil, err
		}
		if now, err := ParseIdentities(next); err == nil && maps.Equal(now.links, want) {
			return next, nil
		}
	}
	return nil, fmt.Errorf("%s line %d: write each link in a line of its own below links, or add this one by hand", IdentitiesPath, max(line, 1))
}

// UnlinkKey takes a link out of the source of the file of links. A key that is
// not linked is an error, and so is a file that makes no sense.
func UnlinkKey(src []byte, key string) ([]byte, error) {
	ids, err := ParseIdentities(src)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(ids.links)
	if _, ok := want[key]; !ok {
		return nil, fmt.Errorf("%s is not linked", key)
	}
	delete(want, key)
	_, links, err := linkNodes(src)
	if err != nil {
		return nil, err
	}
	ln, line := splitLines(unixText(src)), 0
	for i := 0; i < len(links.Content); i += 2 {
		if links.Content[i].Value != key {
			continue
		}
		if line = links.Content[i].Line; links.Style&yaml.FlowStyle != 0 {
			break
		}
		next, err := Splice(src, []Edit{{ln.span(line, links.Content[i+1].Line), nil}})
		if err != nil {
			return nil, err
		}
		if now, err := ParseIdentities(next); err == nil && maps.Equal(now.links, want) {
			return next, nil
		}
	}
	return nil, fmt.Errorf("%s line %d: write the link in a line of its own, or remove it by hand", IdentitiesPath, line)
}

// linkNodes are the key links of a sound file, nil if there is none, and what is
// below it.
func linkNodes(src []byte) (key, links *yaml.Node, err error) {
	root, err := yamlMapping(src, maxIdentities, 1)
	if err != nil || len(root.Content) == 0 {
		return nil, &yaml.Node{}, err
	}
	return root.Content[0], root.Content[1], nil
}
