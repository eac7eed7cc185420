package doctor

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/vault"
)

// inspectDisk reports the free space of the disks that the daemon writes to.
func inspectDisk(e *examination) (list findings) {
	c := e.config
	need := map[string]uint64{c.Memory.Dir: 0, c.State.Dir: 0, c.Index.Dir: 0}
	if e.status != nil {
		need[c.Index.Dir] = uint64(max(e.status.Index.Size, 0)) // a rebuild needs space for a second index
	}
	for _, path := range []string{c.Memory.Dir, c.State.Dir, c.Index.Dir} {
		dir := path
		for _, err := os.Stat(dir); errors.Is(err,
			fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
			dir = filepath.Dir(dir) // the parent of a directory that does not exist yet
		}
		if kind, err := vault.FileSystemOf(dir); err == nil {
			list = append(list, spaceFindings(path, kind, need[path])...)
		}
	}
	return list
}

// Free space in bytes.
const (
	noSpace     = 8 << 20   // too little for any write
	littleSpace = 128 << 20 // too little for the usual growth
)

// spaceFindings reports the free space of the disk of dir, where need bytes may be
// written at once.
func spaceFindings(dir string, kind vault.FileSystem, need uint64) (list findings) {
	free := term.FormatBytes(int64(min(kind.Free, math.MaxInt64)))
	advice := "Free space on that disk."
	switch {
	case kind.Total == 0:
		return nil // the file system does not report it
	case kind.Files < 16:
		list.add(problem, advice, "", "The disk of %s has room for %d files.", dir, kind.Files)
	case kind.Free < noSpace:
		list.add(problem, advice, "", "The disk of %s has %s free.", dir, free)
	case kind.Free < littleSpace || kind.Free < 2*need:
		list.add(warning, advice, "", "The disk of %s has %s free.", dir, free)
	}
	return list.orPassed("The disk of %s has %s free.", dir, free)
}
