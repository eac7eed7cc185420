package ops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) get(ctx context.Context, c Call, r *api.GetRequest) (*api.GetAnswer, error) {
	if (r.Path == "") == (r.ID == "") {
		return nil, api.Errorf(api.Invalid, "set either `path` or `id`")
	}
	c, err := m.withRootOf(ctx, c, r.Path+r.ID)
	if err != nil {
		return nil, err
	}
	at := readTarget{id: r.ID}
	if _, line, _ := api.CutLines(r.ID); r.ID == "" || line > 0 {
		at, err = m.findTarget(ctx, c, r.Path+r.ID)
		if err != nil {
			return nil, err
		}
	}
	path, id, from, lines := at.path, at.id, r.From, r.Lines
	if from == 1 && lines == 0 && at.from > 0 {
		from, lines = at.from, at.lines
	}
	plain, untrusted := "", false
	if id != "" {
		doc, e, err := m.findEntry(ctx, c, id)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.NotFound && m.Shared != nil {
			return m.getShared(ctx, c, id, err)
		}
		if err != nil {
			return nil, err
		}
		shown := doc.Shown(c.View)
		path, from = doc.Place.Path, shown.Line(e.Line)
		lines = shown.Line(e.EndLine) - from + 1
		plain, untrusted = e.Content(), e.Author().Untrusted(c.View)
		if doc.Place.Kind == memory.Longterm {
			plain = e.Remembered()
		}
		defer m.recordUse(path + "#" + e.ID)
	}
	switch {
	case id != "" && r.From > 1:
		return nil, api.Errorf(api.Invalid, "from: no effect on an entry").WithHint("omit `from`, or name the file")
	case id != "" && r.Lines > 0:
		return nil, api.Errorf(api.Invalid, "lines: no effect on an entry").WithHint("omit `lines`, or name the file")
	case id == "" && r.Plain:
		return nil, api.Errorf(api.Invalid, "plain: %s is a file", path).WithHint("add #id to select an entry")
	}
	doc, shown, err := m.loadFile(c, path)
	if err != nil {
		return nil, err
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
		Hash: hashOf(doc, shown), Untrusted: untrusted,
		Stale: doc.Stale,
		Index: m.indexState(c),
	}
	if id == "" {
		for _, lines := range doc.UntrustedLines(shown, c.View) {
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
	if !c.View.Readable(doc.Own) || len(doc.Front.Fields) == 0 {
		return nil
	}
	front := map[string]any{}
	tasks, followUps := doc.Progress(c.View)
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
func hashOf(doc *memory.Document, shown memory.Shown) string {
	if doc.Masked() {
		return ""
	}
	data := doc.Source
	if !shown.Complete {
		data = []byte(shown.Text())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// findEntry finds an entry by path#id, or by an explicitly assigned id. An entry
// that was archived is found by its former path.
func (m readOps) findEntry(ctx context.Context, c Call, id string) (*memory.Document, *memory.Entry, error) {
	if path, bare, ok := cutID(id); ok {
		if doc, _, err := m.loadFile(c, path); err == nil {
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
		doc, _, err := m.loadFile(c, ref.Path)
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
	var names []string
	for _, ref := range refs {
		names = append(names, ref.Path+"#"+ref.ID)
	}
	return "get one of " + joinFirst(names)
}

func joinFirst(names []string) string {
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// cutID splits path#id into the path, which may contain #, and the id of the
// entry. It reports false for an id without a path.
func cutID(id string) (path, entry string, ok bool) {
	i := strings.LastIndexByte(id, '#')
	return id[:max(i, 0)], id[i+1:], i >= 0
}
