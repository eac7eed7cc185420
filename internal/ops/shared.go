package ops

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/share"
	"github.com/memwatchd/memwatchd/memory"
)

// maxMerged bounds the offset of pages with hits of other machines. The first page that
// reaches it is the last one if there are any: later offsets count hits of this machine only.
const maxMerged = 1000

// searchAll searches the index and, at the same time, the entries of other machines.
// It returns how far the answer contains these, or "" if they are not searched.
func (m readOps) searchAll(ctx context.Context, c Call, q index.Query) (index.Result, string, error) {
	if m.Shared == nil || !m.Shared.Asks(&q) || m.isInRoots(c, &q) || q.Offset >= maxMerged {
		result, err := m.Index.Search(ctx, c.View, q)
		return result, "", err
	}
	var (
		docs   []*memory.Document
		more   bool
		failed error
		done   = make(chan struct{})
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(done)
		docs, more, failed = m.Shared.Search(ctx, c.View, q)
	}()
	wide := q
	wide.Offset, wide.Limit = 0, q.Offset+q.Limit
	local, err := m.Index.Search(ctx, c.View, wide)
	if err != nil {
		cancel()
	}
	<-done // within the timeout of the store
	if err != nil {
		return local, "", err
	}
	state := "included"
	switch {
	case errors.Is(failed, context.DeadlineExceeded):
		state = "timeout"
	case failed != nil:
		state = "unavailable"
	case more:
		state = "partial"
	}
	docs = slices.DeleteFunc(docs, func(doc *memory.Document) bool { return m.hasTwin(c, doc) })
	wide.Limit = len(docs)
	other, err := m.Index.Rank(ctx, c.View, wide, docs)
	if err != nil {
		return local, "", err
	}
	return mergeResults(&q, local, other), state, nil
}

// hasTwin reports whether a file of this machine contains an entry of another one
// with the same id and text, as on machines that synchronize their files.
func (m readOps) hasTwin(c Call, other *memory.Document) bool {
	_, path, _ := share.CutHost(other.Place.Path)
	if _, known := m.Index.File(path); !known {
		return false
	}
	doc, err := m.loadFile(c, path)
	if err != nil {
		return false
	}
	e := entryOf(c, doc, other.Entries[0].ID)
	return e != nil && e.Text == other.Entries[0].Text
}

// mergeResults returns the page of a query from all hits of other machines and the
// first hits of this one.
func mergeResults(q *index.Query, local, other index.Result) index.Result {
	paths := make(map[string]bool)
	other.Hits = slices.DeleteFunc(other.Hits, func(h index.Hit) bool {
		known := paths[h.Doc.Place.Path]
		paths[h.Doc.Place.Path] = true
		return known && q.ByFile
	})
	all := share.Merge(q.Mode, local.Hits, other.Hits)
	from, to := min(q.Offset, len(all)), min(q.Offset+q.Limit, len(all))
	result := local
	result.Hits, result.Next = all[from:to], 0
	if (len(all) > to || local.Next > 0) && (to < maxMerged || len(other.Hits) == 0) {
		result.Next = to
	}
	result.Total, result.TotalAll = local.Total+other.Total, local.TotalAll+other.TotalAll
	result.Files = local.Files + len(paths)
	if other.Total > 0 {
		result.Absent = slices.DeleteFunc(slices.Clone(local.Absent), func(word string) bool {
			return !slices.Contains(other.Absent, word)
		})
		if local.Total == 0 {
			result.Note = other.Note
		}
	}
	return result
}

// getShared returns an entry of another machine, or missing if there is none.
func (m readOps) getShared(ctx context.Context, c Call, id string, missing error) (*api.GetAnswer, error) {
	doc, err := m.Shared.Get(ctx, c.View, id)
	switch {
	case errors.Is(err, share.ErrNotFound):
		return nil, missing
	case err != nil:
		return nil, api.Errorf(api.Unavailable, "the shared store does not answer").
			WithHint("run `memwatchd share status` on this machine")
	}
	e := &doc.Entries[0]
	return &api.GetAnswer{Path: doc.Place.Path, From: e.Line, To: e.EndLine, TotalLines: e.EndLine,
		Text: strings.TrimRight(e.Text, "\n") + "\n", Host: doc.Place.Host, Untrusted: e.Author().Untrusted(c.View),
		Index: m.indexState(c)}, nil
}

// A Publisher publishes entries of this machine to a shared store.
type Publisher interface {
	Status() api.ShareStatusAnswer
	Push(ctx context.Context, step string) (share.Comparison, error)
}

var errNotShared = api.Errorf(api.Unavailable, "nothing is shared").
	WithHint("set share.weaviate.url")

func (m adminOps) shareStatus(context.Context, Call, *api.ShareStatusRequest) (*api.ShareStatusAnswer, error) {
	if m.Publisher == nil {
		return nil, errNotShared
	}
	answer := m.Publisher.Status()
	return &answer, nil
}

// sharePush publishes changes now.
func (m adminOps) sharePush(ctx context.Context, _ Call, r *api.SharePushRequest) (*api.SharePushAnswer, error) {
	if m.Publisher == nil {
		return nil, errNotShared
	}
	compared, err := m.Publisher.Push(ctx, r.Step)
	if err != nil {
		return nil, api.Errorf(api.Unavailable, "shared store: %v", err)
	}
	return &api.SharePushAnswer{ShareStatus: m.Publisher.Status().ShareStatus, Compared: r.Step != "push",
		Objects: compared.Objects, Missing: compared.Missing, Extra: compared.Extra}, nil
}
