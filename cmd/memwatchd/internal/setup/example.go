package setup

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// exampleFiles is a small memory with a file of every kind. In its names and
// texts, TODAY and YESTERDAY stand for those days.
//
//go:embed all:example
var exampleFiles embed.FS

// writeExample writes the example into an empty directory, and returns the
// number of files written: 0 if the directory is not empty.
func writeExample(dir string, now time.Time) (files int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return 0, err
	}
	days := strings.NewReplacer("YESTERDAY", now.AddDate(0, 0, -1).Format(time.DateOnly), "TODAY",
		now.Format(time.DateOnly))
	err = fs.WalkDir(exampleFiles, "example", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := exampleFiles.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		name := filepath.FromSlash(days.Replace(strings.TrimPrefix(path, "example/")))
		_, err = writeIfMissing(filepath.Join(dir, name), days.Replace(string(text)))
		return err
	})
	return files, err
}
