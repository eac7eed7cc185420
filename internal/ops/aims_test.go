package ops

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A requestPlan describes the test requests of an operation about an entry.
type requestPlan struct {
	rule     ruleKind
	requests func(*target) []testRequest
	fullRoot bool // administration: the answer covers the whole root
}

type testRequest struct {
	request  fields
	reaches  bool                                      // the operation covers entries of that kind
	shows    func(*testResult) bool                    // the answer concerns the entry, or changed it; nil: any does
	adjust   func(a *testCaller, rule outcome) outcome // adjusts the outcome that the rule gives
	free     bool                                      // the outcome depends on more than the entry
	fullRoot bool                                      // for the owner in private the answer covers the whole root

	before *preceding
}

// A preceding request runs before another one, which needs its answer.
type preceding struct {
	op      string
	request fields
	next    func(answer string) fields // nil if no request follows
}

type fields = map[string]any

func fixedRequest(request fields) func(*target) []testRequest {
	return func(*target) []testRequest { return []testRequest{{request: request, reaches: true}} }
}

// echoedWords matches the fields of an answer that repeat words of the query.
var echoedWords = regexp.MustCompile(`"(absent|missing|partial)":\["[^\]]*"\]`)

// proofRequest returns a request whose answer contains the proof of the entry.
func proofRequest(e *target, reaches bool, request fields) testRequest {
	return testRequest{request: request, reaches: reaches, shows: func(r *testResult) bool {
		return strings.Contains(echoedWords.ReplaceAllString(r.answer, ""), e.proof())
	}}
}

// listRequest returns a request whose answer contains name among its values.
func listRequest(name string, request fields) testRequest {
	return testRequest{request: request, reaches: true, shows: func(r *testResult) bool {
		return slices.Contains(decodeAnswer[api.CompleteAnswer](r.answer).Values, name)
	}}
}

// removalRequest returns a request that removes the line of the entry.
func removalRequest(e *target, reaches bool, request fields) testRequest {
	return testRequest{request: request, reaches: reaches, shows: func(r *testResult) bool { return !r.hasLine(e.path, e.line()) }}
}

// writeRequest returns a request after which a file contains text.
func writeRequest(request fields, text string) testRequest {
	return testRequest{request: request, reaches: true, shows: func(r *testResult) bool {
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
func (t *target) shared(is outcome, ofFile bool) func(*testCaller, outcome) outcome {
	return func(a *testCaller, rule outcome) outcome {
		if t.owner == "" && a.private && a.subject != "" && a.subject != "owner" && (ofFile || rule == allowed) {
			return is
		}
		return rule
	}
}

func (t *target) namespace() string { return strings.TrimSuffix(path.Base(t.path), ".md") }

func (t *target) is(kinds ...memory.Kind) bool { return slices.Contains(kinds, t.kind) }

func decodeAnswer[T any](answer string) (v T) {
	_ = json.Unmarshal([]byte(answer), &v) // an answer of another form decodes to the zero value
	return v
}

// requestPlans holds the test requests of every operation.
var requestPlans = map[string]requestPlan{
	"search": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{
			proofRequest(e, true, fields{"query": e.word(), "include_archived": true, "explain": true}),
			proofRequest(e, true, fields{"query": e.word() + " alike same words", "include_archived": true, "mode": "overlap", "limit": 100}),
			proofRequest(e, !e.is(memory.Archive), fields{"query": `"` + e.proof() + `"`}),
			proofRequest(e, true, fields{"query": e.word() + " alike same words", "include_archived": true, "mode": "hybrid", "explain": true, "limit": 100}),
		}
	}},
	"get": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{
			proofRequest(e, true, fields{"path": e.path}), proofRequest(e, true, fields{"id": e.path + "#" + e.id()}), proofRequest(e, true, fields{"id": e.id()}),
		}
	}},
	"recent": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{proofRequest(e, !e.is(memory.Archive), fields{"hours": 876000, "tags": []string{e.word()}})}
	}},
	"related": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{{request: fields{"id": e.path + "#" + e.id()}, reaches: true}, {request: fields{"path": e.path}, free: true}}
	}},
	"load": {rule: reads, requests: func(e *target) []testRequest {
		named := e.is(memory.Session) && e.session() != "none"
		ask := proofRequest(e, named || e.log() || e.is(memory.Longterm, memory.Identity), fields{"session": e.session(), "day": "2026-02-05", "days": 400})
		ask.adjust = func(a *testCaller, rule outcome) outcome {
			if e.is(memory.Longterm) && !a.private {
				return hidden // a session start reads it in private only
			}
			return rule
		}
		return []testRequest{ask}
	}},
	"context": {rule: reads, requests: func(e *target) []testRequest {
		whole := path.Base(e.path) == "MEMORY.md"
		return []testRequest{
			proofRequest(e, !e.is(memory.Archive), fields{"format": "relevant", "query": e.word()}),
			proofRequest(e, e.is(memory.Items), fields{"format": "items", "max_items": 1000}),
			proofRequest(e, whole || e.log() || e.is(memory.Identity), fields{"format": "boot"}),
			proofRequest(e, whole, fields{"format": "full"}),
			proofRequest(e, false, fields{"format": "summary", "session": e.session()}), // never contains entry text
		}
	}},
	"todos": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{proofRequest(e, e.tasks(), fields{"state": "all", "days": 0}),
			proofRequest(e, e.tasks() || e.is(memory.Note), fields{"state": "all", "notes": true})}
	}},
	"complete": {rule: reads, requests: func(e *target) []testRequest {
		path := listRequest(e.path, fields{"what": "path", "prefix": e.path})
		path.adjust = func(a *testCaller, _ outcome) outcome {
			if a.canRead(e.owner, false) {
				return allowed // for the other text in the file
			}
			return hidden
		}
		// The owner in private sees all subjects; other callers see their own.
		subject := testRequest{request: fields{"what": "subject"}, free: true, fullRoot: true}
		return []testRequest{
			path, listRequest(e.word(), fields{"what": "tag", "prefix": "z", "limit": 1000}), subject,
			{request: fields{"what": "path", "prefix": path.request["prefix"].(string)[:1], "steps": true}, free: true},
			{request: fields{"what": "session"}, free: true},
			{request: fields{"what": "namespace"}, free: true},
			{request: fields{"what": "section", "prefix": "t"}, free: true},
			{free: true, before: &preceding{"complete", fields{"what": "path", "limit": 1}, func(answer string) fields {
				return fields{"what": "path", "limit": 2, "after": decodeAnswer[api.CompleteAnswer](answer).Next}
			}}},
		}
	}},
	"files": {rule: reads, requests: func(e *target) []testRequest {
		list := testRequest{request: fields{"path": e.path}, reaches: true, shows: func(r *testResult) bool {
			return slices.ContainsFunc(decodeAnswer[api.FilesAnswer](r.answer).Files, func(f api.ListedFile) bool { return f.Path == e.path })
		}}
		list.adjust = func(a *testCaller, _ outcome) outcome {
			if a.canRead(e.owner, false) {
				return allowed // for the other text in the file
			}
			return hidden
		}
		return []testRequest{
			list, {request: fields{"totals": true}, free: true}, {request: fields{"kinds": []string{"session", "note"}}, free: true},
			{free: true, before: &preceding{"files", fields{"limit": 1}, func(answer string) fields {
				return fields{"limit": 2, "after": decodeAnswer[api.FilesAnswer](answer).Next}
			}}},
		}
	}},
	"todo": {rule: changes, requests: func(e *target) []testRequest {
		done := func(r *testResult) bool { return !r.hasLine(e.path, e.task()) }
		text := "job " + e.word() + " " + e.proof()
		list := []testRequest{
			{request: fields{"text": text}, shows: done},
			{request: fields{"text": e.proof()}, shows: done},
			{request: fields{"id": fmt.Sprintf("%s#j%03d", e.path, e.n)}, shows: done},
			{request: fields{"text": text, "dry_run": true}},
		}
		for i := range list { // each selects tasks of ordinary notes too
			list[i].reaches, list[i].adjust = e.tasks() || e.is(memory.Note), e.shared(forbidden, false)
		}
		return append(list, // several tasks
			testRequest{request: fields{"text": "job"}, free: true},
			testRequest{request: fields{"text": "job", "all": true}, free: true},
			testRequest{request: fields{"id": e.path + ":1-99", "all": true}, free: true})
	}},

	"note": {rule: adds, requests: func(e *target) []testRequest {
		return []testRequest{
			writeRequest(fields{"text": "saw " + e.word(), "topic": "About"}, "saw "+e.word()),
			writeRequest(fields{"text": e.proof() + " again", "visibility": "public_ok", "tags": []string{"file"}}, e.proof()+" again"),
		}
	}},
	"todo_add": {rule: adds, requests: func(e *target) []testRequest {
		return []testRequest{
			writeRequest(fields{"text": "do " + e.word()}, "do "+e.word()),
			// The same task as the hidden one is added beside it.
			{request: fields{"text": "job " + e.word() + " " + e.proof(), "visibility": "public_ok", "due": "2d"}, free: true},
		}
	}},
	"capture": {rule: adds, requests: func(e *target) []testRequest {
		return []testRequest{
			{request: fields{"bullets": []string{"the same words", e.word() + " too"}, "visibility": visibilityOf(e.private)}, reaches: true},
		}
	}},
	"session": {rule: adds, requests: func(e *target) []testRequest {
		draft := fields{
			"summary": "about " + e.word(), "items": fields{"About": []fields{{"title": e.word(), "text": "new text"}, {"title": "Twin", "text": "otherwise"}}},
			"tasks": []fields{{"text": "job " + e.word() + " " + e.proof(), "done": true}, {"text": "twin"}},
		}
		return []testRequest{
			writeRequest(fields{"session": e.session(), "draft": draft}, "new text"),
			{request: fields{"session": e.session(), "draft": draft, "dry_run": true}, reaches: true},
		}
	}},
	"item_put": {rule: adds, requests: func(e *target) []testRequest {
		var list []testRequest
		for _, visibility := range []string{"public_ok", "private_only"} {
			for _, key := range []string{e.word(), "Twin"} {
				list = append(list, writeRequest(fields{"namespace": e.names(), "key": key, "value": "put here", "visibility": visibility}, "put here"))
			}
		}
		return list
	}},

	"remember": {rule: changes, requests: func(e *target) []testRequest {
		ask := writeRequest(fields{"title": e.word(), "text": "kept text", "explicit": true}, "kept text")
		ask.adjust = allowSuccess
		return []testRequest{ask, {request: fields{"text": "the same words", "explicit": true}, free: true}}
	}},
	"profile": {rule: changes, requests: summaryRequests},
	"project": {rule: changes, requests: summaryRequests},
	"forget": {rule: changes, requests: func(e *target) []testRequest {
		ask := removalRequest(e, true, fields{})
		ask.before = &preceding{"forget", fields{"match": "**" + e.word() + "**"}, func(answer string) fields {
			list := decodeAnswer[api.ForgetAnswer](answer)
			if len(list.Entries) == 0 {
				return nil
			}
			return fields{"ids": []string{list.Entries[0].ID}, "token": list.Token}
		}}
		list := proofRequest(e, true, fields{"match": e.word()})
		ask.adjust, list.adjust = e.shared(hidden, false), e.shared(hidden, false)
		return []testRequest{list, ask}
	}},
	"edit": {rule: changes, requests: func(e *target) []testRequest {
		ask := removalRequest(e, true, fields{"path": e.path, "old_text": e.word() + "**: " + e.proof(), "new_text": e.word() + "**: other"})
		ask.adjust = e.shared(forbidden, true)
		return []testRequest{ask}
	}},
	"write": {rule: changes, requests: func(e *target) []testRequest {
		// The answer reveals that an unreadable file exists at the path,
		// because a write must not destroy that file. The request therefore has
		// a hash and never creates a file.
		ask := removalRequest(e, true, fields{"path": e.path, "text": "words of mine\n", "hash": strings.Repeat("0", 64)})
		ask.adjust = e.shared(forbidden, true)
		ask.before = &preceding{"get", fields{"path": e.path}, func(answer string) fields {
			known := decodeAnswer[api.GetAnswer](answer)
			if known.Hash == "" {
				return ask.request
			}
			return fields{"path": e.path, "text": strings.ReplaceAll(known.Text, e.proof(), "other"), "hash": known.Hash}
		}}
		return []testRequest{ask}
	}},
	"item_get": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{
			proofRequest(e, e.is(memory.Items), fields{"namespace": e.names(), "key": e.word()}),
			{request: fields{"namespace": e.names(), "key": "Twin"}, free: true},
		}
	}},
	"item_list": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{
			proofRequest(e, e.is(memory.Items), fields{"namespace": e.names(), "prefix": "zq", "limit": 1000}),
			{free: true, before: &preceding{"item_list", fields{"limit": 1}, func(answer string) fields {
				return fields{"limit": 1, "cursor": decodeAnswer[api.ItemListAnswer](answer).Next}
			}}},
		}
	}},
	"item_delete": {rule: changes, requests: func(e *target) []testRequest {
		return []testRequest{
			removalRequest(e, e.is(memory.Items), fields{"namespace": e.names(), "key": e.word()}),
			removalRequest(e, e.is(memory.Items), fields{"id": e.id()}), removalRequest(e, e.is(memory.Items), fields{"id": e.path + "#" + e.id()}),
		}
	}},
	"item_delete_namespace": {rule: changes, requests: func(e *target) []testRequest {
		return []testRequest{removalRequest(e, e.is(memory.Items), fields{"namespace": e.names()})}
	}},
	"item_visibility": {rule: changes, requests: func(e *target) []testRequest {
		return []testRequest{removalRequest(e, e.is(memory.Items), fields{"id": e.id(), "visibility": visibilityOf(!e.private)})}
	}},

	"resolve": {rule: everybody, requests: fixedRequest(fields{"external_key": "telegram:1"})},
	"link":    {rule: everybody, requests: fixedRequest(fields{"external_key": "slack:9", "subject": "bob"})},
	"unlink":  {rule: everybody, requests: fixedRequest(fields{"external_key": "telegram:1"})},
	"links":   {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},

	"compress":    {rule: maintains, requests: fixedRequest(fields{"dry_run": true}), fullRoot: true},
	"item_import": {rule: maintains, requests: fixedRequest(fields{"lines": `{"subject": "bob", "namespace": "fact", "key": "tea", "value": "imported"}`, "dry_run": true}), fullRoot: true},
	"import": {rule: maintains, requests: func(e *target) []testRequest {
		return fixedRequest(fields{"source": "mem0", "records": fmt.Sprintf(`{"id": "m%d", "title": %q, "parts": [{"text": "- imported"}]}`, e.n, e.word()), "dry_run": true})(e)
	}, fullRoot: true},
	"export": {rule: reads, requests: func(e *target) []testRequest {
		return []testRequest{
			proofRequest(e, true, fields{"include_archived": true}), proofRequest(e, true, fields{"include_archived": true, "entries": true}),
			proofRequest(e, !e.is(memory.Archive), fields{"path": path.Dir(e.path)}), proofRequest(e, true, fields{"path": e.path, "include_archived": true}),
			{request: fields{"cursor": e.path}, free: true},
		}
	}},
	"compact":           {rule: maintains, requests: fixedRequest(fields{"dry_run": true}), fullRoot: true},
	"conflicts":         {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"conflicts_merge":   {rule: maintains, requests: fixedRequest(fields{"dry_run": true}), fullRoot: true},
	"share_status":      {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"share_push":        {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"share_forget_host": {rule: maintains, requests: fixedRequest(fields{"host": "old"}), fullRoot: true},
	"history":           {rule: maintains, requests: fixedRequest(fields{"path": "MEMORY.md"}), fullRoot: true},
	"journal":           {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"undo":              {rule: maintains, requests: fixedRequest(fields{"since": "1h", "dry_run": true}), fullRoot: true},
	"restore": {rule: changes, requests: func(e *target) []testRequest {
		archived := e.is(memory.Archive) && e.isPrivate // an item, not an entry of an archived day
		ask := removalRequest(e, archived, fields{"id": e.path + "#" + e.id()})
		ask.adjust = func(a *testCaller, rule outcome) outcome {
			switch {
			case a.subject == "":
				return noSubject
			case !a.private:
				return forbidden
			case !archived && a.canRead(e.owner, e.private):
				return "invalid"
			}
			return rule
		}
		return []testRequest{ask}
	}},
	"wipe_subject": {rule: changes, requests: func(e *target) []testRequest {
		ask := removalRequest(e, e.owner != "", fields{"confirm": "$subject", "sessions": true})
		ask.adjust = func(a *testCaller, rule outcome) outcome {
			if a.subject == "owner" && a.private {
				return "invalid" // the owner's memory is the root
			}
			return rule
		}
		return []testRequest{ask}
	}},
	"check":      {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"sync":       {rule: everybody, requests: fixedRequest(fields{})},
	"rebuild":    {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"embed":      {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
	"operations": {rule: everybody, requests: fixedRequest(fields{})},
	"status":     {rule: everybody, requests: func(*target) []testRequest { return []testRequest{{request: fields{}, fullRoot: true}} }},
	"events":     {rule: maintains, requests: fixedRequest(fields{}), fullRoot: true},
}

// summaryRequests returns requests for summaries that cite the entry. A public summary
// must cite public entries only.
func summaryRequests(e *target) []testRequest {
	var list []testRequest
	for _, private := range []bool{true, false} {
		request := fields{"name": e.word(), "text": "summed up", "evidence": []string{e.path + "#" + e.id()}, "visibility": visibilityOf(private)}
		ask := writeRequest(request, "summed up")
		ask.adjust = func(_ *testCaller, rule outcome) outcome {
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

// allowSuccess allows a request that succeeds whether or not the entry is
// readable.
func allowSuccess(_ *testCaller, rule outcome) outcome {
	if rule == hidden {
		return allowed
	}
	return rule
}
