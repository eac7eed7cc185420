package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// A Printer shows the texts of answers.
//
// To a pipe or a file it writes a form that depends only on the answer. The content of an
// answer goes to standard output; hints such as "more results" go to standard error.
type Printer struct {
	reader api.Reader
	output output

	w          io.Writer
	out        strings.Builder // pending text of the answer
	color      bool
	terminal   bool
	cmd        *cobra.Command // whose names hints contain; nil for none
	memory     *Root          // finds files from the working directory; may be nil
	remote     bool           // a named daemon answers whose directory is unknown on this machine
	sameMemory bool           // the daemon is sure to serve the directory of memory

	hintWriter io.Writer // destination of hints; nil for none
	hintColor  bool
	hints      strings.Builder // pending hints
}

// NewPrinter returns a printer of answers to w and of hints to aside.
func NewPrinter(w, aside io.Writer, c *config.Config, noColor bool) *Printer {
	p := &Printer{
		w: w, terminal: term.IsTerminal(w), color: term.WantsColor(term.IsTerminal(w), noColor),
		reader:     api.Reader{Location: cmp.Or(c.Location, time.Local)},
		hintWriter: aside, hintColor: term.WantsColor(term.IsTerminal(aside), noColor),
	}
	if p.terminal {
		p.reader.Audience = api.People
	}
	return p
}

// printText shows an answer, or the paths of its files.
func (p *Printer) printText(t *api.Text) {
	if p.output.files {
		p.printFiles(t.Files)
	}
	for i := range t.Lines {
		if l := &t.Lines[i]; !p.output.files || l.Form == api.Hint {
			p.printLine(l)
		}
	}
}

func (p *Printer) println(text string) { p.out.WriteString(text + "\n") }

// flush writes the text of an answer and then the pending hints.
func (p *Printer) flush() error {
	_, err := io.WriteString(p.w, p.out.String())
	if p.hintWriter != nil && p.hints.Len() > 0 {
		_, failure := io.WriteString(p.hintWriter, p.hints.String())
		err = errors.Join(err, failure)
	}
	p.out.Reset()
	p.hints.Reset()
	return err
}

// addHint adds a hint about an answer, on a line of its own, unless it is empty. It replaces
// names in backquotes by those of the command line.
func (p *Printer) addHint(as term.Style, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.cmd != nil {
		text = api.Rename(text, func(name string) string { return nameOnCommandLine(p.cmd, name) })
		text = nameMemory(text, p.cmd)
	}
	text = term.EscapeLine(text)
	if p.hintColor {
		text = as.Paint(text)
	}
	p.hints.WriteString(text + api.TextIf(text != "", "\n"))
}

// AsJSON returns a value as one line of JSON, like the answers of the daemon, with
// the invisible characters escaped.
func AsJSON(v any) []byte {
	line, err := api.EncodeJSON(v)
	if err != nil {
		panic(err) // unreachable: the values of the callers can be encoded
	}
	return letters.EscapeJSON(line, false)
}

// Style paints text if colors are enabled.
func (p *Printer) Style(as term.Style, text string) string {
	if !p.color {
		return text
	}
	return as.Paint(text)
}

// printFiles prints the distinct paths, in order.
func (p *Printer) printFiles(paths []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		switch file := p.locate(path); {
		case path == "" || seen[path]:
			continue
		case p.output.null && !p.terminal: // the bytes of the name, for programs
			p.out.WriteString(file + "\x00")
		case p.output.null:
			p.out.WriteString(term.EscapeName(file) + "\x00")
		default:
			p.println(p.Style(term.AsPath, term.EscapeName(file)))
		}
		seen[path] = true
	}
}

// formatPlace returns path:line in the form that terminals and editors open.
func (p *Printer) formatPlace(path string, line int) string {
	place := p.Style(term.AsPath, term.EscapeName(p.locate(path)))
	if line > 0 {
		place += ":" + p.Style(term.AsLine, fmt.Sprint(line))
	}
	return place
}

// locate returns the path of a memory file for use on this machine: relative to
// the working directory if the file lies below that, else absolute.
func (p *Printer) locate(path string) string {
	if p.memory == nil || path == "" {
		return path
	}
	// --socket may reach the daemon of another memory, and the name of another
	// machine and a colon precede a path there.
	top, _, _ := strings.Cut(path, "/")
	if p.remote {
		return path
	}
	if exists, _ := p.memory.Has(path); !exists && (!p.sameMemory || strings.Contains(top, ":")) {
		return path
	}
	dir, below := p.memory.Locate(path)
	return RelativePath(filepath.Join(dir, filepath.FromSlash(below)))
}

// RelativePath returns path relative to the working directory if it lies below
// that, else path.
func RelativePath(path string) string {
	if dir, err := os.Getwd(); err == nil && config.IsWithin(path, dir) {
		if rel, err := filepath.Rel(dir, path); err == nil {
			return rel
		}
	}
	return path
}
