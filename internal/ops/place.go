package ops

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// A readTarget is what a place in a request stands for: an entry if id is set, else a file or
// some of its lines.
type readTarget struct {
	path, id    string
	from, lines int // 0 without a line
}

// findTarget returns the target of a place in any form that answers show: the path of a
// file, also with lines; path#id; the explicit id of an entry; or the name of only one
// readable file, without directory or extension. Other places are an error with similar
// names.
func (m readOps) findTarget(ctx context.Context, c Call, place string) (readTarget, error) {
	if file, ok := m.findFile(c, place); ok {
		return readTarget{path: file}, nil
	}
	if strings.Contains(place, "#") {
		return readTarget{id: place}, nil
	}
	name, from, to := api.CutLines(place)
	if from == 0 {
		refs, err := m.Index.ByID(ctx, c.View, place)
		if err != nil {
			return readTarget{}, err
		}
		if len(refs) > 0 {
			return readTarget{id: place}, nil
		}
	}
	file, ok := m.findFile(c, name)
	if !ok {
		similar := m.similarFiles(c, name)
		if len(similar) != 1 || fileName(similar[0]) != fileName(name) || strings.Contains(name, "/") {
			missing := notFound("file", place)
			if len(similar) > 0 {
				missing.WithHint("similar: %s", strings.Join(similar, ", "))
			}
			return readTarget{}, missing
		}
		file = similar[0]
	}
	t := readTarget{path: file, from: from}
	if to > 0 {
		t.lines = to - from + 1
	}
	return t, nil
}

// findFile returns the path of a readable file, or of its archived copy.
func (m readOps) findFile(c Call, file string) (string, bool) {
	if _, _, err := m.loadFile(c, file); err == nil {
		return file, true
	}
	archived := m.archivedFile(c, file)
	return archived, archived != ""
}

// maxSimilar bounds the files that an error suggests.
const maxSimilar = 5

// similarFiles returns the readable files whose names are most similar to that of file:
// the files of this name, else those of a directory of this name, those with a name that
// contains it, or those with the nearest name.
func (m readOps) similarFiles(c Call, file string) []string {
	name := fileName(file)
	if name == "" {
		return nil
	}
	var paths, names []string
	m.Index.Files(func(f *index.FileInfo) bool {
		if f.Readable(c.View) && f.Kind != memory.Archive {
			paths, names = append(paths, f.Path), append(names, fileName(f.Path))
		}
		return false
	})
	near := ""
	for _, matches := range []func(i int) bool{
		func(i int) bool { return names[i] == name },
		func(i int) bool { return strings.HasPrefix(strings.ToLower(paths[i]), name+"/") },
		func(i int) bool { return strings.Contains(names[i], name) },
		func(i int) bool {
			near = cmp.Or(near, api.NearestName(name, names))
			return names[i] == near
		},
	} {
		var found []string
		for i, p := range paths {
			if matches(i) {
				found = append(found, p)
			}
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		found = slices.DeleteFunc(found, func(p string) bool {
			_, _, err := m.loadFile(c, p)
			return err != nil
		})
		if len(found) > 0 {
			return found[:min(len(found), maxSimilar)]
		}
	}
	return nil
}

// fileName returns the name of a file in lower case, without directory and extension.
func fileName(file string) string {
	base := strings.ToLower(path.Base(file))
	if i := strings.LastIndexByte(base, ':'); i >= 0 && strings.Trim(base[i:], ":-0123456789") == "" {
		base = base[:i] // of lines that the file does not have
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, ".md"), ".markdown")
}
