package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/importer"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// A Reader searches the entries of other machines in a store.
type Reader struct {
	Store   Store
	Breaker *Breaker
	Host    string                   // this machine, whose entries are omitted
	Private bool                     // private entries too
	Timeout time.Duration            // of a request
	Terms   func(index.Query) string // analyzed terms of a query, separated by spaces
}

// maxFound bounds the objects that a request returns of a collection and tenant.
const maxFound = 50

// partitionsOf returns the partition of each tenant that a view may read. It is empty
// for a view of folders only.
func (r *Reader) partitionsOf(view memory.View) map[string]memory.Partition {
	tenants := make(map[string]memory.Partition)
	for _, p := range view.Partitions() {
		if memory.IsRootKey(p.Owner) {
			continue // the text of a folder is not published
		}
		subject := view.SubjectOf(p)
		if subject != DefaultOwner && (r.Private || p.Visibility == memory.PublicOK) {
			tenants[TenantOf(subject, p.Visibility)] = memory.Partition{Owner: subject, Visibility: p.Visibility}
		}
	}
	return tenants
}

// Asks reports whether a query is sent to the store. Queries that are still being
// typed and those with credentials are not, nor are those whose hits can only be
// files of this machine.
func (r *Reader) Asks(q *index.Query) bool {
	path, _, colon := strings.Cut(q.Filter.Path, ":")
	words := slices.Concat([]string{q.Text, q.Exclude}, q.Filter.Tags, q.Filter.Types)
	return !q.Typing && (q.Filter.Path == "" || colon && path != "" && !strings.Contains(path, "/")) &&
		q.Filter.Contact == "" && secrets.MatchingRule(strings.Join(words, "\n")) == ""
}

// Search returns entries of other machines that may match a query, each as a
// document with one entry whose path begins with the machine and a colon. It
// reports whether the store may have more of them.
func (r *Reader) Search(ctx context.Context, view memory.View, q index.Query) (docs []*memory.Document, more bool,
	err error) {
	if !r.Breaker.Allows() {
		return nil, false, errPaused
	}
	tenants := r.partitionsOf(view)
	request := Query{Tenants: slices.Sorted(maps.Keys(tenants)), NotHost: r.Host, Types: q.Filter.Types,
		Tags: q.Filter.Tags, AnyTag: q.Filter.AnyTag, Since: q.Filter.Since, Until: q.Filter.Until, Limit: maxFound}
	if q.Mode != index.Recent && !q.All {
		request.Terms = r.Terms(q)
		if request.Terms == "" {
			return nil, false, nil
		}
	}
	if len(tenants) == 0 {
		return nil, false, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	objects, err := r.Store.Search(limited, request)
	if err != nil && limited.Err() != nil {
		err = limited.Err()
	}
	if err := r.recordResult(ctx, err); err != nil {
		return nil, false, err
	}
	counts := make(map[[2]string]int)
	for i := range objects {
		o := &objects[i]
		at := [2]string{o.Collection, o.Tenant}
		counts[at]++
		more = more || counts[at] == maxFound
		if doc := r.decodeObject(o, tenants); doc != nil {
			docs = append(docs, doc)
		}
	}
	slices.SortFunc(docs, func(a, b *memory.Document) int { // as the index orders equal hits
		return cmp.Or(strings.Compare(a.Place.Path, b.Place.Path), cmp.Compare(a.Entries[0].Line, b.Entries[0].Line),
			strings.Compare(a.Entries[0].ID, b.Entries[0].ID))
	})
	return docs, more, nil
}

var errPaused = errors.New("the store did not answer before")

// Get returns the entry with an id of another machine in the form host:path#id, as
// Search does, or [ErrNotFound].
func (r *Reader) Get(ctx context.Context, view memory.View, id string) (*memory.Document, error) {
	host, memoryID, ok := CutHost(id)
	if !ok || host == r.Host {
		return nil, ErrNotFound
	}
	if !r.Breaker.Allows() {
		return nil, errPaused
	}
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	tenants := r.partitionsOf(view)
	for _, tenant := range slices.Sorted(maps.Keys(tenants)) {
		for _, c := range Collections {
			o, err := r.Store.Get(limited, c.Name, tenant, idOf(host, tenant, memoryID))
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err := r.recordResult(ctx, err); err != nil {
				return nil, err
			}
			if doc := r.decodeObject(&o, tenants); doc != nil && doc.Place.Path+"#"+doc.Entries[0].ID == id {
				return doc, nil
			}
		}
	}
	return nil, ErrNotFound
}

// recordResult records the result of a request, unless the caller canceled it.
func (r *Reader) recordResult(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	record := err
	if errors.Is(err, context.DeadlineExceeded) {
		record = fmt.Errorf("no answer within %s", r.Timeout)
	}
	r.Breaker.Record(time.Now(), record)
	return err
}

// CutHost returns the machine and the rest of an id or a path of another machine.
func CutHost(id string) (host, rest string, ok bool) {
	host, rest, ok = strings.Cut(id, ":")
	return host, rest, ok && memory.ValidHost(host) == nil && rest != ""
}

// decodeObject returns an object as a document, or nil if it is not a valid one of
// another machine in one of the tenants. Any machine with the key can write any
// object to the store.
func (r *Reader) decodeObject(o *Object, tenants map[string]memory.Partition) *memory.Document {
	var p record
	text, err := json.Marshal(o.Properties)
	if err != nil || json.Unmarshal(text, &p) != nil || p.check(time.Now()) != nil {
		return nil
	}
	partition, ok := tenants[o.Tenant]
	if !ok || p.Gone || p.Host == r.Host || memory.ValidHost(p.Host) != nil ||
		strings.TrimSpace(p.Content) == "" || o.Collection != importer.MemoryItem && len(p.EvidenceIDs) == 0 {
		return nil
	}
	hash := strings.LastIndexByte(p.ID, '#')
	path, id := p.ID[:hash], p.ID[hash+1:]
	kind, known := memory.ParseKind(p.Kind)
	if !known {
		kind = memory.Note
	}
	e := memory.Entry{
		Line: max(p.Line, 1), ID: id, Sections: p.Section, Title: p.Title, Text: p.Content, Norm: p.Content,
		Partition: partition, Type: p.Type, Importance: min(max(p.Importance, 0), 1), Source: p.Source,
		Evidence: append(p.Evidence, p.EvidenceIDs...), Tags: p.Tags, Time: p.Updated,
	}
	e.EndLine = e.Line + strings.Count(strings.TrimRight(p.Content, "\n"), "\n")
	e.By = "?" + p.Host // no subject, so not one of the reader's
	if !p.Created.IsZero() {
		e.Added = p.Created.Format(time.DateOnly)
	}
	if parsed := new(memory.Layout).Parse("entry.md", []byte(p.Content), memory.Meta{}); len(parsed.Entries) == 1 {
		e.Norm, e.Tasks = parsed.Entries[0].Norm, parsed.Entries[0].Tasks
	}
	return &memory.Document{
		Place:     memory.Place{Path: p.Host + ":" + path, Host: p.Host, Kind: kind, Day: p.Day, Session: p.Session},
		Partition: partition, Entries: []memory.Entry{e},
	}
}

// Merge merges the hits of this machine and of others, each in their order. Scores
// that do not depend on the collection decide in the modes Overlap and Recent;
// otherwise the ranks do, and the hits of this machine precede equal ones.
func Merge(mode index.Mode, local, other []index.Hit) []index.Hit {
	rank := make(map[*memory.Entry]int, len(local)+len(other))
	for _, list := range [][]index.Hit{local, other} {
		for i, h := range list {
			rank[h.Entry] = i
		}
	}
	all := slices.Concat(local, other)
	slices.SortStableFunc(all, func(a, b index.Hit) int {
		switch mode {
		case index.Overlap:
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Entry.Importance, a.Entry.Importance),
				b.Time.Compare(a.Time))
		case index.Recent:
			return b.Time.Compare(a.Time)
		}
		return cmp.Compare(rank[a.Entry], rank[b.Entry])
	})
	return all
}
