package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// maxFound bounds the hits of an interactive search.
const maxFound = 50

// addFind makes a command search while the query is typed. The command search does
// so too, without a query and flags on a terminal.
func addFind(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	list := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		onTerminal := term.IsTerminal(cmd.InOrStdin()) && term.IsTerminal(g.Stdout) &&
			os.Getenv("TERM") != "" && os.Getenv("TERM") != "dumb"
		if c.Name() == "search" {
			plain := !onTerminal || g.JSON || len(args) > 0
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { plain = plain || f.Changed })
			if plain {
				return list(cmd, args)
			}
		}
		switch {
		case g.JSON:
			return Usagef("find has no JSON output: use `memwatchd search --json`")
		case !onTerminal:
			return Usagef("find needs a terminal: use `memwatchd search`")
		}
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		return a.find(cmd, *req.Value().(*api.SearchRequest))
	}
}

// find runs an interactive search and opens the chosen place in the editor.
func (a *invocation) find(cmd *cobra.Command, r api.SearchRequest) error {
	no := false
	r.Typing, r.Limit, r.Count, r.Sync = true, maxFound, &no, &no
	f := &finder{ctx: cmd.Context(), client: a.client, out: a.out, request: r, query: r.Query}
	program := tea.NewProgram(f, tea.WithContext(cmd.Context()), tea.WithInput(cmd.InOrStdin()),
		tea.WithOutput(cmd.OutOrStdout()), tea.WithoutSignalHandler(), tea.WithFPS(120))
	_, err := program.Run()
	for _, t := range []task{f.search, f.preview} {
		if t.cancel != nil {
			t.cancel()
		}
	}
	switch {
	case cmd.Context().Err() != nil:
		return context.Cause(cmd.Context())
	case err != nil:
		return fmt.Errorf("find: %w", err)
	case f.failure != nil:
		return f.failure
	case f.chosen == nil:
		return nil
	}
	return openFile(cmd, a.out.memory, f.chosen.Path, f.chosen.Line)
}

// A finder is the state of an interactive search. At most one search and one
// preview are requested at a time: a key cancels the request that it makes
// obsolete, and the next one starts when that has returned.
type finder struct {
	ctx     context.Context
	client  *client.Client
	out     *Printer
	request api.SearchRequest

	query    string
	hits     []api.Hit
	places   []api.Match // of the hits
	status   string
	bad      bool // status is an error
	selected int
	top      int // index of the first visible hit
	width    int
	height   int

	search  task // of query
	preview task // of the selected place
	shown   previewed

	chosen  *api.Match // place to open
	failure error      // of the first search
	started bool       // the first search has succeeded
}

// A task is a repeated request of which only the last one matters.
type task struct {
	cancel  context.CancelFunc // of the request under way; nil without one
	pending bool               // a newer request follows
}

// A previewed text is a part of a file.
type previewed struct {
	place api.Match
	from  int // line number of the first line
	lines []string
}

type found struct {
	query  string
	answer *api.SearchAnswer
	err    error
}

// Init starts the search for the initial query.
func (f *finder) Init() tea.Cmd { return f.startSearch() }

// Update handles a key, a change of the size or the result of a request.
func (f *finder) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		f.width, f.height = msg.Width, msg.Height
		f.move(0)
		return f, f.startPreview()
	case tea.PasteMsg:
		return f, f.setQuery(f.query + strings.Join(strings.Fields(msg.Content), " "))
	case tea.KeyPressMsg:
		return f, f.pressKey(msg)
	case found:
		f.search.cancel()
		f.search.cancel = nil
		if f.search.pending {
			return f, f.startSearch()
		}
		return f, f.showHits(msg)
	case previewed:
		f.preview.cancel()
		f.preview.cancel = nil
		f.shown = msg
		if f.preview.pending {
			return f, f.startPreview()
		}
	}
	return f, nil
}

func (f *finder) pressKey(key tea.KeyPressMsg) tea.Cmd {
	page := max(f.layout().rows-1, 1)
	switch key.String() {
	case "esc", "ctrl+c", "ctrl+d":
		return tea.Quit
	case "enter":
		if len(f.places) == 0 {
			return nil
		}
		f.chosen = &f.places[f.selected]
		return tea.Quit
	case "up", "ctrl+p", "ctrl+k":
		return f.move(-1)
	case "down", "ctrl+n", "ctrl+j":
		return f.move(1)
	case "pgup":
		return f.move(-page)
	case "pgdown":
		return f.move(page)
	case "backspace", "ctrl+h":
		return f.setQuery(dropLastCharacter(f.query))
	case "ctrl+u":
		return f.setQuery("")
	case "ctrl+w":
		words := strings.TrimRight(f.query, " ")
		return f.setQuery(words[:strings.LastIndexByte(words, ' ')+1])
	}
	return f.setQuery(f.query + key.Text)
}

// dropLastCharacter returns s without its last character as a person sees it.
func dropLastCharacter(s string) string {
	last := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		last, _ = g.Positions()
	}
	return s[:last]
}

// move moves the selection by n hits.
func (f *finder) move(n int) tea.Cmd {
	before := f.selected
	f.selected = max(0, min(f.selected+n, len(f.hits)-1))
	f.top = max(min(f.top, f.selected), f.selected-f.layout().rows+1, 0)
	if before == f.selected {
		return nil
	}
	return f.startPreview()
}

func (f *finder) setQuery(query string) tea.Cmd {
	if query == f.query {
		return nil
	}
	f.query = query
	return f.startSearch()
}

// begin cancels the request under way, if there is one, or returns the context of
// a new one.
func (t *task) begin(ctx context.Context) (context.Context, bool) {
	if t.cancel != nil {
		t.pending = true
		t.cancel()
		return nil, false
	}
	t.pending = false
	ctx, t.cancel = context.WithCancel(ctx)
	return ctx, true
}

// startSearch requests the hits of the query.
func (f *finder) startSearch() tea.Cmd {
	ctx, ok := f.search.begin(f.ctx)
	if !ok {
		return nil
	}
	r := f.request
	r.Query = f.query
	return func() tea.Msg {
		answer, err := client.Call(ctx, f.client, r)
		return found{r.Query, answer, err}
	}
}

// showHits shows the result of a search. Without hits the status contains the
// reason.
func (f *finder) showHits(result found) tea.Cmd {
	if result.err != nil && !f.started {
		f.failure = result.err
		return tea.Quit
	}
	f.started, f.bad = true, result.err != nil
	if f.bad {
		f.status = result.err.Error()
		return nil
	}
	a := result.answer
	f.hits, f.places, f.selected, f.top = a.Hits, nil, 0, 0
	for i := range f.hits {
		f.places = append(f.places, f.hits[i].Places()[0])
	}
	f.status = fmt.Sprintf("%d of %s", len(a.Hits), api.Plural(a.Files, "file"))
	if f.request.Group != "file" {
		f.status = fmt.Sprintf("%d of %s", len(a.Hits), api.Plural(a.Total, "entry"))
	}
	for _, c := range a.Corrected {
		f.status += ", " + c.Describe(a.Index.Notice)
	}
	f.status += textIf(a.Note != "", ", "+a.Note) + textIf(a.Index.Notice != "", ", "+a.Index.Notice)
	return f.startPreview()
}

// startPreview requests the lines around the selected place, unless they are shown.
func (f *finder) startPreview() tea.Cmd {
	if len(f.places) == 0 || f.height == 0 {
		f.shown = previewed{}
		return nil
	}
	place, rows := f.places[f.selected], f.layout().previewRows
	if f.shown.place == place && len(f.shown.lines) >= rows {
		return nil
	}
	ctx, ok := f.preview.begin(f.ctx)
	if !ok {
		return nil
	}
	r := api.GetRequest{Path: place.Path, From: max(1, place.Line-rows/3), Lines: max(rows, 1), Fresh: WithoutSync}
	return func() tea.Msg {
		p := previewed{place: place, from: r.From}
		answer, err := client.Call(ctx, f.client, r)
		if err != nil {
			p.lines = []string{err.Error()}
			return p
		}
		p.lines = strings.Split(strings.TrimSuffix(answer.Text, "\n"), "\n")
		return p
	}
}
