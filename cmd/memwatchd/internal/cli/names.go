package cli

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// namesPatience bounds the time for names from the daemon, because the user
// continues typing. If the daemon fails or does not answer in time, there are
// no names and no error message.
const namesPatience = 300 * time.Millisecond

// Limits of the names for a shell. maxTexts applies to names that are slower to
// find.
const (
	maxNames = 1000
	maxTexts = 100
)

// A name is a completion with its description.
type name struct{ text, about string }

// namers request names from the daemon, by sort. The operation complete
// provides the other sorts. They return nil after an error.
var namers = map[string]func(context.Context, *client.Client, *naming, string) []name{
	"key":          keys,
	"todo":         tasks,
	"external_key": externalKeys,
	"change":       changes,
	"archived":     archived,
}

// ask requests the names of a sort in the scope of the flags.
func (n *naming) ask(sort, typed string) []string {
	_, client, err := n.g.Connect(n.cmd)
	if err != nil {
		return nil
	}
	n.impersonate(client)
	ctx, cancel := context.WithTimeout(n.cmd.Context(), namesPatience)
	defer cancel()
	namer := namers[sort]
	if namer == nil {
		namer = listed(sort)
	}
	var out []string
	for _, found := range namer(ctx, client, n, typed) {
		// Shells read one name per line and trim it.
		if found.text == strings.TrimSpace(found.text) &&
			!strings.ContainsFunc(found.text, func(r rune) bool { return term.Harmful(r, false) }) &&
			utf8.ValidString(found.text) {
			out = append(out, found.completion())
		}
	}
	return out
}

// impersonate sets the scope to an external key, if the command line has one
// instead of a subject.
func (n *naming) impersonate(client *client.Client) {
	if n.req == nil || client.Scope.Subject != nil {
		return
	}
	for _, p := range n.req.Params() {
		if key, given := n.req.Given(p); given && p.Scope && p.Name == "external_key" {
			client.Scope.ExternalKey = &key
		}
	}
}

// completion returns the name in the format of cobra.
func (n name) completion() string {
	if n.about == "" {
		return n.text
	}
	return cobra.CompletionWithDesc(n.text, shortly(n.about))
}

// shortly returns a description as one short line.
func shortly(text string) string {
	const most = 60
	text = strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return term.EscapeLine(text)
}

// listed returns a function that requests names without descriptions. Paths are
// completed one directory at a time.
func listed(what string) func(context.Context, *client.Client, *naming, string) []name {
	return func(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name) {
		answer, err := c.Complete(ctx,
			api.CompleteRequest{What: what, Prefix: typed, Steps: what == "path", Limit: maxNames, Fresh: AtOnce})
		if err != nil {
			return nil
		}
		for _, value := range answer.Values {
			list = append(list, name{text: value})
		}
		return list
	}
}

// AtOnce requests an answer without waiting for the latest changes.
var AtOnce = api.Fresh{Sync: new(bool)}

// keys returns the keys of items, in the namespace of the previous argument.
func keys(ctx context.Context, c *client.Client, n *naming, typed string) (list []name) {
	r := api.ItemListRequest{Prefix: typed, Limit: maxNames, Fresh: AtOnce}
	if len(n.args) > 0 {
		r.Namespace = n.args[0]
	}
	answer, err := c.ItemList(ctx, r)
	if err != nil {
		return nil
	}
	for _, item := range answer.Items {
		list = append(list, name{item.Key, item.Value})
	}
	return list
}

// tasks returns the tasks that can be done or reopened: those with the typed
// prefix, or else those that contain the typed text. If previous words of a
// task are present, tasks returns the rest of its text.
func tasks(ctx context.Context, c *client.Client, n *naming, typed string) (begin []name) {
	state := "open"
	if n.way.Set["state"] == state {
		state = "done"
	}
	answer, err := c.Todos(ctx, api.TodosRequest{State: state, Fresh: AtOnce})
	if err != nil {
		return nil
	}
	before := strings.Join(append(n.words, ""), " ")
	var within []name
	for _, t := range answer.Todos {
		about := t.Places[0].Path
		if t.Since != "" {
			about = t.Since + ", " + about
		}
		rest, ok := strings.CutPrefix(t.Text, before)
		switch {
		case ok && strings.HasPrefix(rest, typed):
			begin = append(begin, name{rest, about})
		case len(n.words) == 0 && strings.Contains(strings.ToLower(t.Text), strings.ToLower(typed)):
			within = append(within, name{t.Text, about})
		}
	}
	if begin == nil {
		return within
	}
	return begin
}

// externalKeys returns the linked external keys.
func externalKeys(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name) {
	answer, err := c.Links(ctx, api.LinksRequest{})
	if err != nil {
		return nil
	}
	for _, l := range answer.Links {
		if strings.HasPrefix(l.ExternalKey, typed) {
			list = append(list, name{l.ExternalKey, l.Subject})
		}
	}
	return list
}

// changes returns the changes in the journal that can be undone, newest first.
func changes(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name) {
	answer, err := c.Journal(ctx, api.JournalRequest{Limit: maxTexts})
	if err != nil {
		return nil
	}
	for _, w := range answer.Writes {
		if w.State == "done" && strings.HasPrefix(w.ID, typed) {
			list = append(list, name{w.ID, w.Time.Local().Format("01-02 15:04") + " " + w.Cause + ", " + w.Path})
		}
	}
	return list
}

// archived returns entries of the archive, limited to one file if the typed
// text contains its name.
func archived(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name) {
	file, _, _ := strings.Cut(typed, "#")
	if !strings.HasSuffix(file, ".md") {
		file = ""
	}
	answer, err := c.Search(ctx, api.SearchRequest{
		Mode: "overlap", All: true, Kinds: []string{"archive"}, Path: file, Limit: maxTexts, Count: new(bool),
		Fresh: AtOnce,
	})
	if err != nil {
		return nil
	}
	for _, h := range answer.Hits {
		if strings.HasPrefix(h.ID, typed) {
			list = append(list, name{h.ID, h.Text})
		}
	}
	return list
}
