package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/memory"
)

// Obsidian holds the settings of an Obsidian vault that concern its files. They come
// from the vault and not from the owner, so they give nobody more rights to read.
type Obsidian struct {
	Days *dates.Format // of its daily notes; nil if it has none
	// Ignore lists patterns for its templates, in the syntax of .gitignore.
	Ignore []string
	// Templates lists the directories of its templates, also those that contain memory
	// and are therefore not in Ignore.
	Templates []string
	// Text identifies the settings that decide how files are interpreted.
	Text string
	// Problems lists the settings without effect.
	Problems []string
}

// Files of an Obsidian vault with settings.
const (
	dailyNotesFile = ".obsidian/daily-notes.json"
	templatesFile  = ".obsidian/templates.json"
	templaterFile  = ".obsidian/plugins/templater-obsidian/data.json"
)

// ReadObsidian reads the settings of Obsidian. A root without them has none.
func (v *Vault) ReadObsidian() (o Obsidian) {
	var days struct{ Folder, Format string }
	if v.readSettings(dailyNotesFile, &days, &o) {
		var err error
		o.Days, err = dates.ParseFormat(days.Folder, days.Format)
		if err != nil {
			o.addProblem(dailyNotesFile, err)
		}
		o.Text = days.Folder + "\n" + days.Format
	}
	var templates struct{ Folder string }
	if v.readSettings(templatesFile, &templates, &o) {
		o.ignoreFolder(templatesFile, templates.Folder)
	}
	var templater struct {
		Folder string `json:"templates_folder"`
	}
	if v.readSettings(templaterFile, &templater, &o) {
		o.ignoreFolder(templaterFile, templater.Folder)
	}
	return o
}

// readSettings reads a file of settings and reports whether it is usable.
func (v *Vault) readSettings(name string, to any, o *Obsidian) bool {
	file, err := v.Read(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrRoot) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(file.Data, to)
	}
	if err != nil {
		o.addProblem(name, err)
	}
	return err == nil
}

func (o *Obsidian) addProblem(name string, err error) {
	o.Problems = append(o.Problems, fmt.Sprintf("%s: %v", name, err))
}

// memoryFolders are the folders with files of memory itself, which are not ignored.
var memoryFolders = []string{"memory", "_longterms", "sessions", memory.ImportsDir}

func (o *Obsidian) ignoreFolder(name, folder string) {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	first, _, _ := strings.Cut(folder, "/")
	if folder == "" {
		return // no folder is set
	}
	o.Templates = append(o.Templates, folder)
	if slices.Contains(memoryFolders, first) || memory.IsDay(first) || strings.ContainsAny(folder, "\r\n") {
		o.addProblem(name, fmt.Errorf("the folder of templates %q contains memory; it is not ignored", folder))
		return
	}
	o.Ignore = append(o.Ignore, "/"+globEscape.Replace(folder)+"/")
}

// globEscape escapes the characters with a meaning in patterns.
var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "!", `\!`, "#", `\#`)
