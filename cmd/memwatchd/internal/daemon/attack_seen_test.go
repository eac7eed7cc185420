package daemon

import (
	"maps"
	"slices"
	"strings"
)

// A reader is a caller: its subjects, and whether it may see private text.
type reader struct {
	subjects []string
	private  bool
}

// canRead reports whether a reader may see a file's public and private text.
func (a reader) canRead(f *testFile) (public, private bool) {
	if f.contested {
		return false, false
	}
	among := func(owners ...string) bool {
		return slices.ContainsFunc(owners, func(s string) bool { return slices.Contains(a.subjects, s) })
	}
	if len(f.owners) == 0 {
		return true, a.private && among(rootOwner)
	}
	return among(f.owners...), a.private && among(f.owners...)
}

// visibleFiles returns the memory as if text that the reader may not see had never been
// written. A nil reader gets all of it.
func (w *randomMemory) visibleFiles(a *reader) map[string]string {
	out := map[string]string{"_longterms/_identities.yaml": identities}
	for _, f := range w.files {
		public, private := true, true
		if a != nil {
			public, private = a.canRead(f)
		}
		if text, ok := f.renderVisible(public, private); ok {
			out[f.path] = text
		}
	}
	// A file that only makes a directory a user's is left out if nothing else
	// is in the directory.
	for _, f := range w.files {
		dir, _, _ := strings.Cut(f.path, "/")
		if f.marker && out[f.path] == "" && !slices.ContainsFunc(sortedPaths(out), func(p string) bool { return strings.HasPrefix(p, dir+"/memory/") }) {
			delete(out, f.path)
		}
	}
	return out
}

// renderVisible returns a file without the hidden text. It reports false if nothing is
// left.
func (f *testFile) renderVisible(public, private bool) (string, bool) {
	if !public {
		return "", f.marker
	}
	var b strings.Builder
	own := f.public || private
	switch {
	case own && f.front != nil:
		b.WriteString("---\n" + strings.Join(f.front, "\n") + "\n---\n")
	case !own && len(f.routing) > 0 && !f.bare:
		b.WriteString("---\n" + strings.Join(f.routing, "\n") + "\n---\n")
	}
	something := own && f.front != nil
	kept := make([]bool, len(f.chunks))
	for i := range f.chunks {
		p := &f.chunks[i]
		kept[i] = private || !p.private
		if p.level == 0 {
			continue
		}
		below := false
		for j := i + 1; j < len(f.chunks) && (!f.chunks[j].isHeading() || f.chunks[j].headingLevel() > p.level); j++ {
			below = below || f.chunks[j].entry && (private || !f.chunks[j].private)
		}
		kept[i] = below
	}
	gap := false
	for i := range f.chunks {
		p := &f.chunks[i]
		gap = gap || !p.tight
		if !kept[i] {
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.text + "\n")
		gap, something = false, true
	}
	if !something && !private {
		return "", f.marker
	}
	text := b.String()
	if f.unterminated && kept[len(kept)-1] {
		text = strings.TrimSuffix(text, "\n")
	}
	if f.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text, true
}

// isHeading reports whether a piece is a heading, as an entry or not.
func (p *chunk) isHeading() bool { return strings.HasPrefix(p.text, "#") }

func (p *chunk) headingLevel() int { return len(p.text) - len(strings.TrimLeft(p.text, "#")) }

// sortedPaths returns every path, sorted.
func sortedPaths(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }
