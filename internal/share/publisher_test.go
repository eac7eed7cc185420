package share

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// A tree is a [Source] of files in memory.
type tree map[string]string

func (t tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

func (t tree) Complete() bool { return true }

func (t tree) Load(_ context.Context, path string) (*memory.Document, error) {
	text, ok := t[path]
	if !ok {
		return nil, nil
	}
	return parse(path, text), nil
}

func parse(path, text string) *memory.Document {
	l := memory.Layout{Owner: "alice", Location: time.UTC, Mask: secrets.Mask}
	return l.Parse(path, []byte(text), memory.Meta{ModTime: time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC)})
}

func fields(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// A shareTest is a publisher of files to a store in memory.
type shareTest struct {
	*Publisher
	t     *testing.T
	files tree
	store *memoryStore
}

// newTest returns a publisher that has not published anything yet.
func newTest(t *testing.T, files tree) *shareTest {
	t.Helper()
	p := &shareTest{t: t, files: files, store: &memoryStore{objects: map[string]Object{}}}
	p.Publisher = &Publisher{Dir: t.TempDir()}
	p.restart()
	return p
}

// restart replaces the publisher by a new one with the same directory.
func (p *shareTest) restart() {
	p.t.Helper()
	now := time.Date(2026, 2, 6, 0, 0, 0, 0, time.UTC)
	p.Publisher = &Publisher{
		Store: p.store, Source: p.files, Breaker: new(Breaker), Dir: p.Dir, MaxSpool: 1 << 20, Timeout: 20 * time.Second,
		Tombstones: 90 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
		Now:   func() time.Time { return now },
		Ready: func(context.Context) error { return nil },
		Rules: newRules(),
	}
	must(p.t, p.Open())
}

func newRules() Rules {
	return Rules{Host: "desk", Publish: []string{"**"}, Subject: func(owner string) string { return strings.Trim(owner, "?/") }, Terms: fields}
}

// step marks files as changed, "" for all, and makes a step.
func (p *shareTest) step(changed ...string) {
	for _, path := range changed {
		p.Changed(path)
	}
	p.Step(p.t.Context())
}

// want checks the contents of the store.
func (p *shareTest) want(when string, want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.store.contents()); diff != "" {
		p.t.Errorf("%s: store (-want +got):\n%s", when, diff)
	}
}

const notes = `---
visibility: public_ok
---
# Notes

- **Bike**: the blue one <!-- id=bike -->

- token ghp_` + "0123456789abcdefghijABCDEFGHIJ456789" + `
`

func TestRules(t *testing.T) {
	r := newRules()
	r.Publish = []string{"notes", "**/*.md"}
	for _, c := range []struct {
		name, path, text string
		private          bool
		want             []string // visibility and first line
		withheld         int
	}{
		{"public file", "notes/a.md", notes, false, []string{"public_ok - **Bike**: the blue one"}, 1},
		{"file with a private entry", "notes/a.md", notes + "- mine <!-- visibility=private_only -->\n", false, nil, 0},
		{"file with a private entry, shared", "notes/a.md", notes + "- mine <!-- visibility=private_only -->\n", true,
			[]string{"private_only - **Bike**: the blue one", "private_only - mine"}, 1},
		{"file with a private block, shared", "notes/a.md", notes + "<private>\n- mine\n</private>\n", true, nil, 0},
		{"private file", "notes/b.md", "- mine\n", false, nil, 0},
		{"private file, shared", "notes/b.md", "- mine\n", true, []string{"private_only - mine"}, 0},
		{"archive", "_longterms/alice/_archive/2026-02.md", "---\nvisibility: public_ok\n---\n- old\n", true, nil, 0},
		{"extra root", "vault:notes/a.md", "---\nvisibility: public_ok\n---\n- other\n", true, nil, 0},
		{"generated", "notes/c.md", "---\nvisibility: public_ok\n---\n<!-- memwatchd:generated -->\n- made\n<!-- /memwatchd:generated -->\n", true, nil, 0},
		{"subject owner", "notes/d.md", "---\nvisibility: public_ok\nsubject_id: owner\n---\n- mine\n", true, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.Private = c.private
			p := r.apply(parse(c.path, c.text))
			tenants := map[string]string{}
			for _, v := range []memory.Visibility{memory.PublicOK, memory.PrivateOnly} {
				tenants[TenantOf("alice", v)] = v.String()
			}
			var got []string
			for _, o := range p.Objects {
				line, _, _ := strings.Cut(o.text("content"), "\n")
				got = append(got, tenants[o.Tenant]+" "+line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || p.Withheld != c.withheld {
				t.Errorf("withheld %d, objects (-want +got):\n%s", p.Withheld, diff)
			}
		})
	}
}

func note(lines ...string) string {
	return "---\nvisibility: public_ok\n---\n- " + strings.Join(lines, "\n- ") + "\n"
}

func TestPublish(t *testing.T) {
	p := newTest(t, tree{"a.md": note("one <!-- id=one -->", "two <!-- id=two -->"), "b.md": note("three <!-- id=three -->")})
	expect := func(when string, puts int, want ...string) {
		t.Helper()
		p.want(when, want...)
		if s := p.Status(); s.Spooled != 0 || s.Published != len(want) || p.store.puts != puts {
			t.Errorf("%s: %d objects were written, want %d; %+v", when, p.store.puts, puts, s)
		}
		p.store.puts = 0
	}
	p.step()
	expect("first", 3, "desk a.md#one - one", "desk a.md#two - two", "desk b.md#three - three")

	p.files["a.md"] = note("one <!-- id=one -->", "two, changed <!-- id=two -->")
	delete(p.files, "b.md")
	p.step("a.md", "b.md")
	expect("changed", 2, "desk a.md#one - one", "desk a.md#two - two, changed")

	p.store.fail = errors.New("away")
	p.files["a.md"] = note("one <!-- id=one -->")
	p.Changed("a.md")
	for range 5 {
		p.step()
	}
	if s := p.Status(); s.State != "waiting" || s.Spooled != 1 || s.LastError != "away" {
		t.Errorf("status %+v while the store is away", s)
	}
	p.store.fail = nil
	p.restart()
	p.step()
	expect("restarted", 1, "desk a.md#one - one")

	p.Rules.Publish = nil
	p.step("")
	expect("nothing is published any more", 1)
	p.Now = func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }
	p.step()
	p.step()
	if len(p.store.objects) != 0 {
		t.Errorf("%d old tombstones are left", len(p.store.objects))
	}
}

// TestRestart checks that the store becomes equal to the files if the daemon starts again
// after changes, whatever became of the outbox, and although answers were lost.
func TestRestart(t *testing.T) {
	for how, spoil := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"lost":    os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		p := newTest(t, tree{})
		for i := range 30 {
			p.files[fmt.Sprintf("%02d.md", i)] = note(fmt.Sprintf("entry %d <!-- id=e -->", i))
		}
		p.step()
		p.store.lose = true
		for i := range 10 {
			delete(p.files, fmt.Sprintf("%02d.md", i))
			p.files[fmt.Sprintf("%02d.md", i+10)] = note(fmt.Sprintf("changed %d <!-- id=e -->", i))
		}
		p.step("")
		must(t, spoil(filepath.Join(p.Dir, boxNames[0])))
		delete(p.files, "29.md")
		p.store.lose = false
		p.restart()
		p.step()
		var want []string
		for path, text := range p.files {
			for _, o := range p.Rules.apply(parse(path, text)).Objects {
				want = append(want, "desk "+o.text("memory_id")+" "+o.text("content"))
			}
		}
		slices.Sort(want)
		p.want(how, want...)
	}
}

func TestSpoolMax(t *testing.T) {
	p := newTest(t, tree{"a.md": note("short <!-- id=a -->")})
	p.store.fail, p.MaxSpool = errors.New("away"), 5000
	p.step()
	p.files["b.md"] = note(strings.Repeat("long ", 2000) + "<!-- id=b -->")
	p.Changed("b.md")
	for range 4 {
		p.step()
	}
	if s := p.Status(); s.Bytes != 0 {
		t.Errorf("the outbox has %d bytes, over the limit", s.Bytes)
	}
	p.store.fail, p.MaxSpool = nil, 1<<20
	p.Now = func() time.Time { return time.Date(2026, 2, 7, 0, 0, 0, 0, time.UTC) }
	for range 3 {
		p.step()
	}
	if got := p.store.contents(); len(got) != 2 {
		t.Errorf("the store has %q", got)
	}
}

func TestRefused(t *testing.T) {
	p := newTest(t, tree{"a.md": note("good <!-- id=a -->", "bad <!-- id=b -->", "fine <!-- id=c -->")})
	p.store.refuse = func(o Object) string {
		if strings.Contains(o.text("content"), "bad") {
			return "it is bad"
		}
		return ""
	}
	p.step()
	s := p.Status()
	diff := cmp.Diff([]api.ShareRefusal{{ID: "a.md#b", Reason: "it is bad"}}, s.Refusals)
	if diff != "" || s.Refused != 1 || len(p.store.contents()) != 2 {
		t.Errorf("store %q, refused (-want +got):\n%s", p.store.contents(), diff)
	}
	p.files["a.md"] = note("good <!-- id=a -->", "better <!-- id=b -->", "fine <!-- id=c -->")
	p.step("")
	if s := p.Status(); s.Refused != 0 || s.Refusals != nil || len(p.store.contents()) != 3 {
		t.Errorf("store %q, refused %v", p.store.contents(), s.Refusals)
	}
}

// TestRefusedOnce checks that an object which the store refused for a passing reason is
// published with the next comparison, even if the daemon started again in between.
func TestRefusedOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		p := newTest(t, tree{"a.md": note("one <!-- id=a -->")})
		p.store.refuse = func(Object) string { return "busy" }
		p.step()
		p.store.refuse = nil
		if restart {
			p.restart()
		}
		_, err := p.Push(t.Context(), "push")
		must(t, err)
		if s := p.Status(); len(p.store.contents()) != 1 || s.Refused > 0 || s.Published != 1 {
			t.Errorf("restart %t: store %q, status %+v", restart, p.store.contents(), s)
		}
	}
}

// TestForgottenText checks that the outbox keeps no text of a removed entry while
// the store is away, and that a slow write postpones the next one unless text was
// forgotten.
func TestForgottenText(t *testing.T) {
	p := newTest(t, tree{"a.md": note("CANARY <!-- id=a -->", "stays <!-- id=b -->")})
	p.store.fail = errors.New("away")
	now := p.Now()
	p.Now = func() time.Time { now = now.Add(time.Second); return now }
	p.step()
	p.files["a.md"] = note("stays <!-- id=b -->")
	p.Changed("a.md")
	if wait := p.Step(t.Context()); wait > 20*time.Minute {
		t.Errorf("the next step is in %s", wait)
	}
	if text, _ := os.ReadFile(filepath.Join(p.Dir, boxNames[0])); !strings.Contains(string(text), "CANARY") {
		t.Error("the outbox is written again at once")
	}
	must(t, p.EraseOutbox())
	if text, _ := os.ReadFile(filepath.Join(p.Dir, boxNames[0])); len(text) > 0 {
		t.Errorf("the erased outbox contains %q", text)
	}
	p.step()
	names, _ := filepath.Glob(filepath.Join(p.Dir, "*"))
	for _, name := range names {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), "CANARY") {
			t.Errorf("%s contains the removed text", name)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(p.Dir, boxNames[0])); !strings.Contains(string(text), "stays") {
		t.Error("the outbox lost another entry")
	}
}

// TestForgottenUnacknowledged checks that text which the store wrote without
// acknowledgement does not stay there after its entry was forgotten, even if the daemon
// starts again in between.
func TestForgottenUnacknowledged(t *testing.T) {
	for _, restart := range []bool{false, true} {
		p := newTest(t, tree{"0.md": note("zero <!-- id=z -->")})
		p.step()
		p.store.lose = true
		p.files["a.md"] = note("CANARY <!-- id=a -->")
		p.step("a.md")
		p.store.lose, p.store.fail = false, errors.New("away")
		delete(p.files, "a.md")
		if restart {
			p.restart()
		}
		p.step("a.md")
		p.store.fail = nil
		p.step()
		p.want(fmt.Sprint("restart ", restart), "desk 0.md#z - zero")
	}
}

func TestCompare(t *testing.T) {
	p := newTest(t, tree{"a.md": note("one <!-- id=one -->", "two <!-- id=two -->", "three <!-- id=three -->")})
	p.step()
	compare := func(want Comparison) {
		t.Helper()
		if c, err := p.Push(t.Context(), "init"); err != nil || c != want {
			t.Errorf("Create = %+v, %v, want %+v", c, err, want)
		}
	}
	compare(Comparison{Objects: 3})
	want := p.store.contents()
	objects := p.store.objects
	keys := slices.Sorted(maps.Keys(objects))
	delete(objects, keys[0])
	changed := objects[keys[1]]
	changed.Properties = maps.Clone(changed.Properties)
	changed.Properties["content"], changed.Properties["hash"] = "other", "0123456789abcdef"
	objects[keys[1]] = changed
	objects["MemoryItem x"] = Object{Collection: "MemoryItem", Tenant: changed.Tenant,
		ID: idOf("desk", changed.Tenant, "x.md#x"), Properties: maps.Clone(changed.Properties)}
	compare(Comparison{Objects: 3, Missing: 2, Extra: 1})
	delete(objects, "MemoryItem x") // the tombstone has the key of its collection, tenant and id
	p.want("repaired", want...)
}

// TestListAgain checks that a removed entry leaves the store although the first list
// lacked it, as that of a server whose disk was replaced.
func TestListAgain(t *testing.T) {
	p := newTest(t, tree{"a.md": note("one <!-- id=one -->"), "b.md": note("two <!-- id=two -->")})
	p.step()
	delete(p.files, "b.md")
	p.store.unlisted = true
	p.restart()
	p.step()
	p.store.unlisted = false
	now := p.Now().Add(listAgain)
	p.Now = func() time.Time { return now }
	p.step()
	p.want("listed again", "desk a.md#one - one")
}

var unstable = regexp.MustCompile(`"rev":[0-9]+`)

// TestRequestsDependOnTheirTenant checks that requests contain no text that is not
// published, and that those of a tenant do not depend on entries of others.
func TestRequestsDependOnTheirTenant(t *testing.T) {
	public := tree{"notes/a.md": note("one <!-- id=one -->\n", "two <!-- id=two -->"), "notes/b.md": note("three")}
	hidden := maps.Clone(public)
	hidden["notes/a.private.md"] = "---\nvisibility: private_only\n---\n# Heading CANARY-1\n- CANARY-3\n"
	hidden["notes/e.md"] = "---\nvisibility: public_ok\n---\n<private>\n- CANARY-2\n</private>\n\n- five\n"
	hidden["notes/c.md"] = "- CANARY-4\n"
	hidden["_longterms/alice/_archive/2026-01.md"] = note("CANARY-5")
	hidden["notes/d.md"] = note("key ghp_0123456789abcdefghijABCDEFGHIJ456789 of CANARY-6")
	hidden["vault:e.md"] = note("CANARY-7")
	hidden["CANARY-8.md"] = "- private\n"
	hidden["notes/f.md"] = "---\nvisibility: public_ok\nsubject_id: bob\n---\n- of bob\n"
	record := func(files tree, private bool, change func(tree)) string {
		p := newTest(t, maps.Clone(files))
		p.Rules.Private = private
		p.step()
		change(p.files)
		p.step("")
		of := ""
		for _, r := range p.store.requests {
			if !private && strings.Contains(r, "CANARY") {
				t.Errorf("request contains hidden text: %s", r)
			}
			if strings.Contains(r, "CANARY-2") || strings.Contains(r, "CANARY-5") || strings.Contains(r, "CANARY-6") ||
				strings.Contains(r, "CANARY-7") {
				t.Errorf("request contains text that is never published: %s", r)
			}
			if strings.Contains(r, TenantOf("alice", memory.PublicOK)) {
				of += unstable.ReplaceAllString(r, "") + "\n"
			}
		}
		return of
	}
	for _, private := range []bool{false, true} {
		want := record(public, private, func(files tree) { files["notes/b.md"] = note("four") })
		got := record(hidden, private, func(files tree) {
			files["notes/b.md"] = note("four")
			files["notes/c.md"] = "- CANARY-4, changed\n- more\n"
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("private %t: requests of a tenant depend on other entries (-without +with):\n%s", private, diff)
		}
	}
}

func TestBreaker(t *testing.T) {
	var b Breaker
	now := time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC)
	fail := func(pauses ...time.Duration) {
		t.Helper()
		for i, want := range pauses {
			b.Record(now, errors.New("away"))
			if got := b.Due(now); got != want*time.Second || b.Allows() != (want == 0) {
				t.Errorf("the pause after failure %d is %s, want %d s", i, got, want)
			}
		}
	}
	fail(0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300)
	b.Record(now, nil)
	fail(0, 0, 1)
	for _, pause := range []time.Duration{2, 4, 8} { // a good trial permits requests until the next failure
		b.Trial(now, nil)
		if !b.Allows() || b.Due(now) != 0 {
			t.Error("open after a good trial")
		}
		fail(pause)
	}
	b.Record(now, nil)
	for _, e := range []*Error{{Err: errors.New("busy"), RetryAfter: time.Minute}, {Err: errors.New("key"), Permanent: true}} {
		b.Record(now, e)
		if due := b.Due(now); b.Allows() || e.Permanent != (due < 0) || !e.Permanent && due != e.RetryAfter {
			t.Errorf("after %+v: pause %s", e, due)
		}
	}
}

// A partialTree is a [Source] that lacks files until it is complete.
type partialTree struct {
	tree
	missing map[string]bool
}

func (t *partialTree) Paths() []string {
	return slices.DeleteFunc(t.tree.Paths(), func(path string) bool { return t.missing[path] })
}

func (t *partialTree) Complete() bool { return len(t.missing) == 0 }

// TestIncompleteSource checks that entries of files which are not indexed yet stay in
// the store, and that those of removed files are removed when all are indexed.
func TestIncompleteSource(t *testing.T) {
	p := newTest(t, tree{"a.md": note("one <!-- id=a -->"), "b.md": note("two <!-- id=b -->"), "c.md": note("three <!-- id=c -->")})
	p.step()
	delete(p.files, "c.md")
	part := &partialTree{p.files, map[string]bool{"a.md": true, "b.md": true}}
	p.restart()
	p.Source = part
	if _, err := p.Push(t.Context(), "init"); err != nil || len(p.store.contents()) != 3 {
		t.Errorf("store %q after a push from an incomplete index: %v", p.store.contents(), err)
	}
	if wait := p.Step(t.Context()); wait > time.Minute {
		t.Errorf("the next step is in %s", wait)
	}
	part.missing = nil
	p.step()
	p.want("when the index is complete", "desk a.md#a - one", "desk b.md#b - two")
}
