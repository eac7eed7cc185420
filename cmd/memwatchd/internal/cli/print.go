package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A Printer shows answers to people.
//
// On a terminal it wraps lines to the width and shows ages. To a pipe or a file
// it writes a form that depends only on the answer: it neither breaks nor cuts
// lines and shows dates instead of ages. The content of an answer goes to
// standard output; hints such as "more results" go to standard error.
type Printer struct {
	page    page
	verbose bool // shows all details

	w        io.Writer
	color    bool
	width    int            // of the terminal, in columns; 0 for other outputs
	memory   *Root          // finds files from the working directory; may be nil
	location *time.Location // time zone of its dates
	now      time.Time

	aside      io.Writer // destination of hints; nil for none
	asideColor bool
	asideWidth int             // of that terminal, in columns; 0 for other outputs
	said       strings.Builder // pending hints
}

// NewPrinter returns a printer of answers to w and of hints to aside.
func NewPrinter(w, aside io.Writer, c *config.Config, noColor bool) *Printer {
	return &Printer{
		w: w, color: term.WantsColor(term.Width(w) > 0, noColor), width: term.Width(w),
		location: cmp.Or(c.Location, time.Local), now: clock.Now(),
		aside: aside, asideColor: term.WantsColor(term.Width(aside) > 0, noColor), asideWidth: term.Width(aside),
	}
}

// print shows one answer. Types without a format of their own are shown as
// JSON.
func (p *Printer) print(answer any) error {
	disabled := reflect.ValueOf(answer).Elem().FieldByName("Disabled") // in each answer to a write
	if disabled.IsValid() && disabled.Bool() {
		p.say(term.AsText, unwritten)
		return p.flush("")
	}
	var b strings.Builder
	switch a := answer.(type) {
	case *api.StatusAnswer:
		p.status(&b, a)
	case *api.SearchAnswer:
		p.hits(&b, a)
	case *api.GetAnswer:
		b.WriteString(term.EscapeText(a.Text))
		if a.Stale {
			p.say(term.AsBad, "the file cannot be read: this is what it said last")
		}
	case *api.RelatedAnswer:
		p.related(&b, a)
	case *api.LoadAnswer:
		b.WriteString(term.EscapeText(a.Block))
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
		p.noted(&b, a.Path, []int{a.Line})
	case *api.CaptureAnswer:
		p.captured(&b, a)
	case *api.SessionAnswer:
		p.session(&b, a)
	case *api.CheckAnswer:
		p.check(&b, a)
	case *api.SyncAnswer:
		fmt.Fprintln(&b, "everything that was saved is found")
	case *api.RebuildAnswer:
		fmt.Fprintf(&b, "%s indexed in %.1f s\n", term.Plural(a.Entries, "entry"), a.TookMS/1000)
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
		var indented bytes.Buffer
		if err := json.Indent(&indented, AsJSON(a), "", "  "); err != nil {
			return err
		}
		b.WriteString(term.EscapeText(indented.String()))
	}
	if a, ok := answer.(interface{ Masks() int }); ok && a.Masks() > 0 {
		p.say(term.AsText, "credentials are masked in %s; check lists where they are", term.Plural(a.Masks(), "place"))
	}
	return p.flush(b.String())
}

// flush writes the text of an answer and then the pending hints.
func (p *Printer) flush(text string) error {
	_, err := io.WriteString(p.w, text)
	if p.aside != nil && p.said.Len() > 0 {
		_, failure := io.WriteString(p.aside, p.said.String())
		err = errors.Join(err, failure)
	}
	p.said.Reset()
	return err
}

// say adds a hint about an answer, on lines of its own.
func (p *Printer) say(as term.Style, format string, args ...any) {
	text := term.Wrap(term.EscapeLine(fmt.Sprintf(format, args...)), p.asideWidth, "")
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimSuffix(line, "\n")
		if p.asideColor {
			line = as.Paint(line)
		}
		p.said.WriteString(line + "\n")
	}
}

// AsJSON returns a value as one line of JSON, like the answers of the daemon.
func AsJSON(v any) []byte {
	line, err := api.Encode(v)
	if err != nil {
		panic(err) // unreachable: the values of the callers can be encoded
	}
	return line
}

// Style paints text if colors are enabled.
func (p *Printer) Style(as term.Style, text string) string {
	if !p.color {
		return text
	}
	return as.Paint(text)
}
