package doctor

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	if info.Mode().Perm()&0o200 == 0 {
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

// inspectSync reports tools that copy the memory directory, and settings that they
// need.
func inspectSync(e *examination) (list findings) {
	dir := e.config.Memory.Dir
	tools := findSyncTools(config.RealPath(dir))
	git, busy := vault.FindGitDir(dir, e.now)
	repository := filepath.Dir(git)
	switch {
	case busy != "":
		list.add(warning, "Finish this operation. Until then, the daemon writes on request only.",
			"git -C "+term.QuoteWord(repository)+" status", "In %s, %s.", repository, busy)
	case git != "":
		list.add(note, "Its history keeps text that you forget.", "", "The memory is in the git repository %s.",
			repository)
	case len(tools) == 0:
		list.add(note, "Make sure that your backup includes it.", "",
			"Neither git nor a sync tool keeps a second copy of the memory.")
	}
	if len(tools) > 0 {
		advice := ""
		if e.config.Memory.Host == "" || e.config.Compactor.Host == "" {
			advice = "If several machines run a daemon on it, set memory.host to a different name on each of them, and " +
				"compactor.host to the one that maintains it."
		}
		list.add(note, advice, "", "The memory seems to be synchronized by %s.", strings.Join(tools, ", "))
	}
	if git != "" && !ignoreTempFiles(filepath.Join(dir, ".gitignore"), filepath.Join(repository, ".gitignore"),
		filepath.Join(git, "info", "exclude")) {
		list.add(note, "Add the line .memwatchd-* to .gitignore.", "", "git does not ignore the temporary files of the daemon.")
	}
	if slices.Contains(tools, syncthing) && !ignoreTempFiles(filepath.Join(dir, ".stignore")) {
		list.add(note, "Add the line (?d).memwatchd-* to .stignore.", "",
			"Syncthing does not ignore the temporary files of the daemon.")
	}
	return list
}

// syncTools lists tools that copy directories to other machines: patterns of their own
// files, and parts of the paths of directories that they copy.
var syncTools = []struct {
	name  string
	files []string
	parts []string
}{
	{syncthing, []string{".stfolder", ".stignore"}, nil},
	{"Dropbox", []string{".dropbox", ".dropbox.cache"}, []string{"/Dropbox"}},
	{"Nextcloud", []string{".nextcloudsync.log", ".owncloudsync.log", ".sync_*.db"},
		[]string{"/Nextcloud/", "/ownCloud/"}},
	{"a cloud storage", nil, []string{"/Mobile Documents/", "/iCloud Drive/", "/OneDrive", "/Google Drive/", "/GoogleDrive",
		"/CloudStorage/", "/pCloud", "/Nutstore"}},
	{"another tool", []string{".sync", ".SeafileCollection", ".unison"}, nil},
}

const syncthing = "Syncthing"

// findSyncTools returns the names of the tools that seem to copy dir or a directory
// above it.
func findSyncTools(dir string) (tools []string) {
	for _, tool := range syncTools {
		found := slices.ContainsFunc(tool.parts, func(part string) bool { return strings.Contains(dir+"/", part) })
		for at := dir; !found && at != filepath.Dir(at); at = filepath.Dir(at) {
			found = slices.ContainsFunc(tool.files, func(pattern string) bool {
				names, _ := fs.Glob(os.DirFS(at), pattern)
				return len(names) > 0
			})
		}
		if found {
			tools = append(tools, tool.name)
		}
	}
	return tools
}

// ignoreTempFiles reports whether one of the files seems to have a pattern for the
// temporary files of the daemon.
func ignoreTempFiles(files ...string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte(".memwatchd-"))
	})
}
