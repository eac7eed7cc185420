package cli

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

// NamesTimeout bounds the time for names from the daemon, because the user
// continues typing. If the daemon fails or does not answer in time, there are
// no names and no error message.
var NamesTimeout = 300 * time.Millisecond

// Limits of the names for a shell. maxSlowCandidates applies to names that are
// slower to find.
const (
	maxCandidates     = 1000
	maxSlowCandidates = 100
)

type candidate struct{ text, description string }

// nameSources request names from the daemon, by sort. The operation complete
// provides the other sorts. They return nil after an error.
var nameSources = map[string]func(context.Context, *client.Client, *completer, string) []candidate{
	"key":          listItemKeys,
	"todo":         listTasks,
	"external_key": listExternalKeys,
	"change":       listChanges,
	"archived":     listArchived,
}

// requestNames requests the names of a sort in the scope of the flags.
func (n *completer) requestNames(sort, typed string) []string {
	_, client, err := n.g.Connect(n.cmd)
	if err != nil {
		return nil
	}
	n.setExternalKey(client)
	ctx, cancel := context.WithTimeout(n.cmd.Context(), NamesTimeout)
	defer cancel()
	namer := nameSources[sort]
	if namer == nil {
		namer = completeValues(sort)
	}
	var out []string
	for _, found := range namer(ctx, client, n, typed) {
		// Shells read one name per line and trim it.
		if found.text == strings.TrimSpace(found.text) && found.text == term.EscapeLine(found.text) {
			out = append(out, found.completion())
		}
	}
	return out
}

// setExternalKey sets the scope to an external key, if the command line has one
// instead of a subject.
func (n *completer) setExternalKey(client *client.Client) {
	if n.req == nil || client.Scope.Subject != nil {
		return
	}
	for _, p := range n.req.Params() {
		if key, given := n.req.GivenValue(p); given && p.Scope && p.Name == "external_key" {
			client.Scope.ExternalKey = &key
		}
	}
}

// completion returns the name in the format of cobra.
func (n candidate) completion() string {
	if n.description == "" {
		return n.text
	}
	return cobra.CompletionWithDesc(n.text, shortenDescription(n.description))
}

func shortenDescription(text string) string {
	const most = 60
	text = strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return term.EscapeLine(text)
}

// completeValues returns a function that requests names without descriptions.
// Paths are completed one directory at a time.
func completeValues(kind string) func(context.Context, *client.Client, *completer, string) []candidate {
	return func(ctx context.Context, c *client.Client, _ *completer, typed string) (list []candidate) {
		answer, err := client.Call(ctx, c, api.CompleteRequest{What: kind, Prefix: typed, Steps: kind == "path",
			Limit: maxCandidates, Fresh: WithoutSync})
		if err != nil {
			return nil
		}
		for _, value := range answer.Values {
			list = append(list, candidate{text: value})
		}
		return list
	}
}

// WithoutSync requests an answer without waiting for the latest changes.
var WithoutSync = api.Fresh{Sync: new(bool)}

// listItemKeys returns the keys of items, in the namespace of the previous
// argument.
func listItemKeys(ctx context.Context, c *client.Client, n *completer, typed string) (list []candidate) {
	r := api.ItemListRequest{Prefix: typed, Limit: maxCandidates, Fresh: WithoutSync}
	if len(n.args) > 0 {
		r.Namespace = n.args[0]
	}
	answer, err := client.Call(ctx, c, r)
	if err != nil {
		return nil
	}
	for _, item := range answer.Items {
		list = append(list, candidate{item.Key, item.Value})
	}
	return list
}

// listTasks returns the tasks that can be done or reopened: those with the
// typed prefix, or else those that contain the typed text. If previous words of
// a task are present, listTasks returns the rest of its text.
func listTasks(ctx context.Context, c *client.Client, n *completer, typed string) (begin []candidate) {
	state := "open"
	if n.form.Set["state"] == state {
		state = "done"
	}
	answer, err := client.Call(ctx, c, api.TodosRequest{State: state, Fresh: WithoutSync})
	if err != nil {
		return nil
	}
	before := strings.Join(append(n.words, ""), " ")
	var within []candidate
	for _, t := range answer.Todos {
		about := t.Places[0].Path
		if t.Since != "" {
			about = t.Since + ", " + about
		}
		rest, ok := strings.CutPrefix(t.Text, before)
		switch {
		case ok && strings.HasPrefix(rest, typed):
			begin = append(begin, candidate{rest, about})
		case len(n.words) == 0 && strings.Contains(strings.ToLower(t.Text), strings.ToLower(typed)):
			within = append(within, candidate{t.Text, about})
		}
	}
	if begin == nil {
		return within
	}
	return begin
}

func listExternalKeys(ctx context.Context, c *client.Client, _ *completer, typed string) (list []candidate) {
	answer, err := client.Call(ctx, c, api.LinksRequest{})
	if err != nil {
		return nil
	}
	for _, l := range answer.Links {
		if strings.HasPrefix(l.ExternalKey, typed) {
			list = append(list, candidate{l.ExternalKey, l.Subject})
		}
	}
	return list
}

// listChanges returns the changes in the journal that can be undone, newest
// first.
func listChanges(ctx context.Context, c *client.Client, _ *completer, typed string) (list []candidate) {
	answer, err := client.Call(ctx, c, api.JournalRequest{Limit: maxSlowCandidates})
	if err != nil {
		return nil
	}
	for _, w := range answer.Writes {
		if w.State == "done" && strings.HasPrefix(w.ID, typed) {
			list = append(list, candidate{w.ID, w.Time.Local().Format("01-02 15:04") + " " + w.Cause + ", " + w.Path})
		}
	}
	return list
}

// listArchived returns entries of the archive, limited to one file if the typed
// text contains its name.
func listArchived(ctx context.Context, c *client.Client, _ *completer, typed string) (list []candidate) {
	file, _, _ := strings.Cut(typed, "#")
	if _, md := memory.CutMarkdown(file); !md {
		file = ""
	}
	answer, err := client.Call(ctx, c, api.SearchRequest{
		Mode: "overlap", All: true, Kinds: []string{"archive"}, Path: file, Limit: maxSlowCandidates, Count: new(bool),
		Fresh: WithoutSync,
	})
	if err != nil {
		return nil
	}
	for _, h := range answer.Hits {
		if strings.HasPrefix(h.ID, typed) {
			list = append(list, candidate{h.ID, h.Text})
		}
	}
	return list
}
