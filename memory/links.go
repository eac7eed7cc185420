package memory

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// hasScheme reports whether s starts with a URL scheme.
func hasScheme(s string) bool { return schemeRE().MatchString(s) }

var schemeRE = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// earlierDirs returns the directories that may have contained an archived file.
func (p Place) earlierDirs() []string {
	switch {
	case p.isDailyNote():
		return []string{memoryDir + "/"}
	case p.Kind == Archive && p.Day != "":
		return []string{p.Day + "/", memoryDir + "/" + p.Day + "/"}
	}
	return nil
}

// isBelowRoot reports whether a clean path can be that of a file below the root.
func isBelowRoot(s string) bool {
	return s != ".." && !strings.HasPrefix(s, "../") && !strings.HasPrefix(s, "/") && strings.IndexByte(s, 0) < 0
}

// linkName returns the name of a link in a file of the directory dir, or "" if it
// has none. A path from the file or from the root becomes a whole path, which
// begins with a slash.
func linkName(dir, target string) string {
	whole := ""
	switch {
	case strings.HasPrefix(target, "/"):
		whole, target = "/", strings.TrimLeft(target, "/")
	case slices.Contains(strings.Split(target, "/"), "..") || strings.HasPrefix(target, "./"):
		whole, target = "/", path.Join(dir, target)
	}
	name, md := CutMarkdown(path.Clean(target))
	if !md || !isBelowRoot(name) || strings.HasSuffix("/"+name, "/") {
		return ""
	}
	return whole + Fold(name)
}

var attachmentRE = lazyregexp.New(`\.[A-Za-z][A-Za-z0-9]{1,4}$`)

// MeansNote reports whether a link means a Markdown file, not a URL, a directory or an
// attachment such as [[photo.png]].
func (l *Link) MeansNote() bool {
	_, md := CutMarkdown(l.Target)
	return l.Name != "" && (md || !attachmentRE().MatchString(l.Target))
}

// NameKey returns the part of the name of a link, or of an alias, by which an index
// finds it: the last element, folded.
func NameKey(name string) string {
	name = Fold(name)
	return name[strings.LastIndexByte(name, '/')+1:]
}

// NameKeys returns the keys by which links find a file: those of its base name and
// of its aliases. A conflict copy has none, because links mean the original.
func (d *Document) NameKeys() []string {
	if d.Place.Copy != "" {
		return nil
	}
	name, _ := CutMarkdown(d.Place.below())
	keys := []string{NameKey(name)}
	for _, alias := range d.Front.Aliases() {
		if key := NameKey(alias); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// NearestFirst sorts the paths of files with the same name as Obsidian does for a
// link in the file from: those in its directory first, then the shortest path. All
// paths are below the same root.
func NearestFirst(from string, paths []string) []string {
	far := func(p string) int {
		if path.Dir(p) == path.Dir(from) {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(paths), func(a, b string) int {
		return cmp.Or(far(a)-far(b), len(a)-len(b), strings.Compare(a, b))
	})
}

// FindNamed returns those of the paths that the name of a link in the file from
// means, best first, in the order of Obsidian: a file with exactly this path, then
// [NearestFirst]. The name is the end of each path, without its extension and
// without regard to case. All paths are below the same root.
func (l *Link) FindNamed(from string, paths []string) (found []string) {
	exact := 0
	for _, p := range NearestFirst(from, paths) {
		name, _ := CutMarkdown(p)
		name = "/" + Fold(name)
		switch {
		case l.Name == "":
		case name == "/"+strings.TrimPrefix(l.Name, "/"):
			found = slices.Insert(found, exact, p)
			exact++
		case l.Name[0] != '/' && strings.HasSuffix(name, "/"+l.Name):
			found = append(found, p)
		}
	}
	return found
}
