package ops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) get(ctx context.Context, c Call, r *api.GetRequest) (*api.GetAnswer, error) {
	c, at, err := m.namedTarget(ctx, c, r.Path, r.ID)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.NotFound && r.ID != "" && m.Shared != nil {
		return m.getShared(ctx, c, r.ID, err)
	}
	if err != nil {
		return nil, err
	}
	doc, shown, e, path := at.doc, at.doc.Shown(c.View), at.entry, at.doc.Place.Path
	from, lines := r.From, r.Lines
	if from == 1 && lines == 0 && at.from > 0 {
		from, lines = at.from, at.lines
	}
	plain, untrusted := "", false
	switch {
	case e != nil && r.From > 1:
		return nil, api.Errorf(api.Invalid, "from: no effect on an entry").WithHint("omit `from`, or name the file")
	case e != nil && r.Lines > 0:
		return nil, api.Errorf(api.Invalid, "lines: no effect on an entry").WithHint("omit `lines`, or name the file")
	case e != nil:
		from = e.Line
		lines = e.EndLine - from + 1
		plain, untrusted = e.Content(), e.Author().Untrusted(c.View)
		if doc.Place.Kind == memory.Longterm {
			plain = e.Remembered()
		}
		defer m.recordUse(path + "#" + e.ID)
	case r.Plain:
		return nil, api.Errorf(api.Invalid, "plain: %s is a file", path).WithHint("add #id to select an entry")
	}
	total := len(shown.Lines)
	if from > max(total, 1) { // an empty file is read from its first line too
		return nil, api.Errorf(api.Invalid, "from: %s has %d lines", path, total)
	}
	to := total
	if lines > 0 && lines < total-from+1 {
		to = from + lines - 1
	}
	answer := &api.GetAnswer{
		Path: path, From: from, To: to, TotalLines: total,
		Text: memory.Shown{Lines: shown.Lines[from-1 : to]}.Text(),
		Hash: hashOf(doc), Untrusted: untrusted,
		Stale: doc.Stale,
		Index: m.indexState(c),
	}
	if e == nil {
		for _, lines := range doc.UntrustedLines(c.View) {
			if lines[0] <= to && from <= lines[1] {
				answer.UntrustedLines = append(answer.UntrustedLines, [2]int{max(lines[0], from), min(lines[1], to)})
			}
		}
	}
	if r.Plain {
		answer.Text = plain + "\n"
	}
	answer.Frontmatter = readableFrontmatter(c, doc)
	return answer, nil
}

// readableFrontmatter returns the frontmatter of a file, or nil if it is empty or the
// caller may not read it.
func readableFrontmatter(c Call, doc *memory.Document) map[string]any {
	if !c.View.Readable(doc.Partition) || len(doc.Front.Fields) == 0 {
		return nil
	}
	front := map[string]any{}
	tasks, followUps := doc.Progress()
	for _, f := range doc.Front.Fields {
		front[f.Key] = f.Value
		switch f.Key {
		case "tasks": // the stored counters may be out of date
			front[f.Key] = tasks.String()
		case "follow_ups":
			front[f.Key] = followUps.String()
		}
	}
	return front
}

// hashOf returns the hash by which a caller can detect changes of a file.
// Callers that may read the whole file get the hash of its bytes, others the
// hash of the shown text, which does not depend on hidden text. If the text
// shows a mask, the hash is empty, so that no caller can write the mask back to
// the file.
func hashOf(doc *memory.Document) string {
	if doc.Masked() {
		return ""
	}
	sum := sha256.Sum256(doc.Source)
	return hex.EncodeToString(sum[:])
}

// findEntry finds an entry by path#id, or by an explicitly assigned id. An entry
// that was archived is found by its former path.
func (m readOps) findEntry(ctx context.Context, c Call, id string) (*memory.Document, *memory.Entry, error) {
	if path, bare, ok := cutID(id); ok {
		if doc, err := m.loadFile(c, path); err == nil {
			if e := entryOf(c, doc, bare); e != nil {
				return doc, e, nil
			}
		}
		doc, e, err := m.archivedEntry(ctx, c, path, bare)
		if err == nil && e == nil {
			err = notFound("entry", id)
		}
		return doc, e, err
	}
	refs, err := m.Index.ByID(ctx, c.View, id)
	if err != nil {
		return nil, nil, err
	}
	if len(refs) > 1 {
		return nil, nil, api.Errorf(api.Conflict, "more than one entry has the id %q", id).
			WithHint("%s", candidateHint(refs))
	}
	for _, ref := range refs {
		doc, err := m.loadFile(c, ref.Path)
		if err != nil {
			break
		}
		if e := entryOf(c, doc, ref.ID); e != nil {
			return doc, e, nil
		}
	}
	return nil, nil, notFound("entry", id)
}

func entryOf(c Call, doc *memory.Document, id string) *memory.Entry {
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.ID == id && e.Readable(c.View) {
			return e
		}
	}
	return nil
}

// candidateHint names the first of several entries that match an id.
func candidateHint(refs []index.Ref) string {
	const most = 10
	names := convertEach(refs[:min(len(refs), most)], func(ref index.Ref) string { return ref.Path + "#" + ref.ID })
	return "get one of " + strings.Join(names, ", ") + api.TextIf(len(refs) > most, ", …")
}

// cutID splits path#id into the path, which may contain #, and the id of the
// entry. It reports false for an id without a path.
func cutID(id string) (path, entry string, ok bool) {
	i := strings.LastIndexByte(id, '#')
	return id[:max(i, 0)], id[i+1:], i >= 0
}

// A readTarget is what a place in a request stands for: an entry, or a file or some of its
// lines.
type readTarget struct {
	doc         *memory.Document
	entry       *memory.Entry
	from, lines int // 0 without a line
}

// namedTarget returns the target of a request with a path or an id, with its folder in the
// view of the call.
func (m readOps) namedTarget(ctx context.Context, c Call, path, id string) (Call, readTarget, error) {
	if (path == "") == (id == "") {
		return c, readTarget{}, api.Errorf(api.Invalid, "set either `path` or `id`")
	}
	c, err := m.withRootOf(ctx, c, path+id)
	if err != nil {
		return c, readTarget{}, err
	}
	t, err := m.findTarget(ctx, c, path+id)
	return c, t, err
}

// findTarget returns the target of a place in any form that answers show: the path of a
// file, also with lines; path#id; the explicit id of an entry; or the name of only one
// readable file, without directory or extension. Other places are an error with similar
// names.
func (m readOps) findTarget(ctx context.Context, c Call, place string) (t readTarget, err error) {
	file, found := m.findFile(c, place)
	if !found {
		name, from, to := api.CutLines(place)
		if from == 0 {
			t.doc, t.entry, err = m.findEntry(ctx, c, place)
			if err == nil || strings.Contains(place, "#") || asError(err).Code != api.NotFound {
				return t, err
			}
		}
		t.from, t.lines = from, max(to-from+1, 0)
		file, found = m.findFile(c, name)
		if !found {
			similar := m.similarFiles(c, name)
			if len(similar) != 1 || fileName(similar[0]) != fileName(name) || strings.Contains(name, "/") {
				missing := notFound("file", place)
				if len(similar) > 0 {
					missing.WithHint("similar: %s", strings.Join(similar, ", "))
				}
				return t, missing
			}
			file = similar[0]
		}
	}
	t.doc, err = m.loadFile(c, file)
	return t, err
}

// findFile returns the path of a readable file, or of its archived copy.
func (m readOps) findFile(c Call, file string) (string, bool) {
	if _, err := m.loadFile(c, file); err == nil {
		return file, true
	}
	for _, copied := range m.archivedCopies(file, func(f *index.FileInfo) bool { return f.Readable(c.View) }) {
		if _, err := m.loadFile(c, copied); err == nil {
			return copied, true
		}
	}
	return "", false
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
	near := sync.OnceValue(func() string { return api.NearestName(name, names) })
	for _, matches := range []func(i int) bool{
		func(i int) bool { return names[i] == name },
		func(i int) bool { return strings.HasPrefix(strings.ToLower(paths[i]), name+"/") },
		func(i int) bool { return strings.Contains(names[i], name) },
		func(i int) bool { return names[i] == near() },
	} {
		var found []string
		for i, p := range paths {
			if matches(i) {
				found = append(found, p)
			}
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		found = slices.DeleteFunc(found, func(p string) bool {
			_, err := m.loadFile(c, p)
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
