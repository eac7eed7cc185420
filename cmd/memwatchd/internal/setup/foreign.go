package setup

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// Names of the data of other memory programs.
var (
	linesFiles    = []string{"short_term.jsonl", "long_term.jsonl"}
	databaseFiles = []string{"*.sqlite", "*.sqlite3", "*.db"}
	foreignDirs   = []string{".", "memory", "data", "data/memory"}
)

// maxSchema bounds the beginning of a database in which its tables are named.
const maxSchema = 1 << 20

// useForeign finds data of other programs, which an import reads.
func (r *recognized) useForeign(root *os.Root, dir string) {
	for _, below := range foreignDirs {
		var lines []string
		for _, name := range linesFiles {
			if info, err := root.Lstat(filepath.Join(below, name)); err == nil && info.Mode().IsRegular() {
				lines = append(lines, filepath.Join(dir, below, name))
			}
		}
		if lines != nil {
			r.lines = append(r.lines, lines)
		}
		for _, pattern := range databaseFiles {
			found, _ := fs.Glob(root.FS(), filepath.ToSlash(filepath.Join(below, pattern)))
			for _, name := range found {
				if hasItemTable(root, name) {
					r.databases = append(r.databases, filepath.Join(dir, filepath.FromSlash(name)))
				}
			}
		}
	}
	if r.lines != nil {
		r.layouts = append(r.layouts, "JSON lines of another program")
	}
	if r.databases != nil {
		r.layouts = append(r.layouts, "a database with items")
	}
}

// hasItemTable reports whether a file is an SQLite database with a table of keyed
// items.
func hasItemTable(root *os.Root, name string) bool {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	start, err := io.ReadAll(io.LimitReader(f, maxSchema))
	return err == nil && bytes.HasPrefix(start, []byte("SQLite format 3\x00")) && bytes.Contains(start, []byte("memory_items"))
}

// itemQuery selects the items of a database as JSON lines.
const itemQuery = "SELECT json_object('subject', subject_id, 'namespace', namespace, 'key', key, 'value', value, " +
	"'visibility', CASE visibility WHEN 0 THEN 'public_ok' ELSE 'private_only' END, 'confidence', confidence, " +
	"'source', source, 'created_at', created_at, 'updated_at', updated_at) FROM memory_items"

// importCommands returns the commands that import the data of other programs.
func (r *recognized) importCommands(about config.Flags) (list []string) {
	for _, files := range r.lines {
		quoted := make([]string, len(files))
		for i, file := range files {
			quoted[i] = term.QuoteWord(file)
		}
		list = append(list, about.Command("import jsonl "+strings.Join(quoted, " ")))
	}
	for _, file := range r.databases {
		list = append(list, "sqlite3 -readonly "+term.QuoteWord(file)+` "`+itemQuery+`" | `+about.Command("import items -"))
	}
	return list
}
