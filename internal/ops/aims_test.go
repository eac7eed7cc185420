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

type fields = map[string]any

// A requestPlan describes the test requests of an operation about an entry.
type requestPlan struct {
	rule     ruleKind
	fullRoot bool // administration: the answer covers the whole root
	lines    [][]string
}

type testRequest struct {
	request  fields
	reaches  bool   // the operation covers entries of that kind
	how      string // in which the outcome shows
	free     bool   // the outcome depends on more than the entry
	fullRoot bool   // for the owner in private the answer covers the whole root

	first string                     // the operation of the request if another one follows; empty for the same one
	next  func(answer string) fields // the request that follows from its answer, nil if none does
}

// requestTable holds the test requests of every operation: beside or below its name and rule,
// one a line, with the kinds of entries that it covers and the way in which the outcome
// shows. In a request, $word, $proof and other names stand for parts of the entry.
const requestTable = `
search reads
  all proof {"query": "$word", "include_archived": true, "explain": true}
  all proof {"query": "$word alike same words", "include_archived": true, "mode": "overlap", "limit": 100}
  live proof {"query": "\"$proof\""}
  all proof {"query": "$word alike same words", "include_archived": true, "mode": "hybrid", "explain": true, "limit": 100}
get reads
  all proof {"path": "$path"}
  all proof {"id": "$path#$id"}
  all proof {"id": "$id"}
recent reads
  live proof {"hours": 876000, "tags": ["$word"]}
related reads
  all any {"id": "$path#$id"}
  all free {"path": "$path"}
load reads
  load load {"session": "$session", "day": "2026-02-05", "days": 400}
context reads
  live proof {"format": "relevant", "query": "$word"}
  items proof {"format": "items", "max_items": 1000}
  boot proof {"format": "boot"}
  whole proof {"format": "full"}
  none proof {"format": "summary", "session": "$session"}
todos reads
  tasks proof {"state": "all", "days": 0}
  boxes proof {"state": "all", "notes": true}
complete reads
  all file {"what": "path", "prefix": "$path"}
  all tag {"what": "tag", "prefix": "z", "limit": 1000}
  all freeroot {"what": "subject"}
  all free {"what": "path", "prefix": "$first", "steps": true}
  all free {"what": "session"}
  all free {"what": "namespace"}
  all free {"what": "section", "prefix": "t"}
  all page {"what": "path", "limit": 1}
files reads
  all file {"path": "$path"}
  all free {"totals": true}
  all free {"kinds": ["session", "note"]}
  all page {"limit": 1}
todo changes
  boxes ticked {"text": "job $word $proof"}
  boxes ticked {"text": "$proof"}
  boxes ticked {"id": "$path#j$number"}
  boxes shared {"text": "job $word $proof", "dry_run": true}
  all free {"text": "job"}
  all free {"text": "job", "all": true}
  all free {"id": "$path:1-99", "all": true}
note adds
  all wrote {"text": "saw $word: put here", "topic": "About"}
  all wrote {"text": "$proof put here", "visibility": "public_ok", "tags": ["file"]}
todo_add adds
  all wrote {"text": "do $word: put here"}
  all free {"text": "job $word $proof", "visibility": "public_ok", "due": "2d"}
capture adds {"bullets": ["the same words", "$word too"], "visibility": "$visibility"}
session adds
  all wrote {"session": "$session", "draft": $draft}
  all any {"session": "$session", "draft": $draft, "dry_run": true}
item_put adds
  all wrote {"namespace": "$namespace", "key": "$word", "value": "put here", "visibility": "public_ok"}
  all wrote {"namespace": "$namespace", "key": "Twin", "value": "put here", "visibility": "public_ok"}
  all wrote {"namespace": "$namespace", "key": "$word", "value": "put here", "visibility": "private_only"}
  all wrote {"namespace": "$namespace", "key": "Twin", "value": "put here", "visibility": "private_only"}
  all free {"namespace": "$namespace", "key": "$word", "visibility": "$other"}
remember changes
  all remembered {"title": "$word", "text": "put here", "explicit": true}
  all free {"text": "the same words", "explicit": true}
profile,project changes
  all wrote {"name": "$word", "text": "put here", "evidence": ["$path#$id"], "visibility": "private_only"}
  all cited {"name": "$word", "text": "put here", "evidence": ["$path#$id"], "visibility": "public_ok"}
forget changes
  all listed {"match": "$word"}
  all forgotten {"match": "**$word**"}
edit changes
  all edited {"path": "$path", "old_text": "$word**: $proof", "new_text": "$word**: other"}
write changes
  all written {"path": "$path"}
item_get reads
  items proof {"namespace": "$namespace", "key": "$word"}
  all free {"namespace": "$namespace", "key": "Twin"}
item_list reads
  items proof {"namespace": "$namespace", "prefix": "zq", "limit": 1000}
  all page {"limit": 1}
item_delete changes
  items gone {"namespace": "$namespace", "key": "$word"}
  items gone {"id": "$id"}
  items gone {"id": "$path#$id"}
  items gone {"namespace": "$namespace", "all": true}
export reads
  all proof {"include_archived": true}
  all proof {"include_archived": true, "entries": true}
  live proof {"path": "$dir"}
  all proof {"path": "$path", "include_archived": true}
  all free {"cursor": "$path"}
wipe_subject changes
  owned wiped {"confirm": "$subject", "sessions": true}
status everybody
  all root {}
resolve everybody {"external_key": "telegram:1"}
link everybody {"external_key": "slack:9", "subject": "bob"}
unlink everybody {"external_key": "telegram:1"}
sync,operations everybody {}
links,conflicts,share_status,share_push,journal,check,rebuild,events maintains {}
compress,compact,conflicts_merge maintains {"dry_run": true}
import maintains {"source": "jsonl", "records": "{\"id\": \"i\", \"item\": {\"subject\": \"bob\", \"namespace\": \"fact\", \"key\": \"tea\", \"value\": \"imported\", \"visibility\": \"\"}}", "dry_run": true}
import maintains {"source": "mem0", "records": "{\"id\": \"m$number\", \"title\": \"$word\", \"parts\": [{\"text\": \"- imported\"}]}", "dry_run": true}
history maintains {"path": "MEMORY.md"}
undo maintains {"since": "1h", "dry_run": true}
`

// requestPlans are the plans of the table by operation.
var requestPlans = func() map[string]requestPlan {
	rules := map[string]ruleKind{"reads": reads, "adds": adds, "changes": changes, "maintains": maintains, "everybody": everybody}
	plans, names := map[string]requestPlan{}, []string(nil)
	for line := range strings.Lines(strings.TrimSpace(requestTable)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if line[0] != ' ' {
			names = strings.Split(words[0], ",")
			for _, name := range names {
				plans[name] = requestPlan{rule: rules[words[1]], fullRoot: words[1] == "maintains"}
			}
			words[0], words[1] = "all", "any"
		}
		for _, name := range names {
			if plan := plans[name]; len(words) == 3 {
				plan.lines = append(plan.lines, words)
				plans[name] = plan
			}
		}
	}
	return plans
}()

// covers reports whether a request covers entries of the kind of the target.
func (t *target) covers(kinds string) bool {
	log := t.is(memory.Daily) || strings.HasPrefix(path.Base(t.path), "bob.") // of today
	whole := path.Base(t.path) == "MEMORY.md"
	tasks := t.is(memory.Session, memory.Daily, memory.Longterm)
	return map[string]bool{"all": true, "live": !t.is(memory.Archive), "items": t.is(memory.Items), "tasks": tasks,
		"boxes": tasks || t.is(memory.Note), "whole": whole, "boot": whole || log || t.is(memory.Identity), "owned": t.owner != "",
		"load": t.is(memory.Session) && t.session() != "none" && path.Base(t.path) == t.usualName() || log || t.is(memory.Longterm, memory.Identity),
	}[kinds]
}

// echoedWords matches the fields of an answer that repeat words of the query.
var echoedWords = regexp.MustCompile(`"(absent|missing)":\["[^\]]*"\]`)

// requests returns the requests of a plan about an entry.
func (p requestPlan) requests(e *target) (list []testRequest) {
	draft, _ := json.Marshal(fields{"summary": "about " + e.word(),
		"items": fields{"About": []fields{{"title": e.word(), "text": "put here"}, {"title": "Twin", "text": "otherwise"}}},
		"tasks": []fields{{"text": "job " + e.word() + " " + e.proof(), "done": true}, {"text": "twin"}}})
	names := strings.NewReplacer("$word", e.word(), "$proof", e.proof(), "$id", e.id(), "$path", e.path, "$dir", path.Dir(e.path),
		"$first", e.path[:1], "$session", e.session(), "$namespace", e.names(), "$visibility", visibilityOf(e.private),
		"$other", visibilityOf(!e.private), "$draft", string(draft), "$number", fmt.Sprintf("%03d", e.n))
	for _, line := range p.lines {
		r := testRequest{request: decodeAnswer[fields](names.Replace(line[2])), reaches: e.covers(line[0]), how: line[1]}
		e.complete(&r)
		list = append(list, r)
	}
	return list
}

// shows reports whether an answer concerns the entry, or a request changed it.
func (t *target) shows(how string, r *testResult) bool {
	switch how {
	case "proof", "load", "listed":
		return strings.Contains(echoedWords.ReplaceAllString(r.answer, ""), t.proof())
	case "tag":
		return slices.Contains(decodeAnswer[api.CompleteAnswer](r.answer).Values, t.word())
	case "file":
		files := convertEach(decodeAnswer[api.FilesAnswer](r.answer).Files, func(f api.ListedFile) string { return f.Path })
		return slices.Contains(append(files, decodeAnswer[api.CompleteAnswer](r.answer).Values...), t.path)
	case "ticked":
		return !r.hasLine(t.path, t.task())
	case "wrote", "remembered", "cited":
		return strings.Contains(fmt.Sprint(r.files), "put here")
	case "gone", "forgotten", "edited", "written", "wiped":
		return !r.hasLine(t.path, t.line())
	}
	return true
}

// adjust adjusts the outcome that the rule gives for a request about the entry.
func (t *target) adjust(how string, reaches bool, a *testCaller, rule outcome) outcome {
	is := func(names ...string) bool { return slices.Contains(names, how) }
	shared := t.owner == "" && a.private && a.subject != "" && a.subject != "owner" // only the owner may change it
	switch {
	case is("load") && t.is(memory.Longterm) && !a.private: // a session start reads long-term memory in private only
		return hidden
	case shared && is("listed", "forgotten") && rule == allowed:
		return hidden
	case is("remembered") && rule == hidden: // whether or not the entry is readable
		return allowed
	case shared && is("ticked", "shared") && rule == allowed, shared && !t.private && is("edited", "written"): // the file is readable
		return forbidden
	case is("cited") && t.private && rule == allowed, // a public summary must cite public entries only
		is("wiped") && a.subject == "owner" && a.private: // the owner's memory is the root
		return "invalid"
	}
	return rule
}

// complete sets what follows from a request.
func (t *target) complete(r *testRequest) {
	switch r.how {
	case "free", "freeroot", "root":
		r.free, r.fullRoot = r.how != "root", r.how != "free"
	case "page":
		r.free = true
		r.next = func(answer string) fields { return nextPage(r.request, answer, 2) }
	case "forgotten":
		r.next = func(answer string) fields {
			list := decodeAnswer[api.ForgetAnswer](answer)
			if len(list.Entries) == 0 {
				return nil
			}
			return fields{"ids": []string{list.Entries[0].ID}, "token": list.Token}
		}
	case "written": // with a hash, because an answer reveals that an unreadable file exists at the path of a new one
		r.first = "get"
		r.next = func(answer string) fields {
			known := decodeAnswer[api.GetAnswer](answer)
			if known.Hash == "" {
				return fields{"path": t.path, "text": "words of mine\n", "hash": strings.Repeat("0", 64)}
			}
			return fields{"path": t.path, "text": strings.ReplaceAll(known.Text, t.proof(), "other"), "hash": known.Hash}
		}
	}
}

// usualName returns the name of the file beside which the file is, or its own. Of a session,
// load returns the text of the usual file.
func (t *target) usualName() string {
	base, _ := memory.CutMarkdown(path.Base(t.path))
	return memory.CutEnding(base) + ".md"
}

func (t *target) is(kinds ...memory.Kind) bool { return slices.Contains(kinds, t.kind) }

func decodeAnswer[T any](answer string) (v T) {
	_ = json.Unmarshal([]byte(answer), &v) // an answer of another form decodes to the zero value
	return v
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
		return memory.CutEnding(strings.TrimSuffix(path.Base(t.path), ".md"))
	}
	return "project"
}
