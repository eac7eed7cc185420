package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// inspectDirectory reports whether the memory directory exists, whether other users
// can read it, and properties of its file system.
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
	}
	if _, err := os.ReadDir(dir); err != nil {
		list.add(problem, "", "chmod u+rwx "+term.QuoteWord(dir), "memory.dir cannot be read: %v", err)
		return list
	}
	list = permissionFindings(config.RealPath(dir))
	if unix.Access(dir, unix.W_OK) != nil {
		list.add(warning, "The daemon answers requests, and changes no file.", "chmod u+w "+term.QuoteWord(dir),
			"%s is read-only.", dir)
	}
	if kind, err := vault.FileSystemOf(dir); err == nil && kind.Remote != "" {
		list.add(note,
			"The daemon scans it every "+config.ShortDuration(e.config.Tuning.Poll)+". Prefer a local disk.", "",
			"%s is %s.", dir, kind.Remote)
	} else if err == nil && kind.Name == "tmpfs" {
		list.add(warning, "Move the memory to a disk.", "", "%s is on a tmpfs. A restart of the machine deletes it.",
			dir)
	}
	owner, before := e.config.Memory.Owner, config.Default().Memory.Owner
	left := "_longterms/" + memory.SubjectDir(before)
	if _, err := os.Stat(filepath.Join(dir, left)); err == nil && owner != before {
		list.add(warning, "If it is yours, rename it to _longterms/"+memory.SubjectDir(owner)+
			", and replace subject_id: "+before+" in files.", "",
			"%s belongs to the subject %s, and memory.owner is %s.", left, before, owner)
	}
	return list.orPassed("%s is private.", dir)
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
