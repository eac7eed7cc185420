package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// stressing reports whether stress tests run in full, as make stress does.
var stressing = os.Getenv("STRESS") != ""

// stressed returns how many rounds a stress test runs: all of them in
// make stress, a small share otherwise.
func stressed(all int) int {
	if stressing {
		return all
	}
	return all / 200
}

// A syncStress is a daemon under reloads, rebuilds of the index and replacements
// of the root, while clients save files and search for the saved words.
type syncStress struct {
	*soak
	replacing sync.RWMutex // held for reading by every save

	claimed  atomic.Int64 // answers that claimed to be complete
	reloaded atomic.Int64
	rebuilt  atomic.Int64
	replaced atomic.Int64
}

// TestRaceSync checks that no answer that claims to be synced and complete
// misses a word saved before the request, for any kind of caller.
func TestRaceSync(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	s := &syncStress{soak: &soak{live: newLive(t, filepath.Join(base, "root"), ""), seed: rand.Uint64(), retries: 3}}
	if err := errors.Join(os.Mkdir(s.root, 0o700), s.configureSoak()); err != nil {
		t.Fatal(err)
	}
	clients := s.clients()
	s.start()
	defer s.starve()()
	questions := int64(stressed(200_000))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	reloads, rebuilds, roots := max(questions*3/200, 3), max(questions*3/2000, 3), max(questions/2000, 2)
	least := int64(20) // answers that claim to be complete; beside other tests, a slow machine needs more requests
	more := func() bool {
		return s.asked.Load() < questions || s.reloaded.Load() < reloads ||
			s.rebuilt.Load() < rebuilds || s.replaced.Load() < roots ||
			!stressing && s.claimed.Load() < least
	}
	type act func(context.Context, *rand.Rand) error
	loop := func(name string, goal int64, counter *atomic.Int64, pause time.Duration, act act) {
		random := rand.New(rand.NewPCG(s.seed, rand.Uint64()))
		group.Go(func() error {
			for ctx.Err() == nil && more() {
				done := counter.Load()
				if counter != &s.asked && done >= goal || done*questions > s.asked.Load()*goal { // ahead of the requests
					wait(ctx, rand.N(pause))
					continue
				}
				if err := act(ctx, random); err != nil && ctx.Err() == nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				wait(ctx, rand.N(pause))
			}
			return nil
		})
	}
	for _, c := range clients {
		act := func(ctx context.Context, _ *rand.Rand) error { return c.act(ctx) }
		loop(c.name, questions, &s.asked, time.Millisecond, act)
	}
	loop("reload", reloads, &s.reloaded, 40*time.Millisecond, s.reloadAndWait)
	loop("rebuild", rebuilds, &s.rebuilt, 300*time.Millisecond, s.rebuild)
	loop("replace root", roots, &s.replaced, time.Second, s.replaceRoot)
	group.Go(func() error {
		for stressing && more() && wait(ctx, time.Minute) {
			s.report()
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	s.report()
	if stressing {
		least = s.asked.Load() / 4
	}
	if !t.Failed() && s.claimed.Load() < least {
		t.Error("too few answers claimed to be complete for the test to mean something")
	}
}

func (s *syncStress) report() {
	s.t.Helper()
	s.t.Logf("%d questions, %d answers claimed to be complete, %d asked again; %d reloads, %d rebuilds, %d roots; seed %d",
		s.asked.Load(), s.claimed.Load(), s.again.Load(), s.reloaded.Load(), s.rebuilt.Load(), s.replaced.Load(), s.seed)
}

// starving is set while busy processes run.
var starving atomic.Bool

// starve stops the daemon for a moment now and then. In make stress, busy
// processes also run beside it. The returned function ends that.
func (l *live) starve() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	processes := 0
	if stressing && starving.CompareAndSwap(false, true) {
		processes = 3 // beside all daemons
		context.AfterFunc(ctx, func() { starving.Store(false) })
	}
	for range processes {
		busy := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			l.t.Fatal(err)
		}
		group.Go(func() { busy.Wait() })
	}
	group.Go(func() {
		for wait(ctx, rand.N(4*time.Second)) {
			l.cmd.Process.Signal(syscall.SIGSTOP)
			wait(ctx, rand.N(200*time.Millisecond))
			l.cmd.Process.Signal(syscall.SIGCONT)
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// clients returns actors that save and search: the owner, a listed user, users
// known by their directories' contents, subjects known by claims, and a
// listener with a fixed scope.
func (s *syncStress) clients() []*actor {
	subject := func(name string) fields { return fields{"subject": name, "context": "private"} }
	for path, text := range map[string]string{
		"bob/MEMORY.md": "# Bob\n", "_longterms/acct_42/_index.md": "---\nsubject_id: acct:42\n---\n- index\n",
	} {
		testkit.WriteFile(s.t, s.path(path), text)
	}
	actors := []*actor{s.mainSaver(1)}
	for n := range 6 { // of each, so that they wait for the same barrier
		n *= 10
		letter := string(rune('a' + n/10))
		actors = append(actors,
			s.saver(n+2, owner, s.socket, "notes/"+letter+"%d.md", ""),
			s.saver(n+3, alice, s.socket, "alice/memory/"+letter+"%d.md", ""),
			s.saver(n+4, subject("bob"), s.socket, "bob/memory/2026-0"+string(rune('1'+n/10))+"-%02d.md", ""),
			s.saver(n+5, account, s.socket, "_longterms/acct_42/"+letter+"%d.md", ""),
			s.saver(n+6, account, s.socket, "2026-02-05/"+letter+"%d.md", "subject_id: acct:42"),
			s.saver(n+7, fields{}, s.fixed(), "2026-02-06/"+letter+"%d.md", "visibility: public_ok"),
			s.claimer(n+8), s.newcomer(n+9))
	}
	return actors
}

// mainSaver saves the file that makes a directory a user's.
func (s *syncStress) mainSaver(n int) *actor {
	d := s.desk(n)
	return &actor{name: "saver of bob/MEMORY.md", act: func(ctx context.Context) error {
		wait(ctx, rand.N(50*time.Millisecond))
		s.replacing.RLock()
		defer s.replacing.RUnlock()
		return d.saveAnyhow("bob/MEMORY.md", "# Bob\n")
	}}
}

// saver saves over its files in all ways and searches for the saved word.
func (s *syncStress) saver(n int, who fields, socket, pattern, front string) *actor {
	d, c := s.desk(n), newHTTPClient(socket)
	for range 12 {
		d.next++
		path := fmt.Sprintf(pattern, d.next)
		d.files = append(d.files, path)
		testkit.WriteFile(s.t, d.path(path), "- nothing\n")
	}
	return &actor{name: "saver of " + pattern, act: func(ctx context.Context) error {
		path, word := d.one(), d.word()
		text := d.shortText(front, word)
		s.replacing.RLock()
		err := d.saveAnyhow(path, text)
		s.replacing.RUnlock()
		if err != nil {
			return err
		}
		return s.mustFind(ctx, c, who, word, path)
	}}
}

// shortText returns a file with one entry, which makes requests fast.
func (d *desk) shortText(front, word string) string {
	if front != "" {
		front = "---\n" + front + "\n---\n"
	}
	return front + "- " + d.some(3) + word + "\n"
}

// saveAnyhow saves a file as some editor does.
func (d *desk) saveAnyhow(path, text string) error {
	full := d.path(path)
	switch d.IntN(4) {
	case 0:
		return errors.Join(os.WriteFile(full+".tmp", []byte(text), 0o600), os.Rename(full+".tmp", full))
	case 1:
		return errors.Join(os.Rename(full, full+"~"), os.WriteFile(full, []byte(text), 0o600), os.Remove(full+"~"))
	case 2:
		return errors.Join(os.Remove(full), os.WriteFile(full, []byte(text), 0o600))
	}
	return os.WriteFile(full, []byte(text), 0o600)
}

// claimer changes which of two subjects a directory belongs to, and checks that
// only the present one finds a word.
func (s *syncStress) claimer(n int) *actor {
	d, c := s.desk(n), newHTTPClient(s.socket)
	subjects := []string{fmt.Sprintf("acct:%d", n), fmt.Sprintf("acct_%d", n)} // both map to one directory
	dir := "_longterms/" + subjects[1] + "/"
	testkit.WriteFile(s.t, d.path(dir+"fact.md"), "- nothing\n")
	return &actor{name: "claimer", act: func(ctx context.Context) error {
		i, word := d.IntN(2), d.word()
		s.replacing.RLock()
		err := errors.Join(d.saveAnyhowNew(dir+"_index.md", "---\nsubject_id: "+subjects[i]+"\n---\n- index\n"),
			d.saveAnyhow(dir+"fact.md", d.shortText("", word)))
		s.replacing.RUnlock()
		if err != nil {
			return err
		}
		if err := s.mustFind(ctx, c, fields{"subject": subjects[i], "context": "private"}, word, dir+"fact.md"); err != nil {
			return err
		}
		return s.mustNotFind(ctx, c, fields{"subject": subjects[1-i], "context": "private"}, word)
	}}
}

// saveAnyhowNew is saveAnyhow for a file that may be missing.
func (d *desk) saveAnyhowNew(path, text string) error {
	if _, err := os.Stat(d.path(path)); errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(d.path(path), []byte(text), 0o600)
	}
	return d.saveAnyhow(path, text)
}

// newcomer creates and removes directories of new users. The file that makes a
// directory a user's comes before the others, or after them.
func (s *syncStress) newcomer(n int) *actor {
	d, c := s.desk(n), newHTTPClient(s.socket)
	return &actor{name: "newcomer", act: func(ctx context.Context) error {
		d.next++
		name, note, day := fmt.Sprintf("user%d-%d", n, d.next), d.word(), d.word()
		steps := []func() error{
			func() error { return d.save(name+"/MEMORY.md", d.shortText("", d.word())) },
			func() error { return d.save(name+"/memory/notes.md", d.shortText("", note)) },
			func() error { return d.save(name+"/memory/2026-01-01.md", d.shortText("", day)) },
		}
		d.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		who := fields{"subject": name, "context": "private"}
		for i, step := range steps {
			s.replacing.RLock()
			err := step()
			s.replacing.RUnlock()
			if err == nil && i < 2 && d.IntN(2) == 0 { // the files so far are parsed before the rest exists
				_, err = s.search(ctx, c, owner, note)
			}
			if err != nil {
				return err
			}
		}
		err := errors.Join(
			s.mustFind(ctx, c, who, note, name+"/memory/notes.md"),
			s.mustFind(ctx, c, who, day, name+"/memory/2026-01-01.md"),
		)
		s.replacing.RLock()
		defer s.replacing.RUnlock()
		return errors.Join(err, os.RemoveAll(d.path(name)))
	}}
}

func (s *syncStress) search(ctx context.Context, c *http.Client, who fields, word string) (*api.SearchAnswer, error) {
	var a api.SearchAnswer
	err := s.question(ctx, c, http.MethodPost, "/v1/search", who.with(fields{"query": word, "typos": "keep"}), &a)
	return &a, err
}

// mustFind searches for a word and checks the answer if it claims to be
// complete.
func (s *syncStress) mustFind(ctx context.Context, c *http.Client, who fields, word, path string) error {
	a, err := s.search(ctx, c, who, word)
	if err != nil || !a.Index.Synced || a.Index.Degraded {
		return err
	}
	s.claimed.Add(1)
	if len(a.Hits) != 1 || a.Hits[0].Path != path || !strings.Contains(a.Hits[0].Text, word) {
		return fmt.Errorf("%s was saved with %q, and %v finds %q; %+v, note %q", path, word, who, texts(a), a.Index, a.Note)
	}
	return nil
}

func (s *syncStress) mustNotFind(ctx context.Context, c *http.Client, who fields, word string) error {
	a, err := s.search(ctx, c, who, word)
	if err == nil && len(a.Hits) > 0 {
		return fmt.Errorf("%v finds %q, which is not theirs: %q", who, word, texts(a))
	}
	return err
}

// reloadAndWait makes the daemon reload its configuration and waits until it
// serves.
func (s *syncStress) reloadAndWait(ctx context.Context, random *rand.Rand) error {
	before := strings.Count(s.log.String(), "configuration reloaded")
	if err := s.reload(); err != nil {
		return err
	}
	for strings.Count(s.log.String(), "configuration reloaded") == before {
		if !wait(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
	s.reloaded.Add(1)
	// The next reload comes at once, or after some answers.
	answers, began := s.claimed.Load()+random.Int64N(10), time.Now()
	for s.claimed.Load() < answers && time.Since(began) < 2*time.Second {
		wait(ctx, 5*time.Millisecond)
	}
	return nil
}

func (s *syncStress) rebuild(ctx context.Context, _ *rand.Rand) error {
	c := newHTTPClient(s.socket)
	defer c.CloseIdleConnections()
	err := s.question(ctx, c, http.MethodPost, "/v1/rebuild", nil, nil)
	if err == nil {
		s.rebuilt.Add(1)
	}
	if _, refused := errors.AsType[*errCode](err); refused {
		return nil // the daemon is stopping
	}
	return err
}

func (s *syncStress) replaceRoot(context.Context, *rand.Rand) error {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	err := errors.Join(
		os.CopyFS(s.root+".new", os.DirFS(s.root)),
		os.Rename(s.root, s.root+".old"),
		os.Rename(s.root+".new", s.root),
	)
	if err != nil {
		return err
	}
	s.replaced.Add(1)
	return os.RemoveAll(s.root + ".old")
}
