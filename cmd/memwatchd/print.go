package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/vault"
)

// A printer shows answers to a person.
type printer struct {
	w        io.Writer
	aside    io.Writer      // for what is said about an answer that is piped on; nil for nobody
	memory   *vault.Vault   // as far as we know where it is; may be nil
	location *time.Location // of its days
	color    bool
	terminal bool
	width    int // of the terminal, in columns; 0 if it is none
	now      time.Time
}

func newPrinter(w io.Writer, c *Config, noColor bool) *printer {
	f, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	color := terminal && !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	p := &printer{
		w: w, memory: &vault.Vault{Dir: c.Memory.Dir}, location: cmp.Or(c.location, time.Local),
		color: color, terminal: terminal, now: clock(),
	}
	p.width = widthOf(w)
	return p
}

// widthOf is that of a terminal, in columns; 0 if it is none.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd())) // 0 with an error
	return width
}

// print shows one answer. One without a form of its own is shown as it is.
func (p *printer) print(answer any) error {
	var b strings.Builder
	switch a := answer.(type) {
	case *ipc.StatusAnswer:
		p.status(&b, a)
	case *ipc.SearchAnswer:
		p.hits(&b, a)
	case *ipc.GetAnswer:
		b.WriteString(escapeText(a.Text))
	case *ipc.RelatedAnswer:
		p.related(&b, a)
	case *ipc.LoadAnswer:
		b.WriteString(escapeText(a.Block))
	case *ipc.ContextAnswer:
		p.context(&b, a)
	case *ipc.TodosAnswer:
		p.todos(&b, a)
	case *ipc.CompactAnswer:
		p.compact(&b, a)
	case *ipc.RestoreAnswer:
		fmt.Fprintf(&b, "%s\n", p.place(a.Path, a.Line))
	case *ipc.TodoAnswer:
		p.todo(&b, a)
	case *ipc.NoteAnswer:
		p.noted(&b, a.Path, []int{a.Line}, 0, a.Disabled)
	case *ipc.CaptureAnswer:
		p.noted(&b, a.Path, a.Lines, a.Already, a.Disabled)
	case *ipc.SessionAnswer:
		p.session(&b, a)
	case *ipc.CheckAnswer:
		p.check(&b, a)
	case *ipc.SyncAnswer:
		fmt.Fprintln(&b, "everything that was saved is found")
	case *ipc.RebuildAnswer:
		fmt.Fprintf(&b, "%s indexed in %.1f s\n", plural(a.Entries, "entry"), a.TookMS/1000)
	case *ipc.SummaryAnswer:
		p.summary(&b, a)
	case *ipc.CompressAnswer:
		p.compress(&b, a)
	case *ipc.JournalAnswer:
		p.journal(&b, a)
	case *ipc.UndoAnswer:
		p.undo(&b, a)
	case *ipc.RememberAnswer:
		p.remember(&b, a)
	case *ipc.ForgetAnswer:
		p.forget(&b, a)
	case *ipc.WipeAnswer:
		p.wipe(&b, a)
	case *ipc.Event:
		p.event(&b, a)
	case *ipc.ItemAnswer:
		p.item(&b, a)
	case *ipc.ItemListAnswer:
		p.items(&b, a)
	case *ipc.ItemDeleteAnswer:
		p.itemsDeleted(&b, a)
	case *ipc.IdentityAnswer:
		p.identity(&b, a)
	case *ipc.LinksAnswer:
		p.links(&b, a)
	default:
		if err := p.other(&b, a); err != nil {
			return err
		}
	}
	if a, ok := answer.(interface{ Masks() int }); ok && a.Masks() > 0 && p.aside != nil {
		fmt.Fprintf(p.aside, "credentials are masked in %s; check lists where they are\n", plural(a.Masks(), "place"))
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p *printer) other(b *strings.Builder, answer any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(answer); err != nil {
		return err
	}
	b.WriteString(escapeText(buf.String()))
	return nil
}

// The styles that are used on a terminal.
const (
	bold = "1"
	dim  = "2"
	hit  = "1;33"
	bad  = "1;31"

	added   = "32"
	removed = "31"
)

func (p *printer) style(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// place is path:line, as terminals and editors open it: below the root if the
// file is there, from the working directory if it lies below that; else as the
// daemon names it.
func (p *printer) place(path string, line int) string {
	if p.memory != nil && path != "" {
		// Through the vault, which does not wait for ever for a disk.
		if _, err := p.memory.Stat(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, vault.ErrRoot) {
			path = fromHere(filepath.Join(p.memory.Dir, filepath.FromSlash(path)))
		}
	}
	s := escapeLine(path)
	if line > 0 {
		s += fmt.Sprintf(":%d", line)
	}
	return s
}

// fromHere is a path from the working directory, if it lies below that.
func fromHere(path string) string {
	if dir, err := os.Getwd(); err == nil && within(path, dir) {
		if rel, err := filepath.Rel(dir, path); err == nil {
			return rel
		}
	}
	return path
}

// zone is the one in which days and times are told.
func (p *printer) zone() *time.Location { return cmp.Or(p.location, time.Local) }

// age is how long ago something was, in one unit, or its day if that is more
// than two days ago.
func (p *printer) age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := p.now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return t.In(p.zone()).Format(time.DateOnly)
	}
}

// row is a name and what there is to say of it.
func (p *printer) row(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "%s %s\n", p.style(dim, fmt.Sprintf("%-10s", name)), escapeLine(fmt.Sprintf(format, args...)))
}

// bytesOf is a number of bytes for a person.
func bytesOf(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// plural is a number of things.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
