package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
)

// A survey is what lies in a memory directory: names, owners and times, and no
// text.
type survey struct {
	now time.Time

	directories int // that are watched, the root among them
	markdown    int
	bytes       int64     // of Markdown
	newest      time.Time // change of a file

	conflicts counted // copies that sync tools have made
	kept      counted // versions that the daemon has put aside
	foreign   counted // Markdown of other users
	readOnly  counted // Markdown that even its owner may not write
	named     counted // Markdown with several names

	marks []string // hidden names of the root and of the directories above it, and of some files below
}

// counted are paths below the root, of which only the first are remembered.
type counted struct {
	n     int
	first []string
}

// maxNamed is how many paths are named of each sort.
const maxNamed = 3

func (c *counted) add(path string) {
	if c.n++; c.n <= maxNamed {
		c.first = append(c.first, path)
	}
}

// String names the first, and says how many more there are.
func (c *counted) String() string {
	s := strings.Join(c.first, ", ")
	if more := c.n - len(c.first); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// command is one that takes these paths; where they are more than are named, all
// Markdown below the root of which find's test holds.
func (c *counted) command(words, test, root string) string {
	if c.n > len(c.first) && test != "" {
		return fmt.Sprintf("find %s -name '*.md' %s -exec %s {} +", term.QuoteWord(root), test, words)
	}
	for _, path := range c.first {
		words += " " + term.QuoteWord(filepath.Join(root, filepath.FromSlash(path)))
	}
	return words
}

// keptName matches names that the daemon gives to the versions it keeps.
var keptName = regexp.MustCompile(`\.kept-[0-9a-z]+$`)

// surveyOf looks at everything below a root that is not in a hidden directory.
func surveyOf(ctx context.Context, root string, now time.Time) (*survey, error) {
	s := &survey{now: now}
	root = config.RealPath(root)
	for at := filepath.Dir(root); at != filepath.Dir(at); at = filepath.Dir(at) {
		for _, mark := range syncMarks {
			if _, err := os.Lstat(filepath.Join(at, mark.name)); err == nil {
				s.marks = append(s.marks, mark.name)
			}
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		switch {
		case path == root:
			if err == nil {
				s.directories++
			}
			return err
		case err != nil:
			return nil // what cannot be read is for check to tell
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			if !strings.Contains(rel, "/") {
				s.marks = append(s.marks, d.Name())
			}
			return fs.SkipDir
		case d.IsDir():
			s.directories++
			return nil
		}
		s.look(rel, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// look takes one file into account.
func (s *survey) look(path string, d fs.DirEntry) {
	name := d.Name()
	if strings.HasPrefix(name, ".") && (!strings.Contains(path, "/") || strings.HasSuffix(name, ".icloud")) {
		s.marks = append(s.marks, name)
	}
	switch {
	case keptName.MatchString(name):
		s.kept.add(path)
	case isConflict((&memory.Layout{}).Skip(path)):
		s.conflicts.add(path)
	case strings.EqualFold(filepath.Ext(name), ".md") && d.Type().IsRegular():
		info, err := d.Info()
		if err != nil {
			return
		}
		s.markdown++
		s.bytes += info.Size()
		if info.ModTime().After(s.newest) {
			s.newest = info.ModTime()
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case ok && int(st.Uid) != os.Geteuid():
			s.foreign.add(path)
		case info.Mode()&0o200 == 0:
			s.readOnly.add(path)
		case ok && st.Nlink > 1:
			s.named.add(path)
		}
	}
}

// isConflict reports whether a file is not read because a sync tool has made it.
func isConflict(reason string) bool { return strings.HasPrefix(reason, "conflict copy") }

// syncMarks are the names by which tools are known that copy a directory to other
// machines.
var syncMarks = []struct{ name, tool string }{
	{".stfolder", "Syncthing"}, {".stignore", "Syncthing"}, {".stversions", "Syncthing"},
	{".dropbox", "Dropbox"}, {".dropbox.cache", "Dropbox"},
	{".nextcloudsync.log", "Nextcloud"}, {".owncloudsync.log", "ownCloud"},
	{".sync", "Resilio Sync"}, {".SeafileCollection", "Seafile"}, {".unison", "Unison"},
}

// syncPlaces are directories that such tools keep in step, by a part of their
// paths.
var syncPlaces = []struct{ part, tool string }{
	{"/Dropbox", "Dropbox"}, {"/OneDrive", "OneDrive"}, {"/Google Drive/", "Google Drive"}, {"/GoogleDrive", "Google Drive"},
	{"/Mobile Documents/", "iCloud"}, {"/iCloud Drive/", "iCloud"}, {"/CloudStorage/", "a cloud storage"},
	{"/Nextcloud/", "Nextcloud"}, {"/pCloud", "pCloud"}, {"/Nutstore", "Nutstore"},
}

// syncTools are the tools that seem to copy a directory with such names in it, by
// name, each once.
func syncTools(dir string, marks []string) []string {
	var tools []string
	for _, m := range syncMarks {
		if slices.Contains(marks, m.name) {
			tools = append(tools, m.tool)
		}
	}
	for _, name := range marks {
		if strings.HasSuffix(name, ".icloud") {
			tools = append(tools, "iCloud")
		}
		if strings.HasPrefix(name, ".sync_") && strings.HasSuffix(name, ".db") {
			tools = append(tools, "Nextcloud")
		}
	}
	for _, p := range syncPlaces {
		if strings.Contains(dir+"/", p.part) {
			tools = append(tools, p.tool)
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}
