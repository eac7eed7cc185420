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

// namesPatience is how long a shell waits for names that only the daemon knows:
// whoever has pressed a key goes on typing. That it does not answer, or says no,
// is told to nobody: there are no names then.
const namesPatience = 300 * time.Millisecond

// How many names a shell is given, and of those that it takes more to find.
const (
	maxNames = 1000
	maxTexts = 100
)

// A name is what may be typed, and what it stands for.
type name struct{ text, about string }

// namers ask the daemon for names, by their sorts. The sorts that are not here
// are those of the operation complete.
var namers = map[string]func(context.Context, *client.Client, *naming, string) ([]name, error){
	"key":          keys,
	"todo":         tasks,
	"external_key": externalKeys,
	"change":       changes,
	"archived":     archived,
}

// ask asks for names as whom the flags say.
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
	list, err := namer(ctx, client, n, typed)
	if err != nil {
		return nil
	}
	var out []string
	for _, found := range list {
		// Shells are told one name a line, and trim it.
		if found.text == strings.TrimSpace(found.text) && !strings.ContainsFunc(found.text, func(r rune) bool { return term.Harmful(r, false) }) && utf8.ValidString(found.text) {
			out = append(out, found.completion())
		}
	}
	return out
}

// impersonate asks as an external key, if that is given in place of a subject.
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

// completion is a name as the library takes it.
func (n name) completion() string {
	if n.about == "" {
		return n.text
	}
	return cobra.CompletionWithDesc(n.text, shortly(n.about))
}

// shortly is what stands beside a name: one line, and not a long one.
func shortly(text string) string {
	const most = 60
	text = strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return term.EscapeLine(text)
}

// listed asks for names of which nothing more is to be said. Of files, one
// directory after the other.
func listed(what string) func(context.Context, *client.Client, *naming, string) ([]name, error) {
	return func(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name, err error) {
		answer, err := c.Complete(ctx, api.CompleteRequest{What: what, Prefix: typed, Steps: what == "path", Limit: maxNames, Fresh: AtOnce})
		if err != nil {
			return nil, err
		}
		for _, value := range answer.Values {
			list = append(list, name{text: value})
		}
		return list, nil
	}
}

// AtOnce asks for an answer in time, rather than for one with what was saved in
// the last moments.
var AtOnce = api.Fresh{Sync: new(bool)}

// keys are those of items, of the namespace that stands before.
func keys(ctx context.Context, c *client.Client, n *naming, typed string) (list []name, err error) {
	r := api.ItemListRequest{Prefix: typed, Limit: maxNames, Fresh: AtOnce}
	if len(n.args) > 0 {
		r.Namespace = n.args[0]
	}
	answer, err := c.ItemList(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, item := range answer.Items {
		list = append(list, name{item.Key, item.Value})
	}
	return list, nil
}

// tasks are those that can be done, or opened again: that begin with what is
// typed, or if there are none, that have it anywhere. Of one whose first words
// are there already, those that follow.
func tasks(ctx context.Context, c *client.Client, n *naming, typed string) (begin []name, err error) {
	state := "open"
	if n.way.Set["state"] == state {
		state = "done"
	}
	answer, err := c.Todos(ctx, api.TodosRequest{State: state, Fresh: AtOnce})
	if err != nil {
		return nil, err
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
		return within, nil
	}
	return begin, nil
}

// externalKeys are those that are linked to somebody.
func externalKeys(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name, err error) {
	answer, err := c.Links(ctx, api.LinksRequest{})
	if err != nil {
		return nil, err
	}
	for _, l := range answer.Links {
		if strings.HasPrefix(l.ExternalKey, typed) {
			list = append(list, name{l.ExternalKey, l.Subject})
		}
	}
	return list, nil
}

// changes are those in the journal that can be taken back, the newest first.
func changes(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name, err error) {
	answer, err := c.Journal(ctx, api.JournalRequest{Limit: maxTexts})
	if err != nil {
		return nil, err
	}
	for _, w := range answer.Writes {
		if w.State == "done" && strings.HasPrefix(w.ID, typed) {
			list = append(list, name{w.ID, w.Time.Local().Format("01-02 15:04") + " " + w.Cause + ", " + w.Path})
		}
	}
	return list, nil
}

// archived are entries of the archive, those of a file if its name stands there.
func archived(ctx context.Context, c *client.Client, _ *naming, typed string) (list []name, err error) {
	file, _, _ := strings.Cut(typed, "#")
	if !strings.HasSuffix(file, ".md") {
		file = ""
	}
	answer, err := c.Search(ctx, api.SearchRequest{
		Mode: "overlap", All: true, Kinds: []string{"archive"}, Path: file, Limit: maxTexts, Count: new(bool), Fresh: AtOnce,
	})
	if err != nil {
		return nil, err
	}
	for _, h := range answer.Hits {
		if strings.HasPrefix(h.ID, typed) {
			list = append(list, name{h.ID, h.Text})
		}
	}
	return list, nil
}
