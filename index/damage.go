package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/panics"
	"github.com/memwatchd/memwatchd/memory"
)

// errDamaged wraps an error of bleve about its own files, and the panics and faults that
// such files cause.
type errDamaged struct{ error }

// damaged marks an error of bleve as damage of the index, unless the context
// has ended.
func (s *reader) damaged(err error) error {
	if err == nil || s.ctx.Err() != nil {
		return err
	}
	return errDamaged{err}
}

// A panicError is a panic, without its value, which may contain text.
type panicError struct {
	doing, what string
	stack       []string
	fault       bool // a mapped file cannot be read
}

func (e *panicError) Error() string {
	return fmt.Sprintf("%s: %s in %s", e.doing, e.what, panics.Short(e.stack))
}

// recoverPanic calls fn, which may read mapped files. It returns a panicError if fn panics,
// or faults because a file was truncated.
func recoverPanic(doing string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			_, fault := r.(interface{ Addr() uintptr })
			err = &panicError{doing, panics.Describe(r), panics.Stack(), fault}
		}
	}()
	return fn()
}

// storeFunctions are the beginnings of the names of functions that read the index.
var storeFunctions = []string{"github.com/blevesearch/bleve/v2/index/", "github.com/blevesearch/zapx/",
	"github.com/blevesearch/vellum", "github.com/RoaringBitmap/roaring/"}

// cause returns the function of the store that panicked, "page fault", or "" for a panic that
// is no damage: one in other functions.
func (e *panicError) cause() string {
	if e.fault {
		return "page fault"
	}
	i := slices.IndexFunc(e.stack, func(f string) bool {
		return slices.ContainsFunc(storeFunctions, func(s string) bool { return strings.HasPrefix(f, s) })
	})
	if i < 0 {
		return ""
	}
	return e.stack[i]
}

// refillPause is the time after an index was filled again in which another failure with
// the same cause does not remove it: filling it again does not help, and meanwhile all
// answers are incomplete.
const refillPause = 10 * time.Minute

// mayRefill reports whether a failure may remove the index, and records that it does.
func (x *Index) mayRefill(failure error) bool {
	cause := "error"
	if p, ok := errors.AsType[*panicError](failure); ok {
		cause = p.cause()
	}
	last, known := x.refills[cause]
	if known && time.Since(last) < refillPause {
		return false
	}
	x.refills[cause] = time.Now()
	return true
}

// recoverStore handles a failure of a store. The store and the table may differ from
// then on, so recoverStore removes the index, unless the cause is a lack of resources,
// and opens it again. Every file must then be applied again. If it has done so for the same
// cause recently, it keeps the store. The caller must hold x.writing.
func (x *Index) recoverStore(failed *store, cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if failed == nil || x.store != failed {
		return // opened again since
	}
	lacks := lacksResources(cause)
	if !lacks && !x.mayRefill(cause) {
		x.opt.Logger.Error("index failed again", "err", cause)
		x.problem = x.describeError(fmt.Sprintf("index failed again within %v of filling it; "+
			"the searches that fail read the %d newest files instead", refillPause, newestFiles), cause)
		return
	}
	x.opt.Logger.Error("index failed, filling it again from the files", "err", cause)
	if err := failed.close(); err != nil {
		x.opt.Logger.Warn("cannot close the index", "err", err)
	}
	if !lacks {
		if err := os.RemoveAll(x.dir); err != nil {
			x.opt.Logger.Warn("cannot remove the index", "err", err)
		}
	}
	x.problem = x.describeError("index failed, comparing all files", cause)
	if err := x.openStore(); err != nil {
		x.opt.Logger.Error("cannot open the index", "err", err)
	}
	if x.opt.OnIncomplete != nil {
		go x.opt.OnIncomplete()
	}
}

// newestFiles is the number of files that a search without the store reads.
const newestFiles = 500

// searchFiles is Search without the store. It reads the newest readable files.
func (x *Index) searchFiles(ctx context.Context, view memory.View, q Query) (res Result, err error) {
	var files []*file
	for _, v := range x.snapshot().byNumber.all() {
		if v != nil && view.Readable(v.partition) {
			files = append(files, v)
		}
	}
	slices.SortFunc(files, func(a, b *file) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), strings.Compare(a.file.Path, b.file.Path))
	})
	var docs []*memory.Document
	for _, v := range files[:min(len(files), newestFiles)] {
		if doc, err := x.opt.Source.Load(v.Path); err == nil {
			docs = append(docs, doc)
		}
	}
	err = recoverPanic("search files", func() (err error) {
		res, err = x.Rank(ctx, view, q, docs)
		return err
	})
	res.Degraded = true
	return res, err
}
