package ops

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// archivedCopies returns the paths that the file at name may have in archives:
// those of files that keep accepts, in the order in which they moved. A file
// keeps its day and name in the archive; a number distinguishes parts that moved
// later.
func (m readOps) archivedCopies(name string, keep func(*index.FileInfo) bool) []string {
	place := m.Layout.Place(name)
	if place.Kind != memory.Session && place.Kind != memory.Daily {
		return nil
	}
	stem, _ := memory.CutMarkdown(path.Base(name))
	var paths []string
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool {
		if f.Kind != memory.Archive || path.Base(path.Dir(f.Path)) != place.Day {
			return false
		}
		base, _ := memory.CutMarkdown(path.Base(f.Path))
		number, ok := strings.CutPrefix(base, stem)
		return ok && (number == "" || number[0] == '-' && strings.Trim(number[1:], "0123456789") == "") && keep(f)
	}) {
		paths = append(paths, f.Path)
	}
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(len(a), len(b)) }) // the first part first
	return paths
}

// archivedFile returns the path of the file in an archive that the caller can
// read, or "" if there is none or name still exists.
func (m readOps) archivedFile(c Call, name string) string {
	if _, _, err := m.loadFile(c, name); err == nil {
		return ""
	}
	for _, copied := range m.archivedCopies(name, func(f *index.FileInfo) bool { return f.Readable(c.View) }) {
		if _, _, err := m.loadFile(c, copied); err == nil {
			return copied
		}
	}
	return ""
}

// archivedEntry returns the readable entry in an archive that was the entry of a
// file with the given id, or nil. An id that the text of the entry gave is found
// in copies of the file only.
func (m readOps) archivedEntry(ctx context.Context, c Call, name, id string) (*memory.Document, *memory.Entry, error) {
	paths := m.archivedCopies(name, func(f *index.FileInfo) bool { return f.Readable(c.View) })
	if !strings.HasPrefix(id, "~") {
		refs, err := m.Index.ByID(ctx, c.View, id)
		if err != nil {
			return nil, nil, err
		}
		for _, ref := range refs {
			if m.Layout.Place(ref.Path).Kind == memory.Archive {
				paths = append(paths, ref.Path)
			}
		}
	}
	for _, copied := range paths {
		doc, _, err := m.loadFile(c, copied)
		if err != nil {
			continue
		}
		if e := entryOf(c, doc, id); e != nil {
			return doc, e, nil
		}
	}
	return nil, nil, nil
}

// evidenceLinks returns the evidence of an entry as links. Each resolves to the
// file that contains the evidence now, if the caller can read it.
func (m readOps) evidenceLinks(ctx context.Context, c Call, e *memory.Entry, line int) ([]api.LinkTo, error) {
	var links []api.LinkTo
	for _, piece := range e.Evidence {
		l := api.LinkTo{Line: line, Text: "evidence", Target: piece, Untrusted: e.Author().Untrusted(c.View)}
		_, id, isEntry := cutID(piece)
		switch {
		case strings.Contains(piece, "://"):
		case isEntry:
			doc, _, err := m.findEntry(ctx, c, piece)
			if err == nil {
				l.Path = doc.Place.Path
			} else if asError(err).Code != api.NotFound {
				return nil, err
			}
			l.Anchor = id
		default:
			l.Path = m.archivedFile(c, piece)
			if _, _, err := m.loadFile(c, piece); err == nil {
				l.Path = piece
			}
		}
		l.Missing = l.Path == "" && !strings.Contains(piece, "://") && !strings.HasPrefix(piece, "/")
		links = append(links, l)
	}
	return links, nil
}

// The problem codes of evidence and of links to files that do not exist.
const (
	evidenceMissing = "evidence_missing"
	linkMissing     = "link_missing"
)

// missingTargets returns a problem for each piece of evidence and each link to a note,
// in the file at dir or in files below it, whose target neither exists nor is
// archived. The links in archives, imports and other folders are not checked: they are
// records of other times and programs.
func (m adminOps) missingTargets(ctx context.Context, dir string) (list []api.FileProblem, err error) {
	known := evidenceFiles{m: m, ids: map[string]map[string]bool{}, copies: map[string][]string{},
		links: map[string]bool{}}
	report := func(f *index.FileInfo, code string, e *memory.Entry, message string) {
		list = append(list, api.FileProblem{Path: f.Path, Problem: api.Problem{Code: code, Line: e.Line, Message: message}})
	}
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool {
		return dir == "" || f.Path == dir || strings.HasPrefix(f.Path, strings.TrimSuffix(dir, "/")+"/")
	}) {
		doc, err := m.Files.Load(f.Path)
		if err != nil {
			continue
		}
		_, imported := doc.Front.Field("source_id")
		record := imported || f.Kind == memory.Archive || doc.Place.Root != ""
		for i := range doc.Entries {
			e := &doc.Entries[i]
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			for _, piece := range e.Evidence {
				if !known.exists(ctx, piece) {
					report(&f, evidenceMissing, e, "evidence "+piece+" does not exist; correct or remove it")
				}
			}
			for _, l := range e.Links {
				if !record && l.MeansNote() && !known.hasLink(&l, f.Path) {
					report(&f, linkMissing, e, "no file for the link "+l.Target+"; correct the link, or create the file")
				}
			}
		}
	}
	return list, ctx.Err()
}

// An evidenceFiles knows the files that evidence and links name. It reads each file
// once.
type evidenceFiles struct {
	m        adminOps
	named    map[string][]string        // paths by keys of names and aliases; nil before they are needed
	links    map[string]bool            // whether a file has the name of a link
	ids      map[string]map[string]bool // ids of entries by path; nil for a missing file
	copies   map[string][]string        // see [Memory.archivedCopies]
	archived map[string]bool            // ids in all archives; nil before they are needed
}

// exists reports whether a piece of evidence exists or is archived. URLs and absolute
// paths are outside of the memory.
func (k *evidenceFiles) exists(ctx context.Context, piece string) bool {
	name, id, isEntry := strings.Cut(piece, "#")
	if strings.Contains(piece, "://") || strings.HasPrefix(piece, "/") || k.has(piece, "") || k.has(name, id) {
		return true
	}
	return k.archivedCopy(name, id) || isEntry && !strings.HasPrefix(id, "~") && k.archivedIDs(ctx)[id]
}

// archivedCopy reports whether an archived copy of a file contains an entry, or exists
// if id is empty.
func (k *evidenceFiles) archivedCopy(name, id string) bool {
	copies, ok := k.copies[name]
	if !ok {
		copies = k.m.archivedCopies(name, func(*index.FileInfo) bool { return true })
		k.copies[name] = copies
	}
	return slices.ContainsFunc(copies, func(copied string) bool { return k.has(copied, id) })
}

// hasLink reports whether the target of a link in the file from exists or is archived.
func (k *evidenceFiles) hasLink(l *memory.Link, from string) bool {
	for _, path := range l.Paths {
		if _, ok := k.m.Index.File(path); ok || k.archivedCopy(path, "") {
			return true
		}
	}
	if k.named == nil {
		k.named = map[string][]string{}
		for _, f := range k.m.Index.Files(func(*index.FileInfo) bool { return true }) {
			doc, err := k.m.Files.Load(f.Path)
			if err != nil || doc.Place.Root != "" {
				continue
			}
			for _, key := range doc.NameKeys() {
				k.named[key] = append(k.named[key], f.Path)
			}
		}
	}
	found, ok := k.links[l.Name]
	if !ok {
		paths := k.named[memory.NameKey(l.Name)]
		found = len(l.FindNamed(from, paths)) > 0 || slices.ContainsFunc(paths, func(path string) bool {
			doc, err := k.m.Files.Load(path)
			return err == nil && doc.Front.HasAlias(l.Name)
		})
		k.links[l.Name] = found
	}
	return found
}

// has reports whether a file contains an entry, or exists if id is empty.
func (k *evidenceFiles) has(name, id string) bool {
	ids, ok := k.ids[name]
	if !ok {
		if doc, err := k.m.Files.Load(name); err == nil {
			ids = make(map[string]bool, len(doc.Entries))
			for i := range doc.Entries {
				ids[strings.Clone(doc.Entries[i].ID)] = true
			}
		}
		k.ids[name] = ids
	}
	return ids != nil && (id == "" || ids[id])
}

func (k *evidenceFiles) archivedIDs(ctx context.Context) map[string]bool {
	if k.archived != nil {
		return k.archived
	}
	k.archived = map[string]bool{}
	for _, f := range k.m.Index.Files(func(f *index.FileInfo) bool { return f.Kind == memory.Archive }) {
		if ctx.Err() != nil {
			break
		}
		k.has(f.Path, "")
		maps.Copy(k.archived, k.ids[f.Path])
	}
	return k.archived
}
