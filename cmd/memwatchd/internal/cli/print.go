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

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
)

// A Printer shows answers to people.
//
// On a terminal it wraps lines to the width and shows ages. To a pipe or a file
// it writes a form that depends only on the answer: it neither breaks nor cuts
// lines and shows dates instead of ages. The content of an answer goes to
// standard output; hints such as "more results" go to standard error.
type Printer struct {
	page    page
	output  output
	verbose bool // shows all details
	oneline bool // shows one line for each change

	w          io.Writer
	out        strings.Builder // pending text of the answer
	color      bool
	width      int            // of the terminal, in columns; 0 for other outputs
	flags      []string       // of the command line, which select the memory
	memory     *Root          // finds files from the working directory; may be nil
	remote     bool           // a named daemon answers whose directory is unknown on this machine
	sameMemory bool           // the daemon is sure to serve the directory of memory
	location   *time.Location // time zone of its dates
	now        time.Time

	notice string // why the answer may be incomplete

	hintWriter io.Writer // destination of hints; nil for none
	hintColor  bool
	hintWidth  int             // of that terminal, in columns; 0 for other outputs
	hints      strings.Builder // pending hints
}

// NewPrinter returns a printer of answers to w and of hints to aside.
func NewPrinter(w, aside io.Writer, c *config.Config, noColor bool) *Printer {
	return &Printer{
		w: w, color: term.WantsColor(term.Width(w) > 0, noColor), width: term.Width(w),
		location: cmp.Or(c.Location, time.Local), now: clock.Now(),
		hintWriter: aside, hintColor: term.WantsColor(term.Width(aside) > 0, noColor), hintWidth: term.Width(aside),
	}
}

// printAnswer shows one answer. Types without a format of their own are shown as
// JSON.
func (p *Printer) printAnswer(answer any) error {
	disabled := reflect.ValueOf(answer).Elem().FieldByName("Disabled") // in each answer to a write
	if disabled.IsValid() && disabled.Bool() {
		p.addHint(term.AsText, disabledHint)
		return p.flush()
	}
	if state := api.IndexStateOf(answer); state != nil {
		p.notice = state.Notice
	}
	switch a := answer.(type) {
	case *api.StatusAnswer:
		p.printStatus(a)
	case *api.SearchAnswer:
		p.printHits(a)
	case *api.GetAnswer:
		p.out.WriteString(term.EscapeText(a.Text))
		if a.Stale {
			p.addHint(term.AsBad, "the file is unreadable; this is its last readable content")
		}
		switch {
		case a.Untrusted && a.Host != "":
			p.addHint(term.AsBad, "written on another machine, %s, which share.trust does not name", a.Host)
		case a.Untrusted:
			p.addHint(term.AsBad, "written by others")
		case len(a.UntrustedLines) > 0:
			p.addHint(term.AsBad, "written by others: lines %s", lineRanges(a.UntrustedLines))
		}
	case *api.RelatedAnswer:
		p.printRelated(a)
	case *api.LoadAnswer:
		p.out.WriteString(term.EscapeText(a.Block))
	case *api.ContextAnswer:
		p.printContext(a)
	case *api.TodosAnswer:
		p.printTodos(a)
	case *api.CompactAnswer:
		p.printCompact(a)
	case *api.RestoreAnswer:
		p.println(p.paintPlace(a.Path, a.Line))
	case *api.TodoAnswer:
		p.printTodo(a)
	case *api.TodoAddAnswer:
		p.printTodoAdd(a)
	case *api.NoteAnswer:
		p.printNotePlaces(a.Path, []int{a.Line})
	case *api.CaptureAnswer:
		p.printCapture(a)
	case *api.SessionAnswer:
		p.printSession(a)
	case *api.CheckAnswer:
		p.printCheck(a)
	case *api.SyncAnswer:
		p.println("the index contains all saved changes")
	case *api.RebuildAnswer:
		p.printf("%s indexed in %.1f s\n", term.Plural(a.Entries, "entry"), a.TookMS/1000)
	case *api.SummaryAnswer:
		p.printSummary(a)
	case *api.CompressAnswer:
		p.printCompress(a)
	case *api.JournalAnswer:
		p.printJournal(a)
	case *api.ShareStatusAnswer:
		p.printShareStatus(a)
	case *api.SharePushAnswer:
		p.printSharePush(a)
	case *api.ShareForgetAnswer:
		p.printf("%s removed\n", term.Plural(a.Removed, "entry"))
	case *api.ConflictsAnswer:
		p.printConflicts(a)
	case *api.UndoAnswer:
		p.printUndo(a)
	case *api.RememberAnswer:
		p.printRemember(a)
	case *api.ForgetAnswer:
		p.printForget(a)
	case *api.WipeAnswer:
		p.printWipe(a)
	case *api.Event:
		p.printEvent(a)
	case *api.ItemAnswer:
		p.printItem(a)
	case *api.ItemListAnswer:
		p.printItems(a)
	case *api.ItemDeleteAnswer:
		p.printDeletedItems(a)
	case *api.ItemImportAnswer:
		p.printImport(a)
	case *api.ImportAnswer:
		p.printImported(a)
	case *api.EmbedAnswer:
		p.printEmbedState(a)
	case *api.IdentityAnswer:
		p.printIdentity(a)
	case *api.FilesAnswer:
		p.printFileList(a)
	case *api.CompleteAnswer:
		p.printNames(a)
	case *api.LinksAnswer:
		p.printLinks(a)
	default:
		var indented bytes.Buffer
		if err := json.Indent(&indented, AsJSON(a), "", "  "); err != nil {
			return err
		}
		p.out.WriteString(term.EscapeText(indented.String()))
	}
	p.addHint(term.AsBad, "%s", p.notice)
	if a, ok := answer.(interface{ Masks() int }); ok && a.Masks() > 0 {
		p.addHint(term.AsText, "credentials are masked in %s; check lists where "+
			"they are", term.Plural(a.Masks(), "place"))
	}
	return p.flush()
}

func (p *Printer) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

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

// addHint adds a hint about an answer, on lines of its own, unless it is empty.
func (p *Printer) addHint(as term.Style, format string, args ...any) {
	text := term.Wrap(term.EscapeLine(nameMemory(fmt.Sprintf(format, args...), p.flags)), p.hintWidth, "")
	if text == "" {
		return
	}
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimSuffix(line, "\n")
		if p.hintColor {
			line = as.Paint(line)
		}
		p.hints.WriteString(line + "\n")
	}
}

// addEmptyHint adds a hint that an answer lists nothing, unless that is not certain.
func (p *Printer) addEmptyHint(text string) {
	if p.notice == "" {
		p.addHint(term.AsMuted, "%s", text)
	}
}

// textIf returns a text if a condition holds, else "".
func textIf(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// AsJSON returns a value as one line of JSON, like the answers of the daemon, with
// the invisible characters escaped.
func AsJSON(v any) []byte {
	line, err := api.EncodeJSON(v)
	if err != nil {
		panic(err) // unreachable: the values of the callers can be encoded
	}
	return memory.EscapeJSON(line, false)
}

// Style paints text if colors are enabled.
func (p *Printer) Style(as term.Style, text string) string {
	if !p.color {
		return text
	}
	return as.Paint(text)
}

// printEvent shows one event on one line: time, kind, place and details. On a
// terminal time and kind form columns.
func (p *Printer) printEvent(e *api.Event) {
	detail := e.Message
	switch e.Event {
	case "indexed":
		detail = term.Plural(e.Entries, "entry")
	case "write":
		detail = e.Cause + " " + e.ID
	}
	as := term.AsTitle
	if e.Event == "problem" || e.Event == "lost" {
		as = term.AsBad
	}
	when, name := e.Time.In(p.location).Format(time.DateTime), term.EscapeLine(e.Event)
	if p.width > 0 {
		when, name = e.Time.In(p.location).Format(time.TimeOnly), fmt.Sprintf("%-9s", name)
	}
	line, where := when+" "+name, ""
	if e.Path != "" {
		where = p.formatPlace(e.Path, 0)
		line += "  " + where
	}
	detail = term.EscapeLine(detail)
	if room := p.width - uniseg.StringWidth(line) - 2; p.width > 0 && detail != "" {
		detail = term.CutEnd(detail, max(room, minTextWidth))
	}
	p.printf("%s %s%s%s\n", p.Style(term.AsMuted, when), p.Style(as, name),
		joinNonEmpty(p.Style(term.AsPath, where)), joinNonEmpty(detail))
}
