package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/ops"
	"github.com/memwatchd/memwatchd/vault"
)

// people knows whose memory is whose: which directories are a user's, which
// subject each directory belongs to, and which external keys are linked to whom.
// It is safe for concurrent use.
type people struct {
	vault  *vault.Vault
	listed []string // directories that are a user's whatever they hold
	union  bool     // linked keys are read too

	looking sync.Mutex // held from looking at a directory until the result is in users

	mu          sync.RWMutex
	directories memory.Directories
	users       map[string]bool // what the last look at a directory said
	mains       map[string]bool // directories with a MEMORY.md that was read and is not believed gone
	links       links
}

// links are the identities as they were last read.
type links struct {
	sound   *memory.Identities // the last that made sense
	stamp   memory.Stamp       // of the file that they, or the problem, come from
	problem string             // why the file that is there now does not hold
}

var _ ops.Scopes = (*people)(nil)

// Users reports whether a directory of the root is a user's.
func (p *people) Users(dir string) bool {
	if is, known := p.user(dir); known {
		return is
	}
	p.looking.Lock()
	defer p.looking.Unlock()
	is, known := p.user(dir)
	if !known {
		is = p.look(dir)
	}
	return is
}

// user returns the result of the last look at a directory.
func (p *people) user(dir string) (is, known bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	is, known = p.users[dir]
	return is, known
}

// look checks, and remembers, whether a directory is a user's. If that cannot be
// told for the moment, the last result stays. The caller holds p.looking.
func (p *people) look(dir string) bool {
	is, err := p.check(dir)
	if err != nil {
		is, _ = p.user(dir)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == nil {
		p.users = map[string]bool{}
	}
	p.users[dir] = is
	return is
}

// check reports whether a directory is a user's: it is listed, or has MEMORY.md
// and memory/. A MEMORY.md that is missing counts until it is believed gone,
// because many editors move a file away before they write it.
func (p *people) check(dir string) (bool, error) {
	if slices.Contains(p.listed, dir) {
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
	return err == nil || errors.Is(err, fs.ErrNotExist) && p.hasMain(dir), nil
}

func (p *people) hasMain(dir string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.mains[dir]
}

// mainOf returns the directory of the root that has path as its MEMORY.md.
func mainOf(path string) (dir string, ok bool) {
	dir, ok = strings.CutSuffix(path, "/MEMORY.md")
	return dir, ok && !strings.Contains(dir, "/")
}

// noteMainLocked records that a file exists, which may be a directory's
// MEMORY.md.
func (p *people) noteMainLocked(path string) {
	if dir, ok := mainOf(path); ok {
		if p.mains == nil {
			p.mains = map[string]bool{}
		}
		p.mains[dir] = true
	}
}

// changed looks again at directories, and returns those that have become a
// user's, or are one no more. Directories not looked at before are not among
// them: none of their files has been read.
func (p *people) changed(dirs []string) []string {
	p.looking.Lock()
	defer p.looking.Unlock()
	var out []string
	for _, dir := range dirs {
		before, known := p.user(dir)
		if is := p.look(dir); known && is != before {
			out = append(out, dir)
		}
	}
	return out
}

// differing returns the directories that have become a user's, or are one no more,
// since they were looked at. It remembers nothing.
func (p *people) differing(dirs []string) []string {
	p.looking.Lock()
	defer p.looking.Unlock()
	var out []string
	for _, dir := range dirs {
		before, _ := p.user(dir)
		if is, err := p.check(dir); err == nil && is != before {
			out = append(out, dir)
		}
	}
	return out
}

// known lists the directories that were ever asked about, sorted.
func (p *people) known() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	dirs := make([]string, 0, len(p.users))
	for dir := range p.users {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

// claim notes what a file says of whose directory it lies in. A file that makes
// no sense, as one may while it is being written, says nothing about it: what it
// said before holds.
func (p *people) claim(doc *memory.Document, unsettled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteMainLocked(doc.Place.Path)
	if doc.Claim == "" && (unsettled || doc.Front.Broken) {
		return
	}
	p.directories.Set(doc.Place, doc.Claim)
}

// recall takes over a claim that is known from before. Until settled is called,
// directories without one are nobody's.
func (p *people) recall(place memory.Place, claim string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.directories.Set(place, claim)
}

// recallMain takes over that a file was there when it was last looked for.
func (p *people) recallMain(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteMainLocked(path)
}

// unsure reports whether settled has not been called.
func (p *people) unsure() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.Unsure
}

// settled says that every file has been read.
func (p *people) settled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.directories.Unsure = false
}

// gone forgets what a file said.
func (p *people) gone(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.directories.Remove(path)
	if dir, ok := mainOf(path); ok {
		delete(p.mains, dir)
	}
}

func (p *people) conflicts() []memory.Conflict {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.Conflicts()
}

// Resolve is the subject that an external key stands for.
func (p *people) Resolve(externalKey string) string {
	subject, _ := p.identities().Resolve(externalKey)
	return subject
}

// Links are the external keys that are linked to a subject, and why the file as
// it is now does not hold.
func (p *people) Links() ([]memory.LinkedKey, error) {
	list := p.identities().Links()
	if problem := p.problem(); problem != "" {
		return list, errors.New(problem)
	}
	return list, nil
}

// Scope is a subject with its aliases.
func (p *people) Scope(subject string, context memory.Context) memory.Scope {
	s := memory.Scope{Subject: subject, Context: context}
	if p.union && subject != "" {
		s.Aliases = p.identities().AliasesOf(subject)
	}
	return s
}

// subject is the subject behind an owner key.
func (p *people) subject(owner string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.Subject(owner)
}

// View is what a scope may read.
func (p *people) View(s memory.Scope) (memory.View, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.directories.View(s)
}

// identities are the links as the file says now. It is looked at each time it
// is needed, so that a link that was removed holds no longer; while it cannot
// be read, or makes no sense, the last one that did holds.
func (p *people) identities() *memory.Identities {
	stamp, err := p.vault.Stat(memory.IdentitiesPath)
	p.mu.RLock()
	now := p.links
	p.mu.RUnlock()
	if err == nil && stamp == now.stamp {
		return now.sound
	}
	next := now
	next.stamp = stamp
	switch {
	case vault.Absent(err):
		next = links{}
		if ok := os.IsNotExist(err); !ok {
			next = links{sound: now.sound, problem: err.Error()}
		}
	case err != nil:
		next.problem = err.Error()
	default:
		sound, err := p.readLinks(stamp)
		next.problem = ""
		if err != nil {
			next.problem = err.Error()
		} else {
			next.sound = sound
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links = next
	return next.sound
}

// readLinks reads the file of links. It opens one person's memory to another
// key: it must be ours, and nobody else may be able to write to it.
func (p *people) readLinks(stamp memory.Stamp) (*memory.Identities, error) {
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
	case !ok || st.Ino != file.Stamp.Inode || file.Stamp != stamp || file.Unsettled:
		return nil, fmt.Errorf("%s is being changed", memory.IdentitiesPath)
	case int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to uid %d and is not read", memory.IdentitiesPath, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s can be written by others and is not read: chmod go-w it", memory.IdentitiesPath)
	}
	return memory.ParseIdentities(file.Data)
}

// problem is what a person should know about the file of links.
func (p *people) problem() string {
	p.identities()
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.links.problem
}

// topDirs lists the directories of the root that paths lie in, each once.
func topDirs(paths []string) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, path := range paths {
		if dir, _, nested := strings.Cut(path, "/"); nested && !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
