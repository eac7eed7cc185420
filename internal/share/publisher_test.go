package share

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

func newPublisher(t *testing.T, dir string, files tree, store Store) *Publisher {
	t.Helper()
	now := time.Date(2026, 2, 6, 0, 0, 0, 0, time.UTC)
	p := &Publisher{
		Store: store, Source: files, Breaker: new(Breaker), Dir: dir, MaxSpool: 1 << 20, Timeout: 20 * time.Second,
		Tombstones: 90 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now },
		Rules: Rules{Host: "desk", Publish: []string{"**"}, Subject: func(owner string) string { return strings.Trim(owner, "?/") },
			Terms: fields},
	}
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	return p
}

const mixed = `---
visibility: public_ok
---
# Notes

- **Bike**: the blue one <!-- id=bike -->
- a secret of mine <!-- visibility=private_only -->

<private>
- CANARY-PRIVATE-BLOCK
</private>

- token ghp_` + "0123456789abcdefghijABCDEFGHIJ456789" + `
`

func TestRules(t *testing.T) {
	r := Rules{Host: "desk", Publish: []string{"notes", "**/*.md"}, Subject: func(o string) string { return strings.Trim(o, "?/") }, Terms: fields}
	for _, c := range []struct {
		name, path, text string
		private          bool
		want             []string // visibility and first line
		withheld         int
	}{
		{"public entries of a mixed file", "notes/a.md", mixed, false, []string{"public_ok - **Bike**: the blue one"}, 1},
		{"private entries, but no private block", "notes/a.md", mixed, true,
			[]string{"public_ok - **Bike**: the blue one", "private_only - a secret of mine"}, 1},
		{"private file", "notes/b.md", "- mine\n", false, nil, 0},
		{"private file, shared", "notes/b.md", "- mine\n", true, []string{"private_only - mine"}, 0},
		{"archive", "_longterms/alice/_archive/2026-02.md", "---\nvisibility: public_ok\n---\n- old\n", true, nil, 0},
		{"extra root", "vault:notes/a.md", "---\nvisibility: public_ok\n---\n- other\n", true, nil, 0},
		{"generated", "notes/c.md", "---\nvisibility: public_ok\n---\n<!-- memwatchd:generated -->\n- made\n<!-- /memwatchd:generated -->\n", true, nil, 0},
		{"subject owner", "notes/d.md", "---\nvisibility: public_ok\nsubject_id: owner\n---\n- mine\n", true, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.Private = c.private
			p := r.Apply(parse(c.path, c.text))
			var got []string
			for i, line := range p.Lines {
				got = append(got, p.Owners[i].Visibility.String()+" "+line)
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
	ctx, dir, store := t.Context(), t.TempDir(), new(memoryStore)
	files := tree{"a.md": note("one <!-- id=one -->", "two <!-- id=two -->"), "b.md": note("three <!-- id=three -->")}
	p := newPublisher(t, dir, files, store)
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, store.contents()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if s := p.Status(); s.Spooled != 0 || s.Published != len(want) {
			t.Errorf("%s: %+v", when, s)
		}
	}
	p.Step(ctx)
	expect("first", "desk a.md#one - one", "desk a.md#two - two", "desk b.md#three - three")

	files["a.md"] = note("one <!-- id=one -->", "two, changed <!-- id=two -->")
	delete(files, "b.md")
	puts := store.puts
	p.Changed("a.md")
	p.Changed("b.md")
	p.Step(ctx)
	expect("changed", "desk a.md#one - one", "desk a.md#two - two, changed")
	if store.puts-puts != 2 {
		t.Errorf("%d objects were written for 2 changes", store.puts-puts)
	}

	store.fail = errors.New("away")
	files["a.md"] = note("one <!-- id=one -->")
	p.Changed("a.md")
	for range 5 {
		p.Step(ctx)
	}
	if s := p.Status(); s.State != "waiting" || s.Spooled != 1 || s.LastError != "away" {
		t.Errorf("status %+v while the store is away", s)
	}
	store.fail = nil
	puts = store.puts
	p = newPublisher(t, dir, files, store)
	p.Step(ctx)
	expect("restarted", "desk a.md#one - one")
	if store.puts-puts != 1 {
		t.Errorf("%d objects were written for 1 change", store.puts-puts)
	}

	p.Rules.Publish = nil
	p.Changed("")
	p.Step(ctx)
	expect("nothing is published any more")
	p.Now = func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }
	p.Step(ctx)
	p.Step(ctx)
	if len(store.objects) != 0 {
		t.Errorf("%d old tombstones are left", len(store.objects))
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
		ctx, dir, store := t.Context(), t.TempDir(), new(lossyStore)
		files := tree{}
		for i := range 30 {
			files[fmt.Sprintf("%02d.md", i)] = note(fmt.Sprintf("entry %d <!-- id=e -->", i))
		}
		p := newPublisher(t, dir, files, store)
		p.Step(ctx)
		store.lose = true
		for i := range 10 {
			delete(files, fmt.Sprintf("%02d.md", i))
			files[fmt.Sprintf("%02d.md", i+10)] = note(fmt.Sprintf("changed %d <!-- id=e -->", i))
		}
		p.Changed("")
		p.Step(ctx)
		if err := spoil(filepath.Join(dir, boxNames[0])); err != nil {
			t.Fatal(err)
		}
		delete(files, "29.md")
		store.lose = false
		newPublisher(t, dir, files, store).Step(ctx)
		if diff := cmp.Diff(contentsOf(p, files), store.contents()); diff != "" {
			t.Errorf("%s: store (-want +got):\n%s", how, diff)
		}
	}
}

// contentsOf returns the text of the objects of some files, sorted.
func contentsOf(p *Publisher, files tree) (want []string) {
	for path, text := range files {
		for _, o := range p.Rules.Apply(parse(path, text)).Objects {
			want = append(want, "desk "+o.text("memory_id")+" "+o.text("content"))
		}
	}
	slices.Sort(want)
	return want
}

func TestSpoolMax(t *testing.T) {
	ctx, store := t.Context(), &memoryStore{fail: errors.New("away")}
	files := tree{"a.md": note("short <!-- id=a -->")}
	p := newPublisher(t, t.TempDir(), files, store)
	p.MaxSpool = 5000
	p.Step(ctx)
	files["b.md"] = note(strings.Repeat("long ", 2000) + "<!-- id=b -->")
	p.Changed("b.md")
	for range 4 {
		p.Step(ctx)
	}
	if s := p.Status(); s.Bytes != 0 {
		t.Errorf("the outbox has %d bytes, over the limit", s.Bytes)
	}
	store.fail = nil
	p.MaxSpool = 1 << 20
	p.Now = func() time.Time { return time.Date(2026, 2, 7, 0, 0, 0, 0, time.UTC) }
	for range 3 {
		p.Step(ctx)
	}
	if got := store.contents(); len(got) != 2 {
		t.Errorf("the store has %q", got)
	}
}

func TestRefused(t *testing.T) {
	ctx := t.Context()
	store := &memoryStore{refuse: func(o Object) string {
		if strings.Contains(o.text("content"), "bad") {
			return "it is bad"
		}
		return ""
	}}
	files := tree{"a.md": note("good <!-- id=a -->", "bad <!-- id=b -->", "fine <!-- id=c -->")}
	p := newPublisher(t, t.TempDir(), files, store)
	p.Step(ctx)
	s := p.Status()
	diff := cmp.Diff([]api.ShareRefusal{{ID: "a.md#b", Reason: "it is bad"}}, s.Refusals)
	if diff != "" || s.Refused != 1 || len(store.contents()) != 2 {
		t.Errorf("store %q, refused (-want +got):\n%s", store.contents(), diff)
	}
	files["a.md"] = note("good <!-- id=a -->", "better <!-- id=b -->", "fine <!-- id=c -->")
	p.Changed("")
	p.Step(ctx)
	if s := p.Status(); s.Refused != 0 || s.Refusals != nil || len(store.contents()) != 3 {
		t.Errorf("store %q, refused %v", store.contents(), s.Refusals)
	}
}

// TestRefusedOnce checks that an object which the store refused for a passing reason is
// published with the next comparison, even if the daemon started again in between.
func TestRefusedOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		ctx, dir, store := t.Context(), t.TempDir(), new(memoryStore)
		store.refuse = func(Object) string { return "busy" }
		files := tree{"a.md": note("one <!-- id=a -->")}
		p := newPublisher(t, dir, files, store)
		p.Step(ctx)
		store.refuse = nil
		if restart {
			p = newPublisher(t, dir, files, store)
		}
		if err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if s := p.Status(); len(store.contents()) != 1 || s.Refused > 0 || s.Published != 1 {
			t.Errorf("restart %t: store %q, status %+v", restart, store.contents(), s)
		}
	}
}

// TestForgottenText checks that the outbox keeps no text of a removed entry while
// the store is away.
func TestForgottenText(t *testing.T) {
	ctx, dir, store := t.Context(), t.TempDir(), &memoryStore{fail: errors.New("away")}
	files := tree{"a.md": note("CANARY <!-- id=a -->", "stays <!-- id=b -->")}
	p := newPublisher(t, dir, files, store)
	p.Step(ctx)
	files["a.md"] = note("stays <!-- id=b -->")
	p.Changed("a.md")
	p.Step(ctx)
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), "CANARY") {
			t.Errorf("%s contains the removed text", name)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, boxNames[0])); !strings.Contains(string(text), "stays") {
		t.Error("the outbox lost another entry")
	}
}

func TestCompare(t *testing.T) {
	ctx, store := t.Context(), new(memoryStore)
	files := tree{"a.md": note("one <!-- id=one -->", "two <!-- id=two -->", "three <!-- id=three -->")}
	p := newPublisher(t, t.TempDir(), files, store)
	p.Step(ctx)
	if c, err := p.Create(ctx); err != nil || c != (Comparison{Objects: 3}) {
		t.Errorf("Create = %+v, %v for equal sides", c, err)
	}
	want := store.contents()
	keys := slices.Sorted(maps.Keys(store.objects))
	delete(store.objects, keys[0])
	changed := store.objects[keys[1]]
	changed.Properties = maps.Clone(changed.Properties)
	changed.Properties["content"], changed.Properties["hash"] = "other", "0123456789abcdef"
	store.objects[keys[1]] = changed
	extra := maps.Clone(changed.Properties)
	store.objects["MemoryItem x"] = Object{Collection: "MemoryItem", Tenant: changed.Tenant,
		ID: IDOf("desk", changed.Tenant, "x.md#x"), Properties: extra}
	c, err := p.Create(ctx)
	if err != nil || c != (Comparison{Objects: 3, Missing: 2, Extra: 1}) {
		t.Errorf("Create = %+v, %v", c, err)
	}
	delete(store.objects, "MemoryItem x") // the tombstone has the key of its collection, tenant and id
	if diff := cmp.Diff(want, store.contents()); diff != "" {
		t.Errorf("repaired store (-want +got):\n%s", diff)
	}
	if n, err := p.ForgetHost(ctx, "desk"); err == nil {
		t.Errorf("ForgetHost removed %d objects of this machine", n)
	}
}

// A partialStore lists no objects, like a server whose disk was replaced.
type partialStore struct {
	memoryStore
	partial bool
}

func (s *partialStore) List(ctx context.Context, host string) iter.Seq2[Object, error] {
	if s.partial {
		return func(func(Object, error) bool) {}
	}
	return s.memoryStore.List(ctx, host)
}

// TestListAgain checks that a removed entry leaves the store although the first list
// lacked it.
func TestListAgain(t *testing.T) {
	ctx, dir, store := t.Context(), t.TempDir(), new(partialStore)
	files := tree{"a.md": note("one <!-- id=one -->"), "b.md": note("two <!-- id=two -->")}
	newPublisher(t, dir, files, store).Step(ctx)
	delete(files, "b.md")
	store.partial = true
	p := newPublisher(t, dir, files, store)
	p.Step(ctx)
	store.partial = false
	now := p.Now().Add(listAgain)
	p.Now = func() time.Time { return now }
	p.Step(ctx)
	if diff := cmp.Diff([]string{"desk a.md#one - one"}, store.contents()); diff != "" {
		t.Errorf("store (-want +got):\n%s", diff)
	}
}

var unstable = regexp.MustCompile(`"rev":[0-9]+`)

// TestRequestsDependOnTheirTenant checks that requests contain no text that is not
// published, and that those of a tenant do not depend on entries of others.
func TestRequestsDependOnTheirTenant(t *testing.T) {
	public := tree{"notes/a.md": note("one <!-- id=one -->\n", "two <!-- id=two -->"), "notes/b.md": note("three")}
	hidden := maps.Clone(public)
	hidden["notes/a.md"] = "---\nvisibility: public_ok\n---\n- CANARY-1 <!-- visibility=private_only -->\n- one <!-- id=one -->\n" +
		"\n<private>\n- CANARY-2\n</private>\n\n- two <!-- id=two -->\n# Heading CANARY-3\n- x <!-- visibility=private_only -->\n"
	hidden["notes/c.md"] = "- CANARY-4\n"
	hidden["_longterms/alice/_archive/2026-01.md"] = note("CANARY-5")
	hidden["notes/d.md"] = note("key ghp_0123456789abcdefghijABCDEFGHIJ456789 of CANARY-6")
	hidden["vault:e.md"] = note("CANARY-7")
	hidden["CANARY-8.md"] = "- private\n"
	hidden["notes/f.md"] = "---\nvisibility: public_ok\nsubject_id: bob\n---\n- of bob\n"
	record := func(files tree, private bool, change func(tree)) string {
		store := new(memoryStore)
		p := newPublisher(t, t.TempDir(), maps.Clone(files), store)
		p.Rules.Private = private
		p.Step(t.Context())
		change(p.Source.(tree))
		p.Changed("")
		p.Step(t.Context())
		of := ""
		for _, r := range store.requests {
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
	failure := errors.New("away")
	for range 2 {
		b.Record(now, failure)
	}
	if !b.Allows() {
		t.Error("closed after 2 failures")
	}
	for last, i := time.Duration(0), 0; i < 12; i++ {
		b.Record(now, failure)
		pause := b.Due(now)
		if b.Allows() || pause < 800*time.Millisecond || pause > 6*time.Minute || i < 8 && pause <= last {
			t.Errorf("pause %d is %s after %s", i, pause, last)
		}
		last = pause
	}
	b.Record(now, nil)
	if !b.Allows() || b.Due(now) != 0 {
		t.Error("open after a success")
	}
	for last, i := time.Duration(0), 0; i < 8; i++ {
		for range 3 {
			if b.Allows() {
				b.Record(now, failure)
			}
		}
		pause := b.Due(now)
		if b.Allows() || pause <= last {
			t.Errorf("pause %d is %s after %s and a good trial", i, pause, last)
		}
		last = pause
		b.Trial(now, nil)
		if !b.Allows() {
			t.Error("open after a good trial")
		}
	}
	b.Record(now, nil)
	b.Record(now, &Error{Err: failure, RetryAfter: time.Minute})
	if b.Allows() || b.Due(now) < time.Minute {
		t.Errorf("pause is %s, the store requested a minute", b.Due(now))
	}
	b.Record(now, &Error{Err: failure, Permanent: true})
	if b.Due(now) >= 0 {
		t.Error("a permanent error permits requests")
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
	ctx, dir, store := t.Context(), t.TempDir(), new(memoryStore)
	files := tree{"a.md": note("one <!-- id=a -->"), "b.md": note("two <!-- id=b -->"), "c.md": note("three <!-- id=c -->")}
	p := newPublisher(t, dir, files, store)
	p.Step(ctx)
	delete(files, "c.md")
	part := &partialTree{files, map[string]bool{"a.md": true, "b.md": true}}
	p = newPublisher(t, dir, files, store)
	p.Source = part
	if _, err := p.Create(ctx); err != nil || len(store.contents()) != 3 {
		t.Errorf("store %q after a push from an incomplete index: %v", store.contents(), err)
	}
	if wait := p.Step(ctx); wait > time.Minute {
		t.Errorf("the next step is in %s", wait)
	}
	part.missing = nil
	p.Step(ctx)
	if got := store.contents(); len(got) != 2 {
		t.Errorf("store %q when the index is complete", got)
	}
}
