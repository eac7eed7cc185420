package ops

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// An aim describes the test requests of an operation about an entry.
type aim struct {
	sort  sort
	asks  func(*target) []asking
	tells bool // administration: the answer covers the whole root
}

// An asking is one request.
type asking struct {
	request fields
	reaches bool                                 // the operation covers entries of that kind
	shows   func(*heard) bool                    // the answer concerns the entry, or changed it; nil: any does
	want    func(a *asker, rule outcome) outcome // adjusts the outcome that the rule gives
	free    bool                                 // the outcome depends on more than the entry
	whole   bool                                 // for the owner in private the answer covers the whole root

	before *preceding
}

// A preceding request runs before another one, which needs its answer.
type preceding struct {
	op      string
	request fields
	next    func(answer string) fields // nil if no request follows
}

type fields = map[string]any

// one returns an aim with one fixed request.
func one(request fields) func(*target) []asking {
	return func(*target) []asking { return []asking{{request: request, reaches: true}} }
}

// shown returns a request whose answer contains the proof of the entry.
func shown(e *target, reaches bool, request fields) asking {
	return asking{request: request, reaches: reaches, shows: func(r *heard) bool { return strings.Contains(r.answer, e.proof()) }}
}

// listed returns a request whose answer contains name among its values.
func listed(name string, request fields) asking {
	return asking{request: request, reaches: true, shows: func(r *heard) bool { return slices.Contains(of[api.CompleteAnswer](r.answer).Values, name) }}
}

// gone returns a request that removes the line of the entry.
func gone(e *target, reaches bool, request fields) asking {
	return asking{request: request, reaches: reaches, shows: func(r *heard) bool { return !r.hasLine(e.path, e.line()) }}
}

// written returns a request after which a file contains text.
func written(request fields, text string) asking {
	return asking{request: request, reaches: true, shows: func(r *heard) bool {
		for _, said := range r.files {
			if strings.Contains(said, text) {
				return true
			}
		}
		return false
	}}
}

// shared adjusts the outcome of a change of text that all subjects share, which
// only the owner may change. The file is readable even if the entry is not.
func (t *target) shared(is outcome, ofFile bool) func(*asker, outcome) outcome {
	return func(a *asker, rule outcome) outcome {
		if t.owner == "" && a.private && a.subject != "" && a.subject != "owner" && (ofFile || rule == allowed) {
			return is
		}
		return rule
	}
}

func (t *target) namespace() string { return strings.TrimSuffix(path.Base(t.path), ".md") }

// is reports whether the entry is of one of the kinds.
func (t *target) is(kinds ...memory.Kind) bool { return slices.Contains(kinds, t.kind) }

// of decodes an answer.
func of[T any](answer string) (v T) {
	_ = json.Unmarshal([]byte(answer), &v) // an answer of another form decodes to the zero value
	return v
}

// aims holds the test requests of every operation.
var aims = map[string]aim{
	"search": {sort: reads, asks: func(e *target) []asking {
		return []asking{
			shown(e, true, fields{"query": e.word(), "include_archived": true, "explain": true}),
			shown(e, true, fields{"query": e.word() + " alike same words", "include_archived": true, "mode": "overlap", "limit": 100}),
			shown(e, !e.is(memory.Archive), fields{"query": `"` + e.proof() + `"`}),
		}
	}},
	"get": {sort: reads, asks: func(e *target) []asking {
		return []asking{
			shown(e, true, fields{"path": e.path}), shown(e, true, fields{"id": e.path + "#" + e.id()}), shown(e, true, fields{"id": e.id()}),
		}
	}},
	"recent": {sort: reads, asks: func(e *target) []asking {
		return []asking{shown(e, !e.is(memory.Archive), fields{"hours": 876000, "tags": []string{e.word()}})}
	}},
	"related": {sort: reads, asks: func(e *target) []asking {
		return []asking{{request: fields{"id": e.path + "#" + e.id()}, reaches: true}, {request: fields{"path": e.path}, free: true}}
	}},
	"load": {sort: reads, asks: func(e *target) []asking {
		named := e.is(memory.Session) && e.session() != "none"
		ask := shown(e, named || e.log() || e.is(memory.Longterm, memory.Identity), fields{"session": e.session(), "day": "2026-02-05", "days": 400})
		ask.want = func(a *asker, rule outcome) outcome {
			if e.is(memory.Longterm) && !a.private {
				return hidden // a session start reads it in private only
			}
			return rule
		}
		return []asking{ask}
	}},
	"context": {sort: reads, asks: func(e *target) []asking {
		whole := path.Base(e.path) == "MEMORY.md"
		return []asking{
			shown(e, !e.is(memory.Archive), fields{"format": "relevant", "query": e.word()}),
			shown(e, e.is(memory.Items), fields{"format": "items", "max_items": 1000}),
			shown(e, whole || e.log() || e.is(memory.Identity), fields{"format": "boot"}),
			shown(e, whole, fields{"format": "full"}),
			shown(e, false, fields{"format": "summary", "session": e.session()}), // never contains entry text
		}
	}},
	"todos": {sort: reads, asks: func(e *target) []asking {
		return []asking{shown(e, e.tasks(), fields{"state": "all", "days": 0})}
	}},
	"complete": {sort: reads, asks: func(e *target) []asking {
		path := listed(e.path, fields{"what": "path", "prefix": e.path})
		path.want = func(a *asker, _ outcome) outcome {
			if a.reads(e.owner, false) {
				return allowed // for the other text in the file
			}
			return hidden
		}
		// The owner in private sees all subjects; other callers see their own.
		subject := asking{request: fields{"what": "subject"}, free: true, whole: true}
		return []asking{
			path, listed(e.word(), fields{"what": "tag", "prefix": "z", "limit": 1000}), subject,
			{request: fields{"what": "path", "prefix": path.request["prefix"].(string)[:1], "steps": true}, free: true},
			{request: fields{"what": "session"}, free: true},
			{request: fields{"what": "namespace"}, free: true},
			{request: fields{"what": "section", "prefix": "t"}, free: true},
			{free: true, before: &preceding{"complete", fields{"what": "path", "limit": 1}, func(answer string) fields {
				return fields{"what": "path", "limit": 2, "after": of[api.CompleteAnswer](answer).Next}
			}}},
		}
	}},
	"todo": {sort: changes, asks: func(e *target) []asking {
		done := func(r *heard) bool { return !r.hasLine(e.path, e.task()) }
		var list []asking
		for _, request := range []fields{{"text": "job " + e.word() + " " + e.proof()}, {"id": fmt.Sprintf("%s#j%03d", e.path, e.n)}} {
			list = append(list, asking{request: request, reaches: e.tasks(), shows: done, want: e.shared(forbidden, false)})
		}
		return append(list, asking{request: fields{"text": "job " + e.word() + " " + e.proof(), "dry_run": true}, reaches: e.tasks(), want: e.shared(forbidden, false)})
	}},

	"note": {sort: adds, asks: func(e *target) []asking {
		return []asking{
			written(fields{"text": "saw " + e.word(), "topic": "About"}, "saw "+e.word()),
			written(fields{"text": e.proof() + " again", "visibility": "public_ok", "tags": []string{"file"}}, e.proof()+" again"),
		}
	}},
	"capture": {sort: adds, asks: func(e *target) []asking {
		return []asking{
			{request: fields{"bullets": []string{"the same words", e.word() + " too"}, "visibility": visibilityOf(e.private)}, reaches: true},
		}
	}},
	"session": {sort: adds, asks: func(e *target) []asking {
		draft := fields{
			"summary": "about " + e.word(), "items": fields{"About": []fields{{"title": e.word(), "text": "new text"}, {"title": "Twin", "text": "otherwise"}}},
			"tasks": []fields{{"text": "job " + e.word() + " " + e.proof(), "done": true}, {"text": "twin"}},
		}
		return []asking{
			written(fields{"session": e.session(), "draft": draft}, "new text"),
			{request: fields{"session": e.session(), "draft": draft, "dry_run": true}, reaches: true},
		}
	}},
	"item_put": {sort: adds, asks: func(e *target) []asking {
		var list []asking
		for _, visibility := range []string{"public_ok", "private_only"} {
			for _, key := range []string{e.word(), "Twin"} {
				list = append(list, written(fields{"namespace": e.names(), "key": key, "value": "put here", "visibility": visibility}, "put here"))
			}
		}
		return list
	}},

	"remember": {sort: changes, asks: func(e *target) []asking {
		ask := written(fields{"title": e.word(), "text": "kept text", "explicit": true}, "kept text")
		ask.want = whateverIsThere
		return []asking{ask, {request: fields{"text": "the same words", "explicit": true}, free: true}}
	}},
	"profile": {sort: changes, asks: summed},
	"project": {sort: changes, asks: summed},
	"forget": {sort: changes, asks: func(e *target) []asking {
		ask := gone(e, true, fields{})
		ask.before = &preceding{"forget", fields{"match": "**" + e.word() + "**"}, func(answer string) fields {
			list := of[api.ForgetAnswer](answer)
			if len(list.Entries) == 0 {
				return nil
			}
			return fields{"ids": []string{list.Entries[0].ID}, "token": list.Token}
		}}
		list := shown(e, true, fields{"match": e.word()})
		ask.want, list.want = e.shared(hidden, false), e.shared(hidden, false)
		return []asking{list, ask}
	}},
	"edit": {sort: changes, asks: func(e *target) []asking {
		ask := gone(e, true, fields{"path": e.path, "old_text": e.word() + "**: " + e.proof(), "new_text": e.word() + "**: other"})
		ask.want = e.shared(forbidden, true)
		return []asking{ask}
	}},
	"write": {sort: changes, asks: func(e *target) []asking {
		// The answer reveals that an unreadable file exists at the path,
		// because a write must not destroy that file. The request therefore has
		// a hash and never creates a file.
		ask := gone(e, true, fields{"path": e.path, "text": "words of mine\n", "hash": strings.Repeat("0", 64)})
		ask.want = e.shared(forbidden, true)
		ask.before = &preceding{"get", fields{"path": e.path}, func(answer string) fields {
			known := of[api.GetAnswer](answer)
			if known.Hash == "" {
				return ask.request
			}
			return fields{"path": e.path, "text": strings.ReplaceAll(known.Text, e.proof(), "other"), "hash": known.Hash}
		}}
		return []asking{ask}
	}},
	"item_get": {sort: reads, asks: func(e *target) []asking {
		return []asking{
			shown(e, e.is(memory.Items), fields{"namespace": e.names(), "key": e.word()}),
			{request: fields{"namespace": e.names(), "key": "Twin"}, free: true},
		}
	}},
	"item_list": {sort: reads, asks: func(e *target) []asking {
		return []asking{
			shown(e, e.is(memory.Items), fields{"namespace": e.names(), "prefix": "zq", "limit": 1000}),
			{free: true, before: &preceding{"item_list", fields{"limit": 1}, func(answer string) fields {
				return fields{"limit": 1, "cursor": of[api.ItemListAnswer](answer).Next}
			}}},
		}
	}},
	"item_delete": {sort: changes, asks: func(e *target) []asking {
		return []asking{
			gone(e, e.is(memory.Items), fields{"namespace": e.names(), "key": e.word()}),
			gone(e, e.is(memory.Items), fields{"id": e.id()}), gone(e, e.is(memory.Items), fields{"id": e.path + "#" + e.id()}),
		}
	}},
	"item_delete_namespace": {sort: changes, asks: func(e *target) []asking {
		return []asking{gone(e, e.is(memory.Items), fields{"namespace": e.names()})}
	}},
	"item_visibility": {sort: changes, asks: func(e *target) []asking {
		return []asking{gone(e, e.is(memory.Items), fields{"id": e.id(), "visibility": visibilityOf(!e.private)})}
	}},

	"resolve": {sort: everybody, asks: one(fields{"external_key": "telegram:1"})},
	"link":    {sort: keeps, asks: one(fields{"external_key": "slack:9", "subject": "bob"}), tells: true},
	"unlink":  {sort: keeps, asks: one(fields{"external_key": "telegram:1"}), tells: true},
	"links":   {sort: keeps, asks: one(fields{}), tells: true},

	"compress": {sort: keeps, asks: one(fields{"dry_run": true}), tells: true},
	"compact":  {sort: keeps, asks: one(fields{"dry_run": true}), tells: true},
	"journal":  {sort: keeps, asks: one(fields{}), tells: true},
	"undo":     {sort: keeps, asks: one(fields{"since": "1h", "dry_run": true}), tells: true},
	"restore": {sort: changes, asks: func(e *target) []asking {
		archived := e.is(memory.Archive) && e.shut // an item, not an entry of an archived day
		ask := gone(e, archived, fields{"id": e.path + "#" + e.id()})
		ask.want = func(a *asker, rule outcome) outcome {
			switch {
			case !a.private:
				return forbidden
			case !archived && a.reads(e.owner, e.private):
				return "invalid"
			case a.subject == "":
				return hidden
			}
			return rule
		}
		return []asking{ask}
	}},
	"wipe_subject": {sort: changes, asks: func(e *target) []asking {
		ask := gone(e, e.owner != "", fields{"confirm": "$subject", "sessions": true})
		ask.want = func(a *asker, rule outcome) outcome {
			if a.subject == "owner" && a.private {
				return "invalid" // the owner's memory is the root
			}
			return rule
		}
		return []asking{ask}
	}},
	"check":      {sort: keeps, asks: one(fields{}), tells: true},
	"sync":       {sort: everybody, asks: one(fields{})},
	"rebuild":    {sort: keeps, asks: one(fields{}), tells: true},
	"operations": {sort: everybody, asks: one(fields{})},
	"status":     {sort: everybody, asks: func(*target) []asking { return []asking{{request: fields{}, whole: true}} }},
	"events":     {sort: keeps, asks: one(fields{}), tells: true},
}

// summed returns requests for summaries that cite the entry. A public summary
// must cite public entries only.
func summed(e *target) []asking {
	var list []asking
	for _, private := range []bool{true, false} {
		request := fields{"name": e.word(), "text": "summed up", "evidence": []string{e.path + "#" + e.id()}, "visibility": visibilityOf(private)}
		ask := written(request, "summed up")
		ask.want = func(_ *asker, rule outcome) outcome {
			if rule == allowed && e.private && !private {
				return "invalid"
			}
			return rule
		}
		list = append(list, ask)
	}
	return list
}

// session returns the session id of the entry's file, or the id of no session.
func (t *target) session() string {
	for _, line := range t.front {
		if id, ok := strings.CutPrefix(line, "session_id: "); ok {
			return id
		}
	}
	return "none"
}

// names returns the namespace of the entry, or one that does not contain the
// entry.
func (t *target) names() string {
	if t.is(memory.Items) {
		return t.namespace()
	}
	return "project"
}

// tasks reports whether the todos operation covers the kind of the file.
func (t *target) tasks() bool { return t.is(memory.Session, memory.Daily, memory.Longterm) }

// log reports whether the entry is in a log of today.
func (t *target) log() bool { return t.is(memory.Daily) || path.Base(t.path) == "bob.md" }

// whateverIsThere allows a request that succeeds whether or not the entry is
// readable.
func whateverIsThere(_ *asker, rule outcome) outcome {
	if rule == hidden {
		return allowed
	}
	return rule
}
