package index

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/memwatchd/memwatchd/internal/panics"
)

// errDamaged wraps an error of bleve about its own files, and the panics and faults that
// such files cause.
type errDamaged struct{ error }

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

// errUnsaved reports that too many changes wait for a disk that fails.
var errUnsaved = errors.New("cannot save the index")

// diskFull reports whether err means that the disk or the quota is full. It compares
// the text, because scorch does not keep the error.
func diskFull(err error) bool { return containsText(err, syscall.ENOSPC, syscall.EDQUOT) }

// lacksResources reports whether err means a lack of system resources, a read-only file
// system or a disk that does not respond. Such an error is no evidence of a damaged index.
func lacksResources(err error) bool {
	return diskFull(err) || errors.Is(err, errUnsaved) ||
		containsText(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
			syscall.EROFS, berrors.ErrTimeout)
}

func containsText(err error, texts ...error) bool {
	return slices.ContainsFunc(texts, func(t error) bool { return strings.Contains(err.Error(), t.Error()) })
}
