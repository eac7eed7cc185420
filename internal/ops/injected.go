package ops

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// injectedBlocks records the last blocks that hooks have given to agents. It contains ids and
// no text, and is not stored: the entries are looked up when the owner lists the blocks, so
// forgotten text leaves the list by itself.
type injectedBlocks struct {
	mu   sync.Mutex
	list []injectedBlock // oldest first
}

type injectedBlock struct {
	api.InjectedBlock
	ids []string // path#id, or path for a file
}

const maxInjectedBlocks = 500

// recordInjected records the block of entries or files with the given ids, if a hook on a
// listener without a fixed scope requested it.
func (m readOps) recordInjected(c Call, block brief.Block, ids []string) {
	if c.Fixed != nil || !strings.HasPrefix(c.program.Name, "hook:") || block.Text == "" {
		return
	}
	b := &m.injected
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list[max(0, len(b.list)-maxInjectedBlocks+1):], injectedBlock{ids: ids,
		InjectedBlock: api.InjectedBlock{Time: m.Now(), Program: c.program.Name, Session: c.program.Session,
			Tokens: brief.Tokens(block.Text)}})
}

// pathsOf returns the paths of files.
func pathsOf(docs []*memory.Document) []string {
	return convertEach(docs, func(doc *memory.Document) string { return doc.Place.Path })
}

// listInjected returns the recorded blocks since a time that selected accepts, newest first,
// with the places that still exist. A nil selected accepts all.
func (m readOps) listInjected(ctx context.Context, c Call, since time.Time, selected func(*journal.Record) bool,
	limit int) (list []api.InjectedBlock) {
	m.injected.mu.Lock()
	blocks := slices.Clone(m.injected.list)
	m.injected.mu.Unlock()
	for _, b := range slices.Backward(blocks) {
		by := &journal.Record{Program: b.Program, Session: b.Session}
		if b.Time.Before(since) || len(list) == limit || selected != nil && !selected(by) {
			continue
		}
		for _, id := range b.ids {
			if at, err := m.findTarget(ctx, c, id); err != nil {
				b.Gone++
			} else {
				place := api.Place{ID: id, Path: at.doc.Place.Path}
				if at.entry != nil {
					place.Line = at.entry.Line
				}
				b.Places = append(b.Places, place)
			}
		}
		list = append(list, b.InjectedBlock)
	}
	return list
}
