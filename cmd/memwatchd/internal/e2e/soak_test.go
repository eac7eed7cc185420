package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A soak is one daemon under concurrent load for a long time: people, agents and tools
// save, move and delete files, clients send requests, read slowly and disconnect, and an
// operator rebuilds and reloads.
type soak struct {
	*live
	length time.Duration
	seed   uint64

	words, saves, asked, reloads atomic.Int64
}

// An actor repeats an action, on files that no other actor writes. It has its own random
// source, so that its actions can be repeated.
type actor struct {
	*soak
	*rand.Rand
	name  string
	pause time.Duration // between actions, on average
	act   func(context.Context) error
	files []string // oldest first
	next  int      // for an unused name
}

// TestRaceSoak runs a soak for SOAK, or for seconds. In the end files and index agree,
// and the daemon uses no more resources than before.
func TestRaceSoak(t *testing.T) {
	t.Parallel()
	s := &soak{live: newLive(t, t.TempDir(), ""), length: 30 * time.Second, seed: rand.Uint64()}
	s.env = append(s.env, "MEMWATCHD_MEMORY_USERS=alice")
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		s.length, err = time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SOAK: %v", err)
		}
	} else if testing.Short() {
		s.length = 5 * time.Second
	}
	actors := s.actors()
	s.configureSoak()
	s.start()
	s.wantAgreement()
	before := s.quiet()
	s.run(actors)
	t.Logf("in %s %d saves, %d requests, %d reloads; seed %d", s.length, s.saves.Load(), s.asked.Load(), s.reloads.Load(), s.seed)
	if t.Failed() {
		return
	}
	s.sync()
	s.wantAgreement()
	after := s.quiet()
	for _, b := range bounds {
		if was, is := before[b.name], after[b.name]; is > was*(1+b.part)+b.more && (b.name != "anonymous MiB" || !raced()) {
			t.Errorf("%s: %.0f at rest before, %.0f at rest after", b.name, was, is)
		}
	}
	if err := s.stop(); err != nil {
		t.Fatalf("the daemon ended with: %v", err)
	}
	s.start()
	s.wantAgreement()
}

// actors returns the actors, after they have created their files.
func (s *soak) actors() (list []*actor) {
	add := func(name string, pause time.Duration) *actor {
		n := uint64(len(list))
		a := &actor{soak: s, Rand: rand.New(rand.NewPCG(s.seed, n)), name: fmt.Sprint(name, " ", n), pause: pause}
		list = append(list, a)
		return a
	}
	account, alice := fields{"subject": "acct:42", "context": "private"}, fields{"subject": "alice", "context": "private"}
	still := add("a keeper of files that do not change", time.Hour)
	still.act = func(context.Context) error { return nil }
	for path, front := range map[string]string{
		"MEMORY.md": "summary: long", "SOUL.md": "", "alice/MEMORY.md": "", "_longterms/owner/fact.md": "",
		"_longterms/acct_42/_index.md": "subject_id: acct:42", "2026-02-01/of_acct.md": "subject_id: acct:42",
		"2026-02-01/private.md": "visibility: private_only", "2026-02-01/unclosed.md": "tags: [a", "memory/2026-02-01.md": "",
	} {
		s.write(path, still.text(front))
	}
	still.fill("2026-01-20/s%d.md", 20)

	for pattern, who := range map[string]fields{"notes/desk%d.md": owner, "2026-02-05/telegram_%d.md": owner, "alice/memory/2026-01-%02d.md": alice} {
		a := add("a person", 200*time.Millisecond)
		a.fill(pattern, 25)
		a.act = func(ctx context.Context) error { return a.saveAsEditor(ctx, who) }
	}
	for _, pattern := range []string{"2026-03-01/cli_%d.md", "_longterms/acct_42/_archive/2026-01-%d.md"} {
		a := add("an agent", 2*time.Second) // writes many files in a moment, and removes the oldest ones
		a.fill(pattern, 20)
		a.act = func(context.Context) (err error) {
			n := 5 + a.IntN(40)
			a.fill(pattern, n)
			for _, path := range a.files[:n] {
				err = errors.Join(err, os.Remove(s.path(path)))
			}
			a.files = a.files[n:]
			return err
		}
	}
	mover := add("a mover of directories", 400*time.Millisecond)
	for range 15 {
		mover.makeDir()
	}
	mover.act = mover.move
	turncoat := add("a turncoat", 300*time.Millisecond)
	turncoat.fill("2026-02-02/t%d.md", 20)
	turncoat.act = turncoat.turn
	operator := add("an operator", min(max(s.length/20, time.Second), 30*time.Second))
	operator.act = operator.operate
	for _, who := range []fields{owner, public, account, {}} {
		a := add("a reader", 50*time.Millisecond)
		a.act = func(ctx context.Context) error { return a.read(ctx, who) }
	}
	for range 2 {
		a := add("a listener", 300*time.Millisecond)
		a.act = a.listen
	}
	return list
}

// run runs the actors until the time is over.
func (s *soak) run(actors []*actor) {
	ctx, cancel := context.WithTimeout(context.Background(), s.length)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range actors {
		group.Go(func() error {
			for wait(ctx, time.Duration(float64(a.pause)*2*a.Float64())) {
				if err := a.act(ctx); err != nil && ctx.Err() == nil {
					return fmt.Errorf("%s: %w", a.name, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Error(err)
	}
}

// wait reports whether d passed before the context ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// fixed returns the path of a socket that sees public text and an account's.
func (s *soak) fixed() string { return filepath.Join(filepath.Dir(s.socket), "f") }

// configureSoak writes one of two versions of the configuration, so that a reload has an
// effect.
func (s *soak) configureSoak() {
	s.listeners = fmt.Sprintf(`, {path: %q, subject: "acct:42", context: public}`, s.fixed())
	s.configure(fmt.Sprintf("watch: {reconcile: 5s, settle: %dms}\nwrite: {quiet: 1s}\n", 30+10*(s.reloads.Load()%2)))
}

// request sends a request, and again if the daemon was reloaded meanwhile.
func (s *soak) request(ctx context.Context, l *live, op string, req fields, answer any) error {
	for try := 1; ; try++ {
		s.asked.Add(1)
		err := l.ask(op, req, answer)
		reloaded := err != nil && (strings.Contains(err.Error(), "stops or is reloaded") || !strings.HasPrefix(err.Error(), op) && try == 1)
		if !reloaded || ctx.Err() != nil {
			return err
		}
	}
}

// find returns an error if a search for a word, which is unique to one entry, does not find it.
func (a *actor) find(ctx context.Context, who fields, path, word string, want int) error {
	var found api.SearchAnswer
	if err := a.request(ctx, a.live, "search", who.with(exactly(word, fields{"include_archived": true})), &found); err != nil {
		return err
	}
	if right := len(found.Hits) == want && (want == 0 || found.Hits[0].Path == path); right || want == 1 && (!found.Index.Synced || found.Index.Degraded) {
		return nil
	}
	return fmt.Errorf("%s was saved with %q, and %v finds %q; %+v", path, word, who, texts(&found), found.Index)
}

// text returns a file with entries of every shape.
func (a *actor) text(front string) string {
	var b strings.Builder
	if front != "" {
		fmt.Fprintf(&b, "---\n%s\n---\n", front)
	}
	b.WriteString("# Notes\n\n")
	for n := range 2 + a.IntN(9) {
		if n%4 == 3 {
			fmt.Fprintf(&b, "## %s\n\n", []string{"Tasks", "Follow Ups", "Key Facts", "Links"}[a.IntN(4)])
		}
		fmt.Fprintf(&b, []string{
			"%s\nand more\n\n", "As it was run:\n\n```sh\n%s\n```\n\n", "| what | how |\n|---|---|\n| %s | well |\n\n", "> %s\n> more\n\n",
			"- [ ] %s (added 2026-02-05)\n  - [x] nested\n", "- [x] %s #project:shop\n", "- **key**: %s\n\n  and more of it\n",
			"1. %s [the report](2026-02-01/s1.md)\n", "- %s <!-- type=decision importance=0.9 visibility=public_ok -->\n",
			"- %s <!-- visibility=private_only -->\n", "- %s\n",
		}[a.IntN(11)], a.some())
	}
	return b.String()
}

// some returns words that occur in many entries.
func (a *actor) some() string {
	words := strings.Fields("deploy certificate database index backup the report of a meeting in the garden 数据库 索引 备份 会议 报告 喜欢 决定")
	a.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words[:1+a.IntN(12)], " ")
}

// entry returns an entry with a word that no other entry ever has.
func (a *actor) entry() (text, word string) {
	word = letters(int(a.words.Add(1)))
	return "- " + a.some() + " " + word + "\n", word
}

// fill creates files with unused names of a pattern.
func (a *actor) fill(pattern string, n int) {
	for range n {
		a.next++
		a.files = append(a.files, fmt.Sprintf(pattern, a.next))
		a.write(a.files[len(a.files)-1], a.text(""))
		a.saves.Add(1)
	}
}

func (a *actor) saveAsEditor(ctx context.Context, who fields) error {
	path, p := a.files[a.IntN(len(a.files))], savers[a.IntN(len(savers))]
	text, word := a.entry()
	if !p.appends {
		text += "\n" + a.text("")
	}
	a.saves.Add(1)
	// A program that another actor starts would hold the file open.
	syscall.ForkLock.RLock()
	err := p.save(a.path(path), text)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return err
	}
	return a.find(ctx, who, path, word, 1)
}

func (a *actor) makeDir() {
	a.next++
	dir := fmt.Sprintf("moving/m%d", a.next)
	a.files = append(a.files, dir)
	for depth := range 3 {
		a.write(dir+strings.Repeat("/deep", depth)+"/a.md", a.text(""))
	}
}

// move removes or moves a directory, or moves it out of the root and back.
func (a *actor) move(ctx context.Context) error {
	i := a.IntN(len(a.files))
	dir := a.path(a.files[i])
	switch a.IntN(3) {
	case 0:
		a.files = slices.Delete(a.files, i, i+1)
		a.makeDir()
		return os.RemoveAll(dir)
	case 1:
		a.next++
		to := fmt.Sprintf([]string{"moving/r%d", "elsewhere/deep/%d", "2026-02-06/r%d"}[a.IntN(3)], a.next)
		if err := errors.Join(os.MkdirAll(filepath.Dir(a.path(to)), 0o700), os.Rename(dir, a.path(to))); err != nil {
			return err
		}
		a.files[i] = to
		text, word := a.entry()
		a.write(to+"/deep/a.md", text)
		return a.find(ctx, owner, to+"/deep/a.md", word, 1)
	}
	away := filepath.Join(filepath.Dir(a.config), "away")
	err := os.Rename(dir, away)
	wait(ctx, time.Duration(a.IntN(1500))*time.Millisecond)
	return errors.Join(err, os.Rename(away, dir))
}

// turn makes a session private or public, and checks whether the public sees it.
func (a *actor) turn(ctx context.Context) error {
	path := a.files[a.IntN(len(a.files))]
	text, word := a.entry()
	seen := a.IntN(2)
	source := a.text("visibility: "+[]string{"private_only", "public_ok"}[seen]) + "\n" + text
	if strings.Contains(source, "visibility=private_only") {
		seen = 0 // a private mark makes all of a public file private
	}
	a.write(path, source)
	return errors.Join(a.find(ctx, public, path, word, seen), a.find(ctx, owner, path, word, 1))
}

// operate rebuilds the index. At the beginning it also reloads the configuration, but not
// later, because a restart would hide a leak.
func (a *actor) operate(ctx context.Context) error {
	if a.next++; a.next <= 3 {
		a.reloads.Add(1)
		a.configureSoak()
		return a.cmd.Process.Signal(syscall.SIGHUP)
	}
	if err := a.request(ctx, a.live, "rebuild", owner, new(json.RawMessage)); err != nil && !strings.Contains(err.Error(), `"busy"`) {
		return err
	}
	return nil
}

// read sends a request of any kind and checks that the caller may see the results. Without
// a caller, it uses the listener with a fixed scope.
func (a *actor) read(ctx context.Context, who fields) error {
	l := a.live
	if len(who) == 0 {
		l = &live{t: a.t, socket: a.fixed()}
		if err := l.ask("search", fields{"query": "report", "context": "private"}, new(json.RawMessage)); a.IntN(10) == 0 &&
			ctx.Err() == nil && (err == nil || strings.HasPrefix(err.Error(), "search") && !strings.Contains(err.Error(), `"forbidden"`)) {
			return fmt.Errorf("a fixed scope was left: %w", err)
		}
	}
	if op := []string{"context", "load", "todos", "related", "get", "recent", "check", "status", "search", "search", "search"}[a.IntN(11)]; op != "search" {
		req := map[string]fields{"context": {"format": "summary"}, "load": {"session": "telegram_3", "day": "2026-02-05"},
			"related": {"path": "2026-01-20/s1.md"}, "get": {"path": "2026-01-20/s1.md"}, "recent": {"hours": 876000, "limit": 5}}[op]
		err := a.request(ctx, l, op, who.with(req), new(json.RawMessage))
		for _, code := range []api.Code{api.NotFound, api.Forbidden, api.Unavailable} { // not for everybody, and not at the start
			if err != nil && strings.Contains(err.Error(), `"`+string(code)+`"`) {
				return nil
			}
		}
		return err
	}
	filters := []fields{
		{}, {"sync": false}, {"mode": "overlap", "all": true}, {"kinds": []string{"session", "note"}}, {"types": []string{"decision"}},
		{"tags": []string{"project:shop"}}, {"sections": []string{"Tasks"}}, {"path": "notes/**", "limit": 100}, {"state": "open"},
		{"session": "telegram_3"}, {"since": "2026-02-01"}, {"include_archived": true, "offset": 20}, {"explain": true}, {"exclude": "backup"},
	}
	req := who.with(fields{"query": a.some()}).with(filters[a.IntN(len(filters))])
	var found api.SearchAnswer
	err := a.request(ctx, l, "search", req, &found)
	for _, h := range found.Hits {
		if h.Visibility != "public_ok" && who["context"] != "private" || h.Subject != "" && who["subject"] == nil && len(who) > 0 {
			return fmt.Errorf("%v is shown %s:%d, %s of %s", req, h.Path, h.Line, h.Visibility, h.Subject)
		}
	}
	return err
}

// listen subscribes to events, reads them or not, and disconnects.
func (a *actor) listen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.IntN(4000))*time.Millisecond)
	defer cancel()
	c := overSocket(a.socket)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memwatchd/v1/events?subject=owner&context=private", nil)
	if err != nil {
		return err
	}
	res, err := c.Do(r)
	if err != nil {
		return nil // the daemon is reloaded, or the time is over
	}
	defer res.Body.Close()
	if a.IntN(3) > 0 {
		io.Copy(io.Discard, res.Body)
	}
	<-ctx.Done()
	return nil
}

// figures are measurements of the daemon, by name.
type figures map[string]float64

// bounds limit the growth of a figure between two times of rest: by a fraction of the
// figure, and by an amount for fluctuation. A leak with every save exceeds the limit.
var bounds = []struct {
	name       string
	part, more float64
}{
	{"anonymous MiB", 0.2, 40}, {"descriptors", 0, 1}, {"watches of nothing", 0, 0},
	{"segments", 0.5, 20}, // each tier of sizes has up to ten
	{"files", 0.5, 21},    // of the index, and counts of use
}

// sample measures the daemon, as far as possible from outside.
func (s *soak) sample() (figures, error) {
	status, err := s.status()
	if err != nil {
		return nil, err
	}
	f := figures{}
	for _, dir := range []string{"cache", "state"} {
		filepath.WalkDir(filepath.Join(filepath.Dir(s.config), dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "journal" {
				return fs.SkipDir // the journal keeps every change as long as it can be undone
			}
			if err == nil && !d.IsDir() {
				f["files"]++
			}
			return nil
		})
	}
	dir := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		return f, nil // not on this system
	}
	f["anonymous MiB"] = float64(s.kilobytes("RssAnon")) / (1 << 10)
	f["watches of nothing"] = -float64(status.Watch.Directories)
	for _, fd := range fds {
		target, _ := os.Readlink(dir + "fd/" + fd.Name())
		switch {
		case target == "": // it was closed
		case strings.Contains(target, ".zap"):
			f["segments"]++
		case strings.Contains(target, "inotify"):
			info, _ := os.ReadFile(dir + "fdinfo/" + fd.Name())
			f["watches of nothing"] += float64(bytes.Count(info, []byte("inotify wd:")))
		default:
			f["descriptors"]++
		}
	}
	return f, nil
}

// quiet waits until the daemon has released its temporary resources: until no
// figure has fallen for some time. It returns the lowest figures.
func (s *soak) quiet() figures {
	s.t.Helper()
	s.sync()
	least, steady := figures{}, 0
	s.until("the daemon is quiet", func() bool {
		one, err := s.sample()
		testkit.Must(s.t, err)
		steady++
		for name, value := range one {
			if was, ok := least[name]; !ok || value < was {
				least[name] = value
				if name == "descriptors" || name == "files" {
					steady = 0
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
		return steady >= 30
	})
	return least
}
