package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// inspectDirectory reports whether this user can read and write the memory
// directory and its files, and whether other users can.
func inspectDirectory(e *examination) (list findings) {
	dir := e.config.Memory.Dir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		list.add(problem, "Create the directory, or correct memory.dir.", e.flags.Command("init"),
			"memory.dir: %s does not exist.", dir)
		return list
	case err == nil && !info.IsDir():
		list.add(problem, "Correct memory.dir.", "", "memory.dir: %s is not a directory.", dir)
		return list
	case e.survey == nil:
		list.add(problem, "", "chmod u+rwx "+term.QuoteWord(dir), "memory.dir cannot be read: %v", e.surveyErr)
		return list
	}
	list = permissionFindings(config.RealPath(dir))
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS); err != nil {
		list.add(warning, "The daemon answers requests, and changes no file.", "chmod u+w "+term.QuoteWord(dir),
			"%s cannot be written (%v).", dir, err)
	}
	for _, c := range []struct {
		paths        pathSample
		mark         severity
		kind, advice string
	}{
		{e.survey.otherOwner, warning, "files of other users", "Change their owner with chown."},
		{e.survey.readOnly, note, "read-only files", "Allow writing with chmod u+w."},
		{e.survey.linked, note, "files with several names (hard links)", "Replace the links by copies."},
	} {
		if c.paths.n > 0 {
			list.add(c.mark, c.advice, "", "The daemon does not change %s: %s.", c.kind, c.paths)
		}
	}
	owner, before := e.config.Memory.Owner, config.Default().Memory.Owner
	left := "_longterms/" + memory.SubjectDir(before)
	if _, err := os.Stat(filepath.Join(dir, left)); err == nil && owner != before {
		list.add(warning, fmt.Sprintf("If it is yours, rename it to _longterms/%s, and replace subject_id: %s in files.",
			memory.SubjectDir(owner), before), "", "%s belongs to the subject %s, and memory.owner is %s.", left, before,
			owner)
	}
	return list.orPassed("%s has %s in %s, and other users cannot read it.", dir,
		term.Plural(e.survey.markdown, "Markdown file"), term.Plural(e.survey.directories, "directory"))
}

// permissionFindings reports whether other users can reach dir, a path without links.
func permissionFindings(dir string) findings {
	var modes []fs.FileMode
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return nil
		}
		modes = append(modes, info.Mode())
		if at == filepath.Dir(at) {
			return modeFindings(dir, modes)
		}
	}
}

// modeFindings interprets the modes of dir and of the directories above it.
func modeFindings(dir string, modes []fs.FileMode) (list findings) {
	mode, others, group := modes[0].Perm(), true, true
	for _, m := range modes {
		others, group = others && m&0o001 != 0, group && m&0o010 != 0
	}
	advice, command := "Remove the permission, unless you want it.", "chmod go-rwx "+term.QuoteWord(dir)
	switch {
	case others && mode&0o002 != 0:
		list.add(warning, advice, command, "All users of this machine can write to %s (mode %04o).", dir, mode)
	case others:
		list.add(warning, advice, command, "All users of this machine can read private files in %s (mode %04o).", dir,
			mode)
	case group && mode&0o020 != 0:
		list.add(note, advice, command, "The group of %s can write to it (mode %04o).", dir, mode)
	}
	return list
}

// inspectFileSystem reports properties of the file system of the memory directory.
func inspectFileSystem(e *examination) (list findings) {
	dir := e.config.Memory.Dir
	kind, err := vault.FileSystemOf(dir)
	if err != nil {
		return nil // inspectDirectory reports that dir is missing
	}
	if kind.Remote != "" {
		list.add(note,
			"The daemon scans it every "+config.ShortDuration(e.config.Watch.Poll)+". Prefer a local disk.", "",
			"%s is %s.", dir, kind.Remote)
	}
	if kind.Name == "tmpfs" {
		list.add(warning, "Move the memory to a disk.", "", "%s is on a tmpfs. A restart of the machine deletes it.",
			dir)
	}
	switch s := e.status; {
	case e.tryWrite:
		kind.Exchange = vault.Able
		if err := vault.TryExchange(dir); err != nil {
			kind.Exchange, kind.Name = vault.Unable, err.Error()
		}
	case s != nil && s.Write.Applied > 0 && s.Root == dir:
		kind.Exchange = vault.Able
	}
	return append(list, exchangeFindings(kind, e.flags.Command("doctor --try-write"))...)
}

// exchangeFindings reports whether the daemon can write files.
func exchangeFindings(kind vault.FileSystem, try string) (list findings) {
	switch kind.Exchange {
	case vault.Unable:
		list.add(warning,
			"Searching works. To have the daemon write tasks, counters and archives, move the memory to a local disk.",
			"", "The file system cannot exchange two files (%s), and the daemon writes no files.", kind.Name)
	case vault.MaybeAble:
		list.add(note, "Try it with two empty files, which the command removes.", try,
			"It is unknown whether the file system can exchange two files (%s). Writing depends on that.", kind.Name)
	}
	return list.orPassed("The file system can exchange two files (%s).", kind.Name)
}

// inspectSync reports tools that copy the memory directory, and versions that a person
// has to compare: conflict copies, and versions that the daemon kept.
func inspectSync(e *examination) (list findings) {
	if e.survey == nil {
		return nil
	}
	tools := findSyncTools(config.RealPath(e.config.Memory.Dir), e.survey.hidden)
	git, busy := vault.FindGitDir(e.config.Memory.Dir, e.now)
	repository := filepath.Dir(git)
	switch {
	case busy != "":
		list.add(warning, "Finish this operation. Until then, the daemon writes on request only.",
			"git -C "+term.QuoteWord(repository)+" status",
			"In %s, %s.", repository, busy)
	case git != "":
		list.add(note, "Its history keeps text that you forget.", "", "The memory is in the git repository %s.",
			repository)
	case len(tools) == 0 && e.survey.markdown > 0:
		list.add(note, "Make sure that your backup includes it.", "",
			"Neither git nor a sync tool keeps a second copy of the memory.")
	}
	if len(tools) > 0 {
		advice, noHost := "", e.config.Memory.Host == ""
		switch {
		case noHost && e.config.Compactor.Host == "":
			advice = "If several machines run a daemon on it, set memory.host to a different name on each of them, and " +
				"compactor.host to the one that maintains it."
		case noHost:
			advice = "If several machines run a daemon on it, set memory.host to a different name on each of them."
		case e.config.Compactor.Host == "":
			advice = "If several machines run a daemon on it, set compactor.host to the one that maintains it."
		}
		list.add(note, advice, "", "The memory seems to be synchronized by %s.", strings.Join(tools, ", "))
	}
	dir := e.config.Memory.Dir
	if git != "" && !ignoreTempFiles(filepath.Join(dir, ".gitignore"), filepath.Join(repository, ".gitignore"),
		filepath.Join(git, "info", "exclude")) {
		list.add(note, "Add the line .memwatchd-* to .gitignore.", "", "git does not ignore the temporary files of the daemon.")
	}
	if slices.Contains(tools, syncthing) && !ignoreTempFiles(filepath.Join(dir, ".stignore")) {
		list.add(note, "Add the line (?d).memwatchd-* to .stignore.", "",
			"Syncthing does not ignore the temporary files of the daemon.")
	}
	if c := e.survey.conflicts; c.n > 0 {
		var many pathSample
		for _, of := range slices.Sorted(maps.Keys(e.survey.copies)) {
			if n := e.survey.copies[of]; n >= memory.ManyCopies {
				many.add(fmt.Sprintf("%s (%d)", of, n))
			}
		}
		if many.n > 0 {
			list.add(problem, "Merge them now, and set maxConflicts of the folder to -1: Syncthing keeps 10 by default, and "+
				"deletes the oldest with its text.", e.flags.Command("conflicts merge"), "Files have many conflict copies: %s.", many)
		}
		list.add(warning, "Merge each conflict copy into its file.", e.flags.Command("conflicts merge"),
			"A sync tool left conflict copies: %s.", c)
		if e.config.Memory.Host == "" {
			list.add(note, "Set memory.host to a different name on each machine.", "",
				"All machines write to the same daily notes.")
		}
	}
	if c := e.survey.savedCopies; c.n > 0 {
		list.add(warning, "Compare each with the file of the name before .kept, then remove it.", "",
			"The daemon kept versions that were saved during a write: %s.", c)
	}
	return list
}

// inspectVisibility reports daily notes and sessions that the configuration makes
// public, and those of groups that it keeps private.
func inspectVisibility(e *examination) (list findings) {
	layout, dir := e.config.Layout(), e.config.Memory.Dir
	for _, k := range []struct {
		kind, key string
		is        memory.Visibility
		find      func(string, *memory.Layout) config.GroupSign
	}{
		{"Sessions", "visibility.sessions", layout.Sessions, config.GroupSessions},
		{"Daily notes", "visibility.daily", layout.Daily, config.GroupUsers},
	} {
		if k.is == memory.PublicOK {
			list.add(note, "To keep them private, remove the key.", "",
				"%s that set no visibility are public: %s is public_ok.", k.kind, k.key)
		} else if sign := k.find(dir, &layout); sign.Path != "" {
			list.add(note, "To show them in groups, set "+k.key+" to public_ok.", "",
				"%s that set no visibility are private, and the memory seems to serve groups: %s.", k.kind, sign.Line())
		}
	}
	return list.orPassed("Daily notes and sessions that set no visibility are private.")
}

// A survey is the result of reading names, owners and times below the memory
// directory. It contains no text of files.
type survey struct {
	directories int // with the root, without hidden directories
	markdown    int

	conflicts   pathSample     // conflict copies of sync tools
	copies      map[string]int // number of conflict copies, by file
	savedCopies pathSample     // versions that the daemon kept
	otherOwner  pathSample     // Markdown files of other users
	readOnly    pathSample     // Markdown files that their owner cannot write
	linked      pathSample     // Markdown files with several names

	hidden []string // names of files for findSyncTools
}

// pathSample is a number of paths with the first of them.
type pathSample struct {
	n      int
	listed []string
}

// maxListed is the number of paths that a finding lists.
const maxListed = 3

func (c *pathSample) add(path string) {
	c.n++
	if c.n <= maxListed {
		c.listed = append(c.listed, path)
	}
}

// String returns the first paths and the number of the others.
func (c pathSample) String() string {
	s := strings.Join(c.listed, ", ")
	if more := c.n - len(c.listed); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// savedCopyName matches names that the daemon gives to the versions it keeps.
var savedCopyName = lazyregexp.New(`\.kept-[0-9a-z]+$`)

// surveyTree reads the names below root. It skips hidden directories, and directories
// that cannot be read.
func surveyTree(ctx context.Context, root string) (*survey, error) {
	s := &survey{copies: map[string]int{}}
	root = config.RealPath(root)
	for dir := root; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil && dir == root {
			return nil, err
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") {
				s.hidden = append(s.hidden, entry.Name())
			}
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // reported by check
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir():
			s.directories++
		default:
			rel, _ := filepath.Rel(root, path)
			s.addFile(filepath.ToSlash(rel), d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *survey) addFile(path string, d fs.DirEntry) {
	name := d.Name()
	if strings.HasSuffix(name, ".icloud") {
		s.hidden = append(s.hidden, name)
	}
	of, copied := memory.CopyOf(path)
	_, markdown := memory.CutMarkdown(name)
	switch {
	case savedCopyName().MatchString(name):
		s.savedCopies.add(path)
	case copied:
		s.conflicts.add(path)
		s.copies[of]++
	case markdown && d.Type().IsRegular():
		info, err := d.Info()
		if err != nil {
			return
		}
		s.markdown++
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case ok && int(st.Uid) != os.Geteuid():
			s.otherOwner.add(path)
		case info.Mode()&0o200 == 0:
			s.readOnly.add(path)
		case ok && st.Nlink > 1:
			s.linked.add(path)
		}
	}
}

// syncTools lists tools that copy directories to other machines: names of their own
// files, and parts of the paths of directories that they copy.
var syncTools = []struct {
	name  string
	files []string
	parts []string
}{
	{syncthing, []string{".stfolder", ".stignore", ".stversions"}, nil},
	{"Dropbox", []string{".dropbox", ".dropbox.cache"}, []string{"/Dropbox"}},
	{"Nextcloud", []string{".nextcloudsync.log", ".owncloudsync.log", ".sync_*.db"},
		[]string{"/Nextcloud/", "/ownCloud/"}},
	{"iCloud", []string{".*.icloud"}, []string{"/Mobile Documents/", "/iCloud Drive/"}},
	{"OneDrive", nil, []string{"/OneDrive"}},
	{"Google Drive", nil, []string{"/Google Drive/", "/GoogleDrive"}},
	{"another cloud storage", nil, []string{"/CloudStorage/", "/pCloud", "/Nutstore"}},
	{"another tool", []string{".sync", ".SeafileCollection", ".unison"}, nil},
}

const syncthing = "Syncthing"

// ignoreTempFiles reports whether one of the files seems to have a pattern for the
// temporary files of the daemon.
func ignoreTempFiles(files ...string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte(".memwatchd-"))
	})
}

// findSyncTools returns the names of the tools that seem to copy dir, which contains the
// hidden names, or a directory above it.
func findSyncTools(dir string, hidden []string) (tools []string) {
	for _, tool := range syncTools {
		found := slices.ContainsFunc(tool.parts, func(part string) bool { return strings.Contains(dir+"/", part) })
		for _, pattern := range tool.files {
			found = found || slices.ContainsFunc(hidden, func(name string) bool {
				ok, _ := filepath.Match(pattern, name)
				return ok
			})
		}
		if found {
			tools = append(tools, tool.name)
		}
	}
	return tools
}
