package ops

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

var testMemorySeed = flag.Uint64("memory-seed", 1, "the first of the memories that are made at random")

// TestPrivacyMatrix runs every operation as every caller in every context about
// an entry of every kind, owner and visibility. The outcome must be the one of
// the rule. Every byte of the answer, and all text that can be read afterwards,
// must be the same as without the text that the caller may not read, or for a write as with
// other such text, and that text must not change.
func TestPrivacyMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute, and several with the race detector")
	}
	for _, op := range api.Operations {
		if _, ok := requestPlans[op.Name]; !ok {
			t.Errorf("%s has no aim: say in the table how it is asked about an entry", op.Name)
		}
	}
	leaves, targets := comparisonFiles()
	tally := map[string]map[outcome]int{}
	cells, requests, ran := 0, 0, 0
	var mu sync.Mutex
	t.Run("askers", func(t *testing.T) {
		for _, a := range testCallers() {
			t.Run(a.String(), func(t *testing.T) {
				t.Parallel()
				x := newComparison(t, leaves, a)
				for _, op := range api.Operations {
					for _, target := range a.selectTargets(targets, op) {
						got := x.runTarget(op, requestPlans[op.Name], target)
						mu.Lock()
						if tally[op.Name] == nil {
							tally[op.Name] = map[outcome]int{}
						}
						for _, is := range got {
							tally[op.Name][is]++
						}
						cells, requests = cells+1, requests+len(got)
						mu.Unlock()
					}
				}
				x.checkUnchanged()
				mu.Lock()
				ran++
				mu.Unlock()
			})
		}
	})
	t.Logf("%d cells of %d operations, %d askers in a context and %d entries; %d requests", cells, len(api.Operations), len(testCallers()), len(targets), requests)
	if ran < len(testCallers()) {
		return // a filter selected only some of the callers
	}
	for _, op := range api.Operations {
		n := tally[op.Name]
		refused := n[hidden] + n[forbidden] + n[noSubject]
		if n[allowed] == 0 || refused == 0 && requestPlans[op.Name].rule != everybody {
			t.Errorf("%s was asked %d times where that is allowed and %d times where it is not", op.Name, n[allowed], refused)
		}
	}
}

type testCaller struct {
	scopeFields map[string]any // scope fields of a request
	subject     string         // canonical
	context     memory.Context
	readAccess
}

func (a testCaller) String() string { return fmt.Sprint(a.scopeFields) }

// thorough runs every caller in every context and reads every entry, which takes
// minutes. Otherwise cases that match public or by-subject ones are skipped.
var thorough = os.Getenv("FAULTS") != ""

// testCallers returns the owner, a subject, its alias itself and by the linked key,
// another subject and an anonymous caller, each in every context; fewer if not
// thorough.
func testCallers() []testCaller {
	return slices.DeleteFunc(allTestCallers(), func(a testCaller) bool {
		alike := (a.context == memory.Unknown) != (a.subject == "") || a.scopeFields["external_key"] != nil
		return !thorough && alike
	})
}

func allTestCallers() (list []testCaller) {
	for _, who := range []struct{ field, value, subject string }{
		{"subject", "owner", "owner"}, {"subject", "acct:42", "acct:42"}, {"external_key", "telegram:1", "acct:42"},
		{"subject", "ext:telegram:1", "ext:telegram:1"}, {"subject", "bob", "bob"}, {"subject", "", ""},
	} {
		for _, name := range []string{"private", "public", "unknown"} {
			context, _ := memory.ParseContext(name)
			a := testCaller{scopeFields: map[string]any{who.field: who.value, "context": name}, subject: who.subject, context: context}
			a.private = name == "private"
			switch who.subject {
			case "":
			case "acct:42":
				a.subjects = []string{"acct:42", "ext:telegram:1"}
			default:
				a.subjects = []string{who.subject}
			}
			list = append(list, a)
		}
	}
	return list
}

// selectTargets returns the entries for the requests of an operation by a caller. Of
// other subjects' entries with the same kind and visibility it returns only
// one, unless the operation only reads and the test is thorough.
func (a *testCaller) selectTargets(targets []*target, op *api.Operation) (list []*target) {
	if op.ReadOnly && thorough {
		return targets
	}
	seen := map[string]bool{}
	for _, t := range targets {
		if alike := fmt.Sprint(t.kind, t.isPrivate, t.private); t.owner == "" || slices.Contains(a.subjects, t.owner) || !seen[alike] {
			list, seen[alike] = append(list, t), seen[alike] || t.owner != "" && !slices.Contains(a.subjects, t.owner)
		}
	}
	return list
}

// An outcome is the result of a request.
type outcome string

const (
	allowed   outcome = "allowed"
	hidden    outcome = "as if it were not there"
	forbidden outcome = "forbidden"
	noSubject outcome = "no_subject"
)

// A ruleKind is a class of operations with the same rule.
type ruleKind int

const (
	reads     ruleKind = iota // shows readable entries
	adds                      // adds in every context, for a subject
	changes                   // changes readable entries, in private only, for a subject
	maintains                 // for the root's owner, in private
	everybody                 // the same for every permitted caller
)

// requiredOutcome returns the outcome that the rule requires for a request about an entry.
// An operation that does not cover entries of that kind shows none and changes
// none.
func (s ruleKind) requiredOutcome(a *testCaller, entry *target, reaches bool) outcome {
	there := reaches && a.canRead(entry.owner, entry.private)
	switch {
	case s == everybody:
		return allowed
	case s == maintains && (a.subject != "owner" || !a.private):
		return forbidden
	case s == maintains:
		return allowed
	case s == reads && !there:
		return hidden
	case s == reads:
		return allowed
	case a.subject == "":
		return noSubject
	case s == changes && !a.private:
		return forbidden
	case s == changes && !there:
		return hidden
	}
	return allowed
}

// A target is an entry that requests are about.
type target struct {
	*testFile
	private bool
	n       int
}

func (t *target) String() string {
	visibility := "public"
	if t.private {
		visibility = "private"
	}
	return fmt.Sprintf("%s %s of %q in %s", visibility, t.kind, t.owner, t.path)
}

// The parts of a target: requests contain the word; only a caller that read the
// entry knows the proof.
func (t *target) word() string  { return fmt.Sprintf("zq%03d", t.n) }
func (t *target) proof() string { return fmt.Sprintf("yy%03d", t.n) }
func (t *target) id() string    { return fmt.Sprintf("i%03d", t.n) }

func visibilityOf(private bool) string {
	if private {
		return "private_only"
	}
	return "public_ok"
}

// line returns the entry, and task another entry that is a task.
func (t *target) line() string {
	from := ""
	if dir, _, ok := strings.Cut(t.path, "/_archive/"); ok && strings.Contains(t.path, "/2026-01.desk.") {
		from = " from=" + dir + "/_index.md"
	}
	return fmt.Sprintf("- **%s**: %s #%s [more](SOUL.md) <!-- id=%s%s -->", t.word(), t.proof(), t.word(), t.id(), from)
}

func (t *target) task() string {
	return fmt.Sprintf("- [ ] job %s %s <!-- id=j%03d -->", t.word(), t.proof(), t.n)
}

// comparisonFiles returns files of every kind and owner, each with a target, and beside each
// a file with a target for other readers. Both files have an entry with the same text and one
// with the same title.
func comparisonFiles() (leaves []*testFile, targets []*target) {
	add := func(l *testFile) {
		if l.kind == memory.Longterm || l.kind == memory.Session {
			l.front = append(l.front, fmt.Sprintf("summary: ss%03d", len(leaves)), "tags: [file]")
		}
		twin := func(private bool) []block {
			list := []block{{text: "- **Twin**: alike", private: private}}
			if l.kind != memory.Items {
				list = append(list, block{text: "- the same words", private: private})
			}
			return list
		}
		var ours []*target
		for _, private := range []bool{true, false} {
			ours = append(ours, &target{l, private, len(targets) + len(ours)})
		}
		if l.kind != memory.Items {
			l.blocks = append(l.blocks, block{heading: true, text: "# About"})
		}
		for _, o := range ours {
			l.blocks = append(append(l.blocks, twin(o.private)...), block{text: o.line(), private: o.private})
		}
		if slices.Contains([]memory.Kind{memory.Session, memory.Daily, memory.Longterm, memory.Note}, l.kind) {
			l.blocks = append(l.blocks, block{heading: true, text: "## Tasks"})
			for _, o := range ours {
				l.blocks = append(l.blocks, block{text: o.task(), private: o.private})
			}
		}
		own, beside := splitFile(l)
		for _, o := range ours {
			if o.testFile = own; o.private != own.isPrivate {
				o.testFile = beside
			}
		}
		leaves, targets = append(leaves, own, beside), append(targets, ours...)
	}
	const day = "2026-02-05"
	claim := func(subject string) []string { return []string{"subject_id: " + subject} }
	add(&testFile{path: "memory/" + day + "/common.md", kind: memory.Session, front: []string{"session_id: sid0"}})
	add(&testFile{path: "memory/2026-02-04/old.md", kind: memory.Session, isPrivate: true, routing: []string{"visibility: private_only"}})
	for i, s := range []string{"owner", "acct:42", "ext:telegram:1", "bob"} {
		dir := "_longterms/" + memory.SubjectDir(s)
		add(&testFile{path: fmt.Sprintf("memory/%s/chat%d.md", day, i), kind: memory.Session, owner: s, routing: claim(s), front: []string{fmt.Sprintf("session_id: sid%d", i+1)}})
		if s != "bob" { // bob has no other directory
			home := memory.UserDir(s) + "/"
			if s == "owner" {
				home = ""
			}
			add(&testFile{path: home + "memory/" + day + ".md", kind: memory.Daily, owner: s})
			add(&testFile{path: home + "SOUL.md", kind: memory.Identity, owner: s})
			add(&testFile{path: home + "USER.md", kind: memory.Identity, owner: s, isPrivate: true})
			if s != "ext:telegram:1" {
				add(&testFile{path: home + "MEMORY.md", kind: memory.Longterm, owner: s, isPrivate: true})
			}
		} else {
			add(&testFile{path: "memory/" + day + "/bob.md", kind: memory.Session, owner: s, isPrivate: true, routing: append(claim(s), "visibility: private_only")})
		}
		if s != "owner" {
			add(&testFile{path: dir + "/_index.md", kind: memory.Longterm, owner: s, isPrivate: true, routing: claim(s)})
		}
		add(&testFile{path: dir + "/fact.md", kind: memory.Items, owner: s, isPrivate: true})
		add(&testFile{path: dir + "/preference.md", kind: memory.Items, owner: s, isPrivate: true, routing: claim(s)})
		add(&testFile{path: dir + "/_archive/2026-01.desk.md", kind: memory.Archive, owner: s, isPrivate: true})
		add(&testFile{path: dir + "/_archive/2025-12-01/chat.md", kind: memory.Archive, owner: s, routing: claim(s)})
		note := dir + "/more.md"
		if s == "owner" {
			note = "notes/ideas.md"
		}
		add(&testFile{path: note, kind: memory.Note, owner: s, isPrivate: true})
	}
	return leaves, targets
}

// A comparison is the environment of one caller: the whole memory, a copy without the
// text that the caller may not read, and one with other text in its place. Writes are
// compared with the last one, because they may show that a file has such text.
type comparison struct {
	*testing.T
	testCaller
	leaves                   []*testFile
	complete, reduced, other *testMemory
	known                    map[string]testResult // by request; every request starts from the same files
}

type testResult struct {
	answer  string
	failure *api.Error
	files   map[string]string // files of the whole memory afterwards
}

func newComparison(t *testing.T, leaves []*testFile, a testCaller) *comparison {
	return &comparison{T: t, testCaller: a, leaves: leaves, complete: newTestMemory(t, leaves, nil), reduced: newTestMemory(t, leaves, &a.readAccess),
		other: newOtherMemory(t, leaves, &a.readAccess, true), known: map[string]testResult{}}
}

// runTarget runs one operation about one entry and returns the outcome of each
// request.
func (x *comparison) runTarget(op *api.Operation, how requestPlan, entry *target) (got []outcome) {
	x.Helper()
	for _, ask := range how.requests(entry) {
		want := entry.adjust(ask.how, ask.reaches, &x.testCaller, how.rule.requiredOutcome(&x.testCaller, entry, ask.reaches))
		how := how
		how.fullRoot = how.fullRoot || ask.fullRoot && x.subject == "owner" && x.private
		result := x.compareRequest(op, how, ask)
		if ask.free {
			continue
		}
		is := allowed
		switch {
		case result.failure == nil:
			if !entry.shows(ask.how, &result) {
				is = hidden
			}
		case result.failure.Code == api.NotFound:
			is = hidden
		default:
			is = outcome(result.failure.Code)
		}
		if is != want {
			x.Errorf("%s %v, about a %s: it is %s, and should be %s:\n%s", op.Name, ask.request, entry, is, want, result.answer)
		}
		got = append(got, is)
	}
	return got
}

// compareRequest sends a request to both memories and compares the answers and the text
// that can be read afterwards.
func (x *comparison) compareRequest(op *api.Operation, how requestPlan, ask testRequest) (result testResult) {
	x.Helper()
	request, key := ask.request, ""
	if ask.next != nil {
		first := op
		if ask.first != "" {
			first = lookUp(x, ask.first)
		}
		result = x.requestBoth(first, how, x.request(first, request))
		request = ask.next(result.answer)
	} else {
		key = op.Name + x.request(op, request)
		if known, ok := x.known[key]; ok {
			return known
		}
	}
	text := "nothing more"
	if request != nil {
		text = x.request(op, request)
		result = x.requestBoth(op, how, text)
	}
	defer func() {
		if key != "" {
			x.known[key] = result
		}
	}()
	if op.ReadOnly {
		return result
	}
	result.files = x.complete.files(x)
	if !maps.Equal(result.files, x.complete.base) || !maps.Equal(x.other.files(x), x.other.base) {
		scope := memory.Scope{Subject: x.subject, Context: x.context}
		if diff := cmp.Diff(x.other.readable(x, scope), x.complete.readable(x, scope)); diff != "" && !how.fullRoot {
			x.Errorf("%s %s: what can be read then (-as if the rest did not exist +as it is):\n%s", op.Name, text, diff)
		}
		if line := firstMissing(x.leaves, &x.readAccess, result.files); line != "" && !how.fullRoot {
			x.Errorf("%s %s: what cannot be read is lost: %s\n%s", op.Name, text, line, result.files[strings.Split(line, ":")[0]])
		}
		if result.failure != nil {
			x.Errorf("%s %s: it failed, and changed something: %v", op.Name, text, result.failure)
		}
		x.complete.restore(x)
		x.other.restore(x)
	}
	x.complete.isInitial, x.other.isInitial = true, true
	return result
}

// request returns the encoded request with the caller's scope. Operations on
// identities name their subject themselves.
func (x *comparison) request(op *api.Operation, request fields) string {
	full := maps.Clone(request)
	if !slices.Contains([]string{"resolve", "link", "unlink"}, op.Name) {
		maps.Copy(full, x.scopeFields)
	}
	text, err := json.Marshal(full)
	if err != nil {
		x.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "$subject", x.subject)
}

// requestBoth sends the same request to both memories.
func (x *comparison) requestBoth(op *api.Operation, how requestPlan, request string) testResult {
	x.Helper()
	answer, failure := x.complete.runRequest(x, nil, op, request)
	if !how.fullRoot {
		if part, _ := x.partFor(op).runRequest(x, nil, op, request); part != answer {
			x.Errorf("%s %s (-as if the rest did not exist +as it is):\n%s", op.Name, request, cmp.Diff(part, answer))
		}
	}
	return testResult{answer: answer, failure: failure}
}

// partFor returns the memory with which the answers of an operation are compared.
func (x *comparison) partFor(op *api.Operation) *testMemory {
	if op.ReadOnly {
		return x.reduced
	}
	return x.other
}

// checkUnchanged checks that read-only operations changed nothing.
func (x *comparison) checkUnchanged() {
	x.Helper()
	for _, g := range []*testMemory{x.complete, x.reduced, x.other} {
		if diff := cmp.Diff(g.base, g.files(x)); diff != "" {
			x.Errorf("something changed that nobody asked for:\n%s", diff)
		}
	}
}

// hasLine reports whether a file contains a line after the request.
func (r *testResult) hasLine(path, line string) bool {
	return slices.Contains(strings.Split(r.files[path], "\n"), line)
}
