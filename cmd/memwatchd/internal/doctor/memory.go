package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

// lookAtDirectory tells whether memory can be read and written.
func lookAtDirectory(_ context.Context, e *examination) []finding {
	dir := e.config.Memory.Dir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{Mark: problem, Text: "memory.dir: there is no " + dir, Advice: "make it, or correct memory.dir", Command: e.flags.Command("init")}}
	case err != nil:
		return []finding{{Mark: problem, Text: "memory.dir: " + err.Error()}}
	case !info.IsDir():
		return []finding{{Mark: problem, Text: "memory.dir: " + dir + " is not a directory", Advice: "correct memory.dir"}}
	}
	if err := listable(dir); err != nil {
		return []finding{{Mark: problem, Text: "memory.dir cannot be read: " + err.Error(), Command: "chmod u+rwx " + term.QuoteWord(dir)}}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS); err != nil {
		f := finding{Mark: warning, Text: fmt.Sprintf("%s cannot be written (%v): everything else works, and nothing is changed there", dir, err), Command: "chmod u+w " + term.QuoteWord(dir)}
		if err == unix.EROFS {
			f.Command = ""
		}
		return []finding{f}
	}
	if e.tree == nil {
		return []finding{{Mark: problem, Text: fmt.Sprintf("%s cannot be looked at: %v", dir, e.treeErr)}}
	}
	return well("%s: %s in %s, %s", dir, term.Plural(e.tree.markdown, "Markdown file"), term.Plural(e.tree.directories, "directory"), term.Bytes(e.tree.bytes))
}

// listable reports whether the names in a directory can be read.
func listable(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// lookAtPermissions tells whether others can read what is private.
func lookAtPermissions(_ context.Context, e *examination) []finding {
	dir := config.RealPath(e.config.Memory.Dir)
	info, err := os.Stat(dir)
	if err != nil {
		return nil // said already
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return []finding{{Mark: warning, Text: fmt.Sprintf("%s belongs to user %d, and this is user %d: files of other users are never changed", dir, st.Uid, os.Geteuid()),
			Advice: "run the daemon as the user whose memory it is"}}
	}
	var modes []fs.FileMode
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return nil
		}
		if modes = append(modes, info.Mode()); at == filepath.Dir(at) {
			break
		}
	}
	return permissionsOf(dir, modes)
}

// permissionsOf judges the modes of a directory and of those above it.
func permissionsOf(dir string, modes []fs.FileMode) []finding {
	mode, others, group := modes[0].Perm(), true, true
	for _, m := range modes {
		others, group = others && m&0o001 != 0, group && m&0o010 != 0
	}
	f := finding{Mark: warning, Advice: "take that away, unless it is meant", Command: "chmod go-rwx " + term.QuoteWord(dir)}
	switch {
	case others && mode&0o002 != 0:
		f.Text = fmt.Sprintf("everybody on this machine can write to %s (mode %04o)", dir, mode)
	case others:
		f.Text = fmt.Sprintf("everybody on this machine can come to %s (mode %04o), and read what is private in it", dir, mode)
	case group && mode&0o020 != 0:
		f.Mark, f.Text = note, fmt.Sprintf("the group of %s can write to it (mode %04o)", dir, mode)
	default:
		return well("mode %04o: others cannot read it", mode)
	}
	return []finding{f}
}

// lookAtFileSystem tells what the directory's disk is able to do.
func lookAtFileSystem(_ context.Context, e *examination) (list []finding) {
	dir := e.config.Memory.Dir
	kind, err := vault.FileSystemOf(dir)
	if err != nil {
		return nil // there is no directory, or it is not known here
	}
	why := watcher.Remote(config.RealPath(dir))
	if why != "" {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("%s is %s: it is looked at every %s instead", dir, why, config.ShortDuration(e.config.Watch.Poll)),
			Advice: "a save is found a little later; memory is better kept on a disk of this machine"})
	}
	if kind.Name == "tmpfs" {
		list = append(list, finding{Mark: warning, Text: dir + " is on a tmpfs: it is gone when the machine is turned off", Advice: "keep memory on a disk"})
	}
	able, seen := kind.Exchange, ""
	switch s := e.status; {
	case e.tryWrite:
		able, seen = vault.Able, "as was tried"
		if err := vault.TryExchange(dir); err != nil {
			able, seen = vault.Unable, err.Error()
		}
	case s != nil && s.Write.Applied > 0 && s.Root == dir:
		able, seen = vault.Able, "as the daemon has done"
	}
	return append(list, exchangeOf(kind.Name, able, seen, e.flags.Command("doctor --try-write"))...)
}

// exchangeOf judges whether files can be written to.
func exchangeOf(name string, able vault.Ability, seen, try string) []finding {
	switch able {
	case vault.Unable:
		return []finding{{Mark: warning, Text: fmt.Sprintf("two files cannot be exchanged in one step there (%s), so nothing is written", cmp.Or(seen, name)),
			Advice: "everything else works; to have tasks, counters and room seen to, keep memory on a disk of this machine"}}
	case vault.MaybeAble:
		return []finding{{Mark: note, Text: fmt.Sprintf("whether two files can be exchanged in one step there (%s), without which nothing is written, is not known", name),
			Advice: "try it with two empty files, which are removed again", Command: try}}
	}
	if seen != "" {
		return well("%s: files are exchanged in one step, %s", name, seen)
	}
	return well("%s: files can be exchanged in one step", name)
}

// lookAtCopies tells which tools copy the directory elsewhere.
func lookAtCopies(_ context.Context, e *examination) []finding {
	if e.tree == nil {
		return nil
	}
	return copiesOf(syncTools(config.RealPath(e.config.Memory.Dir), e.tree.marks), e.config.Compactor.Host)
}

func copiesOf(tools []string, host string) []finding {
	if len(tools) == 0 {
		return nil
	}
	f := finding{Mark: note, Text: "synced by " + strings.Join(tools, ", ") + ", as it seems"}
	if host == "" {
		f.Advice = "where several machines have it, the first that tidies up goes on doing so; compactor.host names one"
	}
	return []finding{f}
}

// lookAtGit tells whether the directory is versioned, and what git is in the
// middle of.
func lookAtGit(_ context.Context, e *examination) []finding {
	git, busy := vault.Versioned(e.config.Memory.Dir, e.now)
	switch {
	case busy != "":
		return []finding{{Mark: warning, Text: busy + " in " + filepath.Dir(git) + ": nothing is written there that nobody asked for", Advice: "finish it",
			Command: "git -C " + term.QuoteWord(filepath.Dir(git)) + " status"}}
	case git != "":
		return []finding{{Mark: note, Text: "it is versioned with git, in " + filepath.Dir(git), Advice: "what is forgotten stays in its history"}}
	case e.tree != nil && e.tree.markdown > 0 && len(syncTools(config.RealPath(e.config.Memory.Dir), e.tree.marks)) == 0:
		return []finding{{Mark: note, Text: "nothing was seen that keeps a second copy of it (neither git nor a tool that syncs)", Advice: "make sure that it is in a backup"}}
	}
	return nil
}

// lookAtOwners tells which files are never changed because of what they are.
func lookAtOwners(_ context.Context, e *examination) (list []finding) {
	if e.tree == nil {
		return nil
	}
	root := e.config.Memory.Dir
	if c := &e.tree.foreign; c.n > 0 {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%s of other users, never changed: %s", term.Plural(c.n, "file"), c), Command: c.command("sudo chown $(id -u)", "! -user $(id -u)", root)})
	}
	if c := &e.tree.readOnly; c.n > 0 {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("%s read-only, never changed: %s", term.Plural(c.n, "file"), c), Command: c.command("chmod u+w", "! -perm -u+w", root)})
	}
	if c := &e.tree.named; c.n > 0 {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("%s with several names (hard links), never changed: %s", term.Plural(c.n, "file"), c)})
	}
	if list == nil {
		return well("every file is ours to change")
	}
	return list
}

// inspectCopies reports versions of files that a person has to compare: conflict
// copies of sync tools, and versions that the daemon kept at a crash.
func inspectCopies(_ context.Context, e *examination) (list []finding) {
	if e.tree == nil {
		return nil
	}
	if c := &e.tree.conflicts; c.n > 0 {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("A sync tool made conflict copies, which the daemon does not read: %s.", c),
			Advice: "Copy the missing lines to the file itself, then remove the conflict copy."})
	}
	if c := &e.tree.kept; c.n > 0 {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("The daemon kept versions that were saved during a write: %s.", c),
			Advice: "Compare each with the file of the name before .kept, then remove it."})
	}
	return list
}
