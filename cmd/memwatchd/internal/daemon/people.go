package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/disk"
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

	mu          sync.RWMutex
	directories memory.Directories
	links       linkState
}

type linkState struct {
	valid *memory.Identities // the last valid ones
	stamp disk.Stamp         // of their file
}

var _ ops.Scopes = (*subjectMap)(nil)

// IsUserDir reports whether a directory of the root is a user's.
func (p *subjectMap) IsUserDir(dir string) bool { return p.every || slices.Contains(p.configured, dir) }

// listUnknownUsers lists the directories that look like those of users, but are the
// owner's by the configuration.
func (d *daemon) listUnknownUsers(add func(path, code, message string)) {
	for _, f := range d.index.Files(func(f *index.FileInfo) bool { return strings.HasSuffix(f.Path, "/MEMORY.md") }) {
		dir := strings.TrimSuffix(f.Path, "/MEMORY.md")
		_, logs := d.memory.Directory(dir + "/memory")
		if logs && memory.ReservedUser(dir) == nil && !d.subjects.IsUserDir(dir) {
			add(f.Path, "user_unlisted", "its directory has the form of a user's, but belongs to the owner; if it is a "+
				"user's, add it to memory.users")
		}
	}
}

// recordClaim records the subject that a file claims its directory for. An
// invalid file, such as one that is being written, leaves the previous claim in
// force.
func (p *subjectMap) recordClaim(doc *memory.Document, unsettled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if doc.Claim == "" && (unsettled || doc.Front.Broken) {
		return
	}
	p.directories.Set(doc.Place, doc.Claim)
}

// restoreFile records the claim of a file that the index contains, if the file is unchanged. Until markComplete is called, directories without a
// claim belong to no subject.
func (p *subjectMap) restoreFile(place memory.Place, claim string, unchanged bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
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
	if subject != "" {
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
func (p *subjectMap) readLinks(stamp disk.Stamp) (*memory.Identities, error) {
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
