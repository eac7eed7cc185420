package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// subjectMap maps directories and external keys to subjects: it determines which
// directories are a user's, which subject each directory belongs to, and which
// external keys are linked to which subject. It is safe for concurrent use.
type subjectMap struct {
	vault      *vault.Vault
	configured []string // directories that are always a user's
	every      bool     // every directory of the root is a user's
	union      bool     // linked keys are read too

	checkMu sync.Mutex // held from examining a directory until the result is in users

	mu          sync.RWMutex
	directories memory.Directories
	users       map[string]bool // results of the last check of each directory
	memoryMDs   map[string]bool // directories with a MEMORY.md that was read and does not count as missing
	links       linkState
}

type linkState struct {
	valid *memory.Identities // the last valid ones
	stamp memory.Stamp       // of their file
}

var _ ops.Scopes = (*subjectMap)(nil)

// IsUserDir reports whether a directory of the root is a user's.
func (p *subjectMap) IsUserDir(dir string) bool {
	isUser, known := p.lookUpDir(dir)
	if !known && !p.every {
		p.recheckDirs([]string{dir})
		isUser, _ = p.lookUpDir(dir)
	}
	return p.every || isUser
}

func (p *subjectMap) lookUpDir(dir string) (isUser, known bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	isUser, known = p.users[dir]
	return isUser, known
}

// checkDir reports whether a directory is a user's: it is listed, or has
// MEMORY.md and memory/. A missing MEMORY.md counts as present until the
// watcher reports it as missing, because many editors move a file away before
// they write it.
func (p *subjectMap) checkDir(dir string) (bool, error) {
	if p.every || slices.Contains(p.configured, dir) {
		return true, nil
	}
	_, err := p.vault.Stat(dir + "/memory")
	if err != nil && !vault.Absent(err) {
		return false, err
	}
	if _, ok := p.vault.Directory(dir + "/memory"); !ok || !errors.Is(err, vault.ErrNotRegular) {
		return false, nil
	}
	_, err = p.vault.Stat(dir + "/MEMORY.md")
	if err != nil && !vault.Absent(err) {
		return false, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return err == nil || errors.Is(err, fs.ErrNotExist) && p.memoryMDs[dir], nil
}

// memoryMDDir returns the directory of the root whose MEMORY.md is path.
func memoryMDDir(path string) (dir string, ok bool) {
	dir, ok = strings.CutSuffix(path, "/MEMORY.md")
	return dir, ok && !strings.Contains(dir, "/")
}

// addMemoryMDLocked records that a file exists if it is a directory's MEMORY.md.
func (p *subjectMap) addMemoryMDLocked(path string) {
	if dir, ok := memoryMDDir(path); ok {
		p.memoryMDs[dir] = true
	}
}

// recheckDirs checks directories and returns those that became a user's or stopped
// being one. It omits directories that were never checked before, because none of their
// files has been read. If a check fails, the last result stays.
func (p *subjectMap) recheckDirs(dirs []string) (changed []string) {
	p.checkMu.Lock()
	defer p.checkMu.Unlock()
	for _, dir := range dirs {
		before, known := p.lookUpDir(dir)
		isUser, err := p.checkDir(dir)
		if err != nil {
			isUser = before
		}
		p.mu.Lock()
		p.users[dir] = isUser
		p.mu.Unlock()
		if known && isUser != before {
			changed = append(changed, dir)
		}
	}
	return changed
}

// changedMains returns the MEMORY.md of the directories that became a user's, or stopped
// being one, since they were checked.
func (p *subjectMap) changedMains() (paths []string) {
	p.mu.RLock()
	users := maps.Clone(p.users)
	p.mu.RUnlock()
	for dir, before := range users {
		if isUser, err := p.checkDir(dir); err == nil && isUser != before {
			paths = append(paths, dir+"/MEMORY.md")
		}
	}
	return paths
}

// recordClaim records the subject that a file claims its directory for. An
// invalid file, such as one that is being written, leaves the previous claim in
// force.
func (p *subjectMap) recordClaim(doc *memory.Document, unsettled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addMemoryMDLocked(doc.Place.Path)
	if doc.Claim == "" && (unsettled || doc.Front.Broken) {
		return
	}
	p.directories.Set(doc.Place, doc.Claim)
}

// restoreFile records what the index contains about a file: that it existed, and its
// claim if the file is unchanged. Until markComplete is called, directories without a
// claim belong to no subject.
func (p *subjectMap) restoreFile(place memory.Place, claim string, unchanged bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addMemoryMDLocked(place.Path)
	if unchanged {
		p.directories.Set(place, claim)
	}
}

// isIncomplete reports whether markComplete has not been called.
func (p *subjectMap) isIncomplete() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.Incomplete
}

// markComplete records that every file has been read.
func (p *subjectMap) markComplete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.directories.Incomplete = false
}

func (p *subjectMap) removeFile(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.directories.Remove(path)
	if dir, ok := memoryMDDir(path); ok {
		delete(p.memoryMDs, dir)
	}
}

func (p *subjectMap) listConflicts() []memory.Conflict {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.Conflicts()
}

// Resolve returns the subject of an external key.
func (p *subjectMap) Resolve(externalKey string) string {
	links, _ := p.identities()
	subject, _ := links.Resolve(externalKey)
	return subject
}

// Links returns the external keys that are linked to a subject. The error
// reports why the current file is not used; the list is then the last valid
// one.
func (p *subjectMap) Links() ([]memory.LinkedKey, error) {
	links, err := p.identities()
	return links.Links(), err
}

// Scope returns the scope of a subject with its aliases.
func (p *subjectMap) Scope(subject string, context memory.Context) memory.Scope {
	s := memory.Scope{Subject: subject, Context: context}
	if p.union && subject != "" {
		links, _ := p.identities()
		s.Aliases = links.AliasesOf(subject)
	}
	return s
}

func (p *subjectMap) subjectOf(owner string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.Subject(owner)
}

// View returns the entries a scope may read.
func (p *subjectMap) View(s memory.Scope) (memory.View, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.View(s)
}

// identities returns the current links. It checks the file on each call, so that a
// removed link ends at once. While the file is unreadable or invalid, the last valid
// links apply, and the error is the reason.
func (p *subjectMap) identities() (*memory.Identities, error) {
	stamp, err := p.vault.Stat(memory.IdentitiesPath)
	p.mu.RLock()
	now := p.links
	p.mu.RUnlock()
	if err == nil && stamp == now.stamp {
		return now.valid, nil
	}
	var next linkState
	if os.IsNotExist(err) {
		err = nil
	} else {
		if err == nil {
			next.stamp = stamp
			next.valid, err = p.readLinks(stamp)
		}
		if err != nil { // it may pass although the file stays the same: read the file again
			next = linkState{valid: now.valid}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links = next
	return next.valid, err
}

// readLinks reads the file of links. Since a link gives another key access to a
// subject's memory, the file must belong to the daemon's user and must not be
// writable by others.
func (p *subjectMap) readLinks(stamp memory.Stamp) (*memory.Identities, error) {
	file, err := p.vault.Read(memory.IdentitiesPath)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(filepath.Join(p.vault.Dir, filepath.FromSlash(memory.IdentitiesPath)))
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || st.Ino != file.Stamp.Inode || file.Stamp != stamp || file.Unstable:
		return nil, fmt.Errorf("%s is changing", memory.IdentitiesPath)
	case int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s is ignored: owned by uid %d", memory.IdentitiesPath, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s is ignored: writable by other users: run `chmod go-w` on it", memory.IdentitiesPath)
	}
	return memory.ParseIdentities(file.Data)
}

// topDirs returns the top-level directories of paths, each once.
func topDirs(paths []string) (dirs []string) {
	for _, path := range paths {
		if dir, _, nested := strings.Cut(path, "/"); nested {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
