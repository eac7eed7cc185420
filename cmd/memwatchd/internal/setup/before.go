package setup

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/internal/state"
)

// A before contains what an installation replaced in a settings file, so that the removal of
// the last part restores every byte, an empty object included. It applies as long as no other
// program changes the file.
type before struct {
	Existed        bool
	Prefix, Suffix int    // bytes that stayed, at the beginning and the end of the file
	Middle         []byte // the bytes between them before the installation
	After          [sha256.Size]byte
}

func beforesPath() string { return filepath.Join(xdg.StateHome, "memwatchd", "settings.json") }

// loadBefores returns the records by path of the file.
func loadBefores() map[string]before {
	all := map[string]before{}
	_ = state.Load(beforesPath(), 0, &all) // without it, an edit removes the entries
	return all
}

// original returns the file before the first installation, nil for none. It reports false if the
// file has been changed by another program since, or is unknown.
func (s *settingsFile) original() (data []byte, known bool) {
	b, ok := loadBefores()[s.path]
	if !ok || b.After != sha256.Sum256(s.data) || !b.Existed {
		return nil, ok && b.After == sha256.Sum256(s.data)
	}
	return bytes.Join([][]byte{s.data[:b.Prefix], b.Middle, s.data[len(s.data)-b.Suffix:]}, nil), true
}

// recordChange records that a settings file was replaced, for [settingsFile.original]. If the
// file had parts of memwatchd and its original is unknown, the original stays unknown.
func (s *settingsFile) recordChange(after []byte, hadParts bool) error {
	original, known := s.original()
	all := loadBefores()
	b := before{Existed: all[s.path].Existed, After: sha256.Sum256(after)}
	if !known {
		original, b.Existed = s.data, b.Existed || s.info != nil
	}
	if !known && hadParts {
		b.After = [sha256.Size]byte{}
	}
	short := min(len(original), len(after))
	for b.Prefix < short && original[b.Prefix] == after[b.Prefix] {
		b.Prefix++
	}
	for b.Suffix < short-b.Prefix && original[len(original)-1-b.Suffix] == after[len(after)-1-b.Suffix] {
		b.Suffix++
	}
	b.Middle = original[b.Prefix : len(original)-b.Suffix]
	all[s.path] = b
	if err := os.MkdirAll(filepath.Dir(beforesPath()), 0o700); err != nil {
		return err
	}
	return state.Save(beforesPath(), all)
}
