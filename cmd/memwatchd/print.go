package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/vault"
)

// A printer shows answers to a person.
//
// On a terminal lines are made for its width, and ages are told. To a pipe or a
// file the same is written in a form that depends on nothing but the answer: no
// line is broken or cut, and instead of ages there are days. In both, what an
// answer consists of goes to the standard output; what there is to say about it,
// such as that there is more, or nothing, goes to the standard error.
type printer struct {
	w        io.Writer
	color    bool
	width    int            // of the terminal, in columns; 0 if it is none
	memory   *vault.Vault   // as far as we know where it is; may be nil
	location *time.Location // of its days
	now      time.Time
	page     page
	verbose  bool // everything that is known

	aside      io.Writer // for what is said about an answer; nil for nobody
	asideColor bool
	asideWidth int             // of that terminal, in columns; 0 if it is none
	said       strings.Builder // that has not been written yet
}

func newPrinter(w, aside io.Writer, c *Config, noColor bool) *printer {
	return &printer{
		w: w, color: wantsColor(widthOf(w) > 0, noColor), width: widthOf(w),
		memory: &vault.Vault{Dir: c.Memory.Dir}, location: cmp.Or(c.location, time.Local), now: clock.Now(),
		aside: aside, asideColor: wantsColor(widthOf(aside) > 0, noColor), asideWidth: widthOf(aside),
	}
}

// widthOf is that of a terminal, in columns; 0 if it is none.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return max(width, narrowest)
	}
	return usualWidth
}

const (
	usualWidth = 80 // of a terminal that does not tell
	narrowest  = 40 // for which lines are made
)

// print shows one answer. One without a form of its own is shown as it is.
func (p *printer) print(answer any) error {
	var b strings.Builder
	switch a := answer.(type) {
	case *api.StatusAnswer:
		p.status(&b, a)
	case *api.SearchAnswer:
		p.hits(&b, a)
	case *api.GetAnswer:
		b.WriteString(escapeText(a.Text))
		if a.Stale {
			p.say(asBad, "the file cannot be read: this is what it said last")
		}
	case *api.RelatedAnswer:
		p.related(&b, a)
	case *api.LoadAnswer:
		b.WriteString(escapeText(a.Block))
	case *api.ContextAnswer:
		p.context(&b, a)
	case *api.TodosAnswer:
		p.todos(&b, a)
	case *api.CompactAnswer:
		p.compact(&b, a)
	case *api.RestoreAnswer:
		fmt.Fprintln(&b, p.paintedPlace(a.Path, a.Line))
	case *api.TodoAnswer:
		p.todo(&b, a)
	case *api.NoteAnswer:
		p.noted(&b, a.Path, []int{a.Line}, a.Disabled)
	case *api.CaptureAnswer:
		p.captured(&b, a)
	case *api.SessionAnswer:
		p.session(&b, a)
	case *api.CheckAnswer:
		p.check(&b, a)
	case *api.SyncAnswer:
		fmt.Fprintln(&b, "everything that was saved is found")
	case *api.RebuildAnswer:
		fmt.Fprintf(&b, "%s indexed in %.1f s\n", plural(a.Entries, "entry"), a.TookMS/1000)
	case *api.SummaryAnswer:
		p.summary(&b, a)
	case *api.CompressAnswer:
		p.compress(&b, a)
	case *api.JournalAnswer:
		p.journal(&b, a)
	case *api.UndoAnswer:
		p.undo(&b, a)
	case *api.RememberAnswer:
		p.remember(&b, a)
	case *api.ForgetAnswer:
		p.forget(&b, a)
	case *api.WipeAnswer:
		p.wipe(&b, a)
	case *api.Event:
		p.event(&b, a)
	case *api.ItemAnswer:
		p.item(&b, a)
	case *api.ItemListAnswer:
		p.items(&b, a)
	case *api.ItemDeleteAnswer:
		p.itemsDeleted(&b, a)
	case *api.IdentityAnswer:
		p.identity(&b, a)
	case *api.LinksAnswer:
		p.links(&b, a)
	default:
		if err := p.other(&b, a); err != nil {
			return err
		}
	}
	if a, ok := answer.(interface{ Masks() int }); ok && a.Masks() > 0 {
		p.say(asText, "credentials are masked in %s; check lists where they are", plural(a.Masks(), "place"))
	}
	return p.flush(b.String())
}

// flush writes what was printed, and then what was said about it.
func (p *printer) flush(text string) error {
	_, err := io.WriteString(p.w, text)
	if p.aside != nil && p.said.Len() > 0 {
		_, failure := io.WriteString(p.aside, p.said.String())
		err = errors.Join(err, failure)
	}
	p.said.Reset()
	return err
}

// say says something about an answer, on a line of its own.
func (p *printer) say(as style, format string, args ...any) {
	text := wrap(escapeLine(fmt.Sprintf(format, args...)), p.asideWidth, "")
	for line := range strings.Lines(text + "\n") {
		if line = strings.TrimSuffix(line, "\n"); p.asideColor {
			line = as.paint(line)
		}
		p.said.WriteString(line + "\n")
	}
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

// asJSON is a value of ours as one line of JSON, in which & and < stay as they are,
// as they do in what the daemon answers.
func asJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // what is written here always can be
	}
	return b.Bytes()
}

// style paints text, where there are colours.
func (p *printer) style(as style, text string) string {
	if !p.color {
		return text
	}
	return as.paint(text)
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
