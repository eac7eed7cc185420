package ops

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) related(ctx context.Context, c Call, r *api.RelatedRequest) (*api.RelatedAnswer, error) {
	c, at, err := m.namedTarget(ctx, c, r.Path, r.ID)
	if err != nil {
		return nil, err
	}
	doc := at.doc
	var entries []*memory.Entry
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Readable(c.View) && (at.entry == nil || at.entry == e) {
			entries = append(entries, e)
		}
	}
	answer := &api.RelatedAnswer{Path: doc.Place.Path, To: []api.LinkTo{}, From: []api.LinkFrom{},
		Index: m.indexState(c)}
	resolver := m.linkResolver(c)
	for _, e := range entries {
		for _, l := range e.Links {
			if len(answer.To) == r.Limit {
				break
			}
			path, err := resolver.Resolve(ctx, doc.Place.Path, &l)
			if err != nil {
				return nil, err
			}
			answer.To = append(answer.To, api.LinkTo{
				Line: e.Line, Text: l.Text, Target: l.Target, Path: path, Anchor: l.Anchor,
				Missing: path == "" && l.MeansNote(), Untrusted: e.Author().Untrusted(c.View),
			})
		}
		if len(answer.To) < r.Limit {
			evidence, err := m.evidenceLinks(ctx, c, e)
			if err != nil {
				return nil, err
			}
			answer.To = append(answer.To, evidence[:min(len(evidence), r.Limit-len(answer.To))]...)
		}
	}
	refs, err := m.Index.LinksTo(ctx, c.View, doc.Place.Path, doc.NameKeys())
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if len(answer.From) == r.Limit {
			break
		}
		other, err := m.loadFile(c, ref.Path)
		if err != nil {
			continue // it was removed meanwhile
		}
		e := entryOf(c, other, ref.ID)
		if e == nil {
			continue
		}
		links, err := resolver.AnyTo(ctx, ref.Path, e, doc.Place.Path)
		if err != nil {
			return nil, err
		}
		if !links {
			continue
		}
		text, _ := index.FirstRunes(e.Text, maxHitText)
		answer.From = append(answer.From,
			api.LinkFrom{Place: api.Place{ID: ref.Path + "#" + ref.ID, Path: ref.Path, Line: ref.Line}, Text: text,
				Untrusted: e.Author().Untrusted(c.View)})
	}
	return answer, nil
}

func (m readOps) linkResolver(c Call) *index.LinkResolver {
	return &index.LinkResolver{Index: m.Index, View: c.View, Layout: m.Layout,
		Load: func(path string) *memory.Document {
			doc, err := m.loadFile(c, path)
			if err != nil {
				return nil
			}
			return doc
		},
		Moved: func(path string) string {
			if found, _ := m.findFile(c, path); found != path {
				return found
			}
			return ""
		},
	}
}

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
		doc, err := m.loadFile(c, copied)
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
func (m readOps) evidenceLinks(ctx context.Context, c Call, e *memory.Entry) ([]api.LinkTo, error) {
	var links []api.LinkTo
	for _, piece := range e.Evidence {
		l := api.LinkTo{Line: e.Line, Text: "evidence", Target: piece, Untrusted: e.Author().Untrusted(c.View)}
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
			l.Path, _ = m.findFile(c, piece)
			if doc, e, err := m.findEntry(ctx, c, piece); l.Path == "" && err == nil {
				l.Path, l.Anchor = doc.Place.Path, e.ID
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
	known, err := m.knownTargets(ctx)
	if err != nil {
		return nil, err
	}
	report := func(f *index.FileInfo, code string, e *memory.Entry, message string) {
		list = append(list, api.FileProblem{Path: f.Path,
			Problem: api.Problem{Code: code, Line: e.Line, Message: message}})
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
			for _, piece := range e.Evidence {
				if !known.exists(piece) {
					report(f, evidenceMissing, e, "evidence "+piece+" does not exist; correct or remove it")
				}
			}
			for _, l := range e.Links {
				if !record && l.MeansNote() && !known.hasLink(&l, f.Path) {
					report(f, linkMissing, e,
						"no file for the link "+l.Target+"; correct the link, or create the file")
				}
			}
		}
	}
	return list, ctx.Err()
}

// targets are the files and entries that evidence and links can mean.
type targets struct {
	layout   *memory.Layout
	places   map[string]bool     // path, path#id, and id
	copies   map[string][]string // paths of archived files, by day/name
	archived map[string]bool     // ids in archives
	named    map[string][]string // paths by keys of names
	aliases  map[string]bool
}

// knownTargets collects the targets from all files, without regard to a caller.
func (m adminOps) knownTargets(ctx context.Context) (*targets, error) {
	k := &targets{layout: m.Layout, places: map[string]bool{}, copies: map[string][]string{},
		archived: map[string]bool{}, named: map[string][]string{}, aliases: map[string]bool{}}
	for _, f := range m.Index.Files(nil) {
		doc, err := m.Files.Load(f.Path)
		if err != nil {
			continue
		}
		k.places[f.Path] = true
		for i := range doc.Entries {
			id := strings.Clone(doc.Entries[i].ID)
			k.places[f.Path+"#"+id], k.places[id] = true, true
			if f.Kind == memory.Archive {
				k.archived[id] = true
			}
		}
		if f.Kind == memory.Archive {
			key := copyKey(path.Base(path.Dir(f.Path)), f.Path)
			k.copies[key] = append(k.copies[key], f.Path)
			if at := strings.LastIndexByte(key, '-'); strings.Trim(key[at+1:], "0123456789") == "" {
				k.copies[key[:at]] = append(k.copies[key[:at]], f.Path)
			}
		}
		if doc.Place.Root == "" {
			for _, name := range doc.NameKeys() {
				k.named[name] = append(k.named[name], f.Path)
			}
			for _, alias := range doc.Front.Aliases() {
				k.aliases[letters.FoldCase(alias)] = true
			}
		}
	}
	return k, ctx.Err()
}

func copyKey(day, name string) string {
	stem, _ := memory.CutMarkdown(path.Base(name))
	return day + "/" + stem
}

// exists reports whether a piece of evidence exists or is archived. URLs and absolute
// paths are outside of the memory.
func (k *targets) exists(piece string) bool {
	name, id, isEntry := strings.Cut(piece, "#")
	return strings.Contains(piece, "://") || strings.HasPrefix(piece, "/") || k.places[piece] || k.copied(name, id) ||
		isEntry && !strings.HasPrefix(id, "~") && k.archived[id]
}

// copied reports whether an archived copy of a file contains an entry, or exists if id is
// empty.
func (k *targets) copied(name, id string) bool {
	copies := k.copies[copyKey(k.layout.Place(name).Day, name)]
	return slices.ContainsFunc(copies, func(at string) bool { return id == "" || k.places[at+"#"+id] })
}

// hasLink reports whether the target of a link in the file from exists or is archived.
func (k *targets) hasLink(l *memory.Link, from string) bool {
	for _, path := range l.Paths {
		if k.places[path] || k.copied(path, "") {
			return true
		}
	}
	return l.Name != "" && k.aliases[l.Name] || len(l.FindNamed(from, k.named[memory.NameKey(l.Name)])) > 0
}
