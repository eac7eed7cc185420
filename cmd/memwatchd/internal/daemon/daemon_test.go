package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// TestParsedForChange checks that a written file gets the document of its change, unless its
// entries depend on the time of the file or a directory has changed its owner.
func TestParsedForChange(t *testing.T) {
	layout := &memory.Layout{}
	at := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	file := func(line string, at time.Time) *vault.File {
		return &vault.File{Path: "_longterms/owner/fact.md", Data: []byte(strings.Repeat(line, 100)), ModTime: at}
	}
	const timed = "- **key**: value <!-- updated=2026-01-01T00:00:00Z -->\n"
	const untimed = "- an entry without a time of its own, which has that of the file\n"
	for _, test := range []struct {
		written, found *vault.File
		drop, want     bool
	}{
		{file(timed, at), file(timed, at.Add(time.Second)), false, true},
		{file(timed, at), file(timed+" ", at), false, false},
		{file(timed, at), file(timed, at), true, false},
		{file(untimed, at), file(untimed, at), false, true},
		{file(untimed, at), file(untimed, at.Add(time.Second)), false, false},
	} {
		d := &documents{cached: map[string]*cachedDocument{}}
		doc := layout.Parse(test.written.Path, test.written.Data, memory.Meta{ModTime: at})
		d.cachePlanned(test.written, doc, 0)
		next := file("- the next change, planned before the file is read\n", at)
		d.cachePlanned(next, layout.Parse(next.Path, next.Data, memory.Meta{ModTime: at}), 0)
		if test.drop {
			d.drop(func(path string) bool { return path == test.written.Path })
		}
		if found := d.findPlanned(test.found); (found == doc) != test.want || (found == nil) == test.want {
			t.Errorf("%.40q, then %.40q: %t", test.written.Data, test.found.Data, found != nil)
		}
	}
}

// TestLogIsMasked checks that no line of the log contains a credential.
func TestLogIsMasked(t *testing.T) {
	credential := "glpat-" + "Zx81Kq" + "mR4vTw" + "9sLh7Bqw"
	var b bytes.Buffer
	s := &reloader{stderr: &b}
	c := &config.Config{}
	c.Log.Level = "debug"
	logger := s.newLogger(c)
	logger.With("path", credential+".md").Warn("a "+credential, "err", errors.New("of "+credential), slog.Group("g", "x", []string{credential}))
	logger.Debug("key", "text", "-----BEGIN PRIVATE "+"KEY-----\n"+strings.Repeat("MIIEvQIBADANBgkq", 4)+"\n-----END PRIVATE "+"KEY-----")
	if out := b.String(); strings.Contains(out, credential) || strings.Contains(out, "MIIEvQIBADANBgkq") || strings.Count(out, "REDAC-TED") != 4 || strings.Count(out, "\n") != 2 {
		t.Error(out)
	}
	if n, err := (maskingWriter{io.Discard}).Write([]byte(credential)); n != len(credential) || err != nil {
		t.Errorf("writing %d bytes: %d, %v", len(credential), n, err)
	}
}

// TestMendIndex checks that if the index differs from a file and its stamp
// does not show it, Check finds the difference and Reindex corrects it.
func TestMendIndex(t *testing.T) {
	g := serveTree(t, map[string]string{"a.md": "- one\n- two\n", "b.md": "- three\n"}, nil)
	d := g.daemon
	file, err := d.memory.Read("a.md")
	testkit.Must(t, err)
	wrong := d.pipeline.layout.Parse("a.md", []byte("- other\n"), memory.Meta{})
	lies := []index.Update{
		{Path: "a.md", Doc: wrong, Stamp: file.Stamp, Hash: sha256.Sum256(file.Data)},
		{Path: "c.md", Doc: d.pipeline.layout.Parse("c.md", []byte("- gone\n"), memory.Meta{})},
	}
	testkit.Must(t, d.index.Apply(t.Context(), lies))
	for _, want := range []struct {
		fix                 bool
		differing, repaired int
	}{{false, 2, 0}, {true, 0, 2}, {false, 0, 0}} {
		var a api.CheckAnswer
		testkit.Must(t, json.Unmarshal([]byte(g.mustSend(t, g.dial("s"), "check", mergeObjects(ownerInPrivate, object{"fix": want.fix}))), &a))
		if len(a.Differing) != want.differing || len(a.Repaired) != want.repaired || len(a.Refused) != 0 {
			t.Errorf("%+v: %+v", want, a)
		}
	}
	if info, ok := d.index.File("a.md"); !ok || info.Entries != 2 {
		t.Errorf("a.md is indexed with %d entries", info.Entries)
	}
}

// TestRemovedLinkWhileSaving checks that a removed link ends once the file is
// saved, also if a request read the file while a program still had it open.
func TestRemovedLinkWhileSaving(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, filepath.FromSlash(memory.IdentitiesPath))
	testkit.WriteFile(t, name, "links:\n  telegram:1: acct:42\n")
	p := &subjectMap{vault: &vault.Vault{Dir: root}}
	if s := p.Resolve("telegram:1"); s != "acct:42" {
		t.Fatalf("linked to %q", s)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	testkit.Must(t, err)
	_, err = f.WriteString("links: {}\n")
	testkit.Must(t, err)
	p.identities()
	testkit.Must(t, f.Close())
	if s := p.Resolve("telegram:1"); s == "acct:42" {
		t.Errorf("still linked to %q", s)
	}
}

// TestNotSynced checks that while the daemon cannot confirm that everything is
// indexed, sync fails in time, and answers report that they may be old.
func TestNotSynced(t *testing.T) {
	g := serveTree(t, map[string]string{"MEMORY.md": "- tea\n"}, func(c *config.Config, _ string) { c.Tuning.SyncTimeout = 200 * time.Millisecond })
	c := g.dial("s")
	scope := object{"subject": "owner", "context": "private"}
	synced := func() (status int, body string, fresh bool) {
		t.Helper()
		status, body = g.sendRequest(t, c, "sync", mergeObjects(scope, object{"timeout": "200ms"}))
		return status, body, strings.Contains(g.mustSend(t, c, "search", mergeObjects(scope, object{"query": "coffee"})), `"synced":true`)
	}
	for name, hold := range map[string]func() (release func()){
		"nothing can be taken over": func() func() {
			g.daemon.pipeline.applyMu.Lock()
			testkit.WriteFile(t, filepath.Join(g.root, "new.md"), "- coffee\n")
			return g.daemon.pipeline.applyMu.Unlock
		},
		"the root is away": func() func() {
			testkit.Must(t, os.Rename(g.root, g.root+".away"))
			if _, body := g.sendRequest(t, c, "rebuild", ownerInPrivate); errorCode(t, body) != api.Unavailable {
				t.Errorf("rebuild answers %s", body)
			}
			return func() { testkit.Must(t, os.Rename(g.root+".away", g.root)) }
		},
	} {
		release := hold()
		for range 3 {
			began := time.Now()
			status, body, fresh := synced()
			if status != http.StatusServiceUnavailable || errorCode(t, body) != api.Unavailable || fresh || time.Since(began) > time.Minute {
				t.Errorf("while %s: sync answers %d %s after %v, and an answer is fresh: %t", name, status, body, time.Since(began), fresh)
			}
		}
		release()
		waitUntil(t, "everything is indexed", func() bool {
			status, _, fresh := synced()
			return status == http.StatusOK && fresh
		})
	}
}

// TestThrottle checks that a message is logged a limited number of times a
// minute. The number of omitted records is logged with the first message of the
// next minute, whichever that is.
func TestThrottle(t *testing.T) {
	var out bytes.Buffer
	h := newThrottle(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	now := time.Date(2026, 2, 4, 10, 0, 0, 0, time.UTC)
	var want []string
	log := func(level slog.Level, text string, times, passed int) {
		t.Helper()
		for range times {
			testkit.Must(t, h.Handle(t.Context(), slog.NewRecord(now, level, text, 0)))
		}
		want = append(want, slices.Repeat([]string{fmt.Sprintf("level=%s msg=%s", level, text)}, passed)...)
	}
	log(slog.LevelWarn, "often", 1000, throttleFree)
	log(slog.LevelError, "often", 1001, throttleFree)
	log(slog.LevelInfo, "seldom", throttleFree, throttleFree)
	now = now.Add(throttlePeriod)
	want = append(want, `level=WARN msg="repeated messages were skipped" times=1961`)
	log(slog.LevelInfo, "another", 1, 1)
	log(slog.LevelWarn, "often", 1, 1)
	now = now.Add(throttlePeriod)
	log(slog.LevelInfo, "another", 1, 1)
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(out.String()), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestPresent checks that a file that is open for writing and not in the cache
// cannot be read. It does not count as deleted, and the record of its tasks is
// kept.
func TestPresent(t *testing.T) {
	root := t.TempDir()
	testkit.WriteFile(t, filepath.Join(root, "MEMORY.md"), "- [ ] one\n")
	d := startTarget(t, root, nil).daemon
	files := taskFiles{d}
	if _, err := files.Load("MEMORY.md"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(root, "MEMORY.md"), os.O_WRONLY, 0)
	testkit.Must(t, err)
	if writing, _ := d.memory.Writing("MEMORY.md"); !writing {
		t.Skip("there are no leases here")
	}
	// The daemon may have read the file before it was opened, and still add it to
	// the cache.
	for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); {
		d.pipeline.documents.dropFile("MEMORY.md")
		_, err = files.Load("MEMORY.md")
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("while it is written: %v", err)
	}
	f.Close()
	if _, err := files.Load("MEMORY.md"); err != nil {
		t.Error(err)
	}
	if _, err := files.Load("none.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestJobPanics checks that a job that panics counts as failed and is reported.
// The daemon continues, and so does a caller that requests the same job.
func TestJobPanics(t *testing.T) {
	var runs atomic.Int32
	g := &target{t: t, root: t.TempDir(), base: shortDir(t), panics: true, beforeRun: func(d *daemon) {
		d.maintenance.scheduler.Job = func(context.Context) error {
			runs.Add(1)
			panic("out of luck")
		}
	}}
	testkit.Must(t, os.WriteFile(filepath.Join(g.root, "a.md"), []byte("- quince\n"), 0o600))
	dir := filepath.Join(g.base, "state")
	testkit.Must(t, state.PrivateDir(dir))
	until := time.Now().AddDate(0, 0, -2).Format(time.RFC3339)
	testkit.Must(t, state.Write(filepath.Join(dir, "compactor.json"), []byte(`{"schedule":"0 3 * * *","until":"`+until+`"}`)))
	g.startDaemon(nil)
	g.waitComplete()
	waitUntil(t, "the failure is told", func() bool { return strings.Contains(g.daemon.Report().Compactor.Problem, "panic with a string") })
	c := g.dial("s")
	if a := g.mustSend(t, c, "search", object{"subject": "owner", "context": "private", "query": "quince"}); !strings.Contains(a, "a.md") {
		t.Errorf("it answers %s", a)
	}
	g.mustSend(t, c, "compact", object{"subject": "owner", "context": "private", "dry_run": true})
	if n := runs.Load(); n != 1 {
		t.Errorf("a run that was missed was made up for %d times", n)
	}
	if !strings.Contains(g.log.String(), "compactor run panicked") {
		t.Error("where it panicked is not logged")
	}
}

// TestJournalIsPruned checks that each change expires after journal.keep, also
// the newest one, without maintenance and without further changes.
func TestJournalIsPruned(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j, err := journal.Open(dir, 24*time.Hour)
		testkit.Must(t, err)
		record := func() {
			t.Helper()
			r, err := j.Begin(journal.Record{Path: "a.md", Cause: "test", After: journal.DigestOf([32]byte{1})})
			if err == nil {
				err = j.Done(r.ID)
			}
			testkit.Must(t, err)
		}
		kept := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := len(j.List(time.Time{}, "", 0)); got != want {
				t.Errorf("%s: %d changes are kept, want %d", when, got, want)
			}
		}
		record()
		time.Sleep(48 * time.Hour) // no daemon runs
		ctx, cancel := context.WithCancel(t.Context())
		d := &daemon{writer: &vault.Writer{Journal: j}, logger: slog.New(slog.DiscardHandler)}
		ended := make(chan error)
		go func() { ended <- d.runPruning(ctx) }()
		kept("at the start, when the clock may be wrong", 1)
		record()
		kept("after a second change", 2)
		time.Sleep(2 * pruneInterval)
		kept("once the clock is steady", 1)
		time.Sleep(24 * time.Hour)
		kept("a day later", 0)
		cancel()
		<-ended
	})
}

// TestMergedCopiesCount checks that copies merged lately count as copies of their file,
// because other machines still have them: with them, a copy without a known common version
// is merged before Syncthing deletes it.
func TestMergedCopiesCount(t *testing.T) {
	g := startTarget(t, t.TempDir(), func(c *config.Config, _ string) { c.Compactor.Host = "another" })
	c, m := g.dial("s"), newCopyMerger(g.daemon)
	file := filepath.Join(g.root, "MEMORY.md")
	testkit.WriteFile(t, file, "# Long-Term Memory\n\n## Key Facts\n")
	// merges adds a copy with an entry that the file lacks, and returns a function that
	// tries to merge it. Without a known common version, the file is one that memwatchd
	// has not written.
	merges := func(n int, known bool) (merged func() bool) {
		t.Helper()
		g.mustSend(t, c, "remember", mergeObjects(ownerInPrivate, object{"text": fmt.Sprintf("own %d", n), "explicit": true}))
		text, err := os.ReadFile(file)
		testkit.Must(t, err)
		path := filepath.Join(g.root, fmt.Sprintf("MEMORY.sync-conflict-20261127-13023%d-AAAAAAA.md", n))
		testkit.WriteFile(t, path, string(text)+fmt.Sprintf("- other %d\n", n))
		if !known {
			testkit.WriteFile(t, file, string(text)+fmt.Sprintf("- foreign %d\n", n))
		}
		return func() bool {
			g.mustSend(t, c, "sync", object{})
			m.mergeKnown(t.Context())
			_, err := os.Stat(path)
			return os.IsNotExist(err)
		}
	}
	if merges(1, false)() {
		t.Fatal("a copy is merged without a common version")
	}
	os.Remove(filepath.Join(g.root, "MEMORY.sync-conflict-20261127-130231-AAAAAAA.md"))
	for n := range crowded - 1 {
		merges(n+2, true)()
	}
	waitUntil(t, "after many merges, a copy without a common version is merged", merges(crowded+1, false))
}

// newEmbedding returns a daemon with an embeddings endpoint that is not open.
func newEmbedding(t *testing.T, endpoint string) *daemon {
	t.Helper()
	x, err := index.Open(t.TempDir(), index.Options{Texts: true})
	testkit.Must(t, err)
	t.Cleanup(func() { x.Close() })
	d := &daemon{config: config.Default(), index: x, logger: slog.New(slog.DiscardHandler)}
	d.pipeline = &pipeline{documents: new(documents)}
	d.config.IndexDir = t.TempDir()
	d.config.Embed.Endpoint, d.config.Embed.Model = endpoint, "m"
	return d
}

// TestOpenEmbedderFails checks that a key that other users can read keeps the daemon
// from starting, and that vectors that cannot be opened do not.
func TestOpenEmbedderFails(t *testing.T) {
	d := newEmbedding(t, "http://127.0.0.1:1")
	d.config.Embed.KeyFile = filepath.Join(t.TempDir(), "key")
	testkit.Must(t, os.WriteFile(d.config.Embed.KeyFile, []byte("sk-1"), 0o644))
	if err := d.openEmbedder(); err == nil || !strings.HasPrefix(err.Error(), "embed.key_file: ") {
		t.Errorf("starting with a key that others can read: %v", err)
	}
	d = newEmbedding(t, "http://127.0.0.1:1")
	testkit.Must(t, os.WriteFile(d.vectorsDir(), nil, 0o600))
	if err := d.openEmbedder(); err != nil || d.embedder != nil {
		t.Errorf("%v, %v", d.embedder, err)
	}
	if s := d.embedStatus(); s == nil || s.LastError == "" || s.FailedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	if err := d.purgeVectors(); err != nil {
		t.Error(err)
	}
}

// TestFileTimes checks the time of the content of files: of its commit, or of the last
// change. Settings of the repository run nothing.
func TestFileTimes(t *testing.T) {
	dir, trap := t.TempDir(), filepath.Join(t.TempDir(), "trap")
	committed, copied := time.Unix(1700000000, 0), time.Now().Truncate(time.Minute)
	r := &root{Vault: &vault.Vault{Dir: dir}}
	f := &files{layout: &memory.Layout{}, roots: []*root{r}}
	write := func(name, text string, at time.Time) {
		t.Helper()
		name = filepath.Join(dir, name)
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o600))
		testkit.Must(t, os.Chtimes(name, at, at))
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a"}, args...)...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("GIT_AUTHOR_DATE=%d +0000", committed.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	check := func(want map[string]time.Time) {
		t.Helper()
		for name, at := range want {
			if file, err := f.Read(name); err != nil || !file.ModTime.Equal(at) {
				t.Errorf("%s: %v, %v, want %v", name, file.ModTime, err, at)
			}
		}
	}
	write("a.md", "text", copied)
	r.times.list(dir, 1)
	check(map[string]time.Time{"a.md": copied})
	git("init", "-q")
	write("b.md", "text", copied)
	write("tést \"quoted\".md", "text", copied)
	write("early.md", "text", committed.Add(-time.Hour))
	git("add", "tést \"quoted\".md", "a.md", "b.md", "early.md")
	git("commit", "-qm", "a")
	write("b.md", "changed later", copied.Add(time.Hour))
	testkit.Must(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+trap+".ran'\n"), 0o700))
	for _, key := range []string{"core.fsmonitor", "gpg.program", "core.pager", "diff.external"} {
		git("config", key, trap)
	}
	git("config", "log.showSignature", "true")
	write("new.md", "text", copied)
	r.times.list(dir, manyFiles)
	check(map[string]time.Time{"tést \"quoted\".md": committed, "a.md": committed, "b.md": copied.Add(time.Hour),
		"early.md": committed.Add(-time.Hour), "new.md": copied})
	if _, err := os.Stat(trap + ".ran"); err == nil {
		t.Error("git ran a program of the repository")
	}
}

// TestSlowCommits checks that requests do not wait for git, that the index does, and that
// both have the times of commits afterwards.
func TestSlowCommits(t *testing.T) {
	const committed = 1700000000
	defer func(d time.Duration) { gitTime = d }(gitTime)
	gitTime = time.Minute
	bin, root := t.TempDir(), t.TempDir()
	testkit.WriteFile(t, filepath.Join(root, ".git/HEAD"), "ref: refs/heads/main\n")
	testkit.WriteFile(t, filepath.Join(root, "a.md"), "- quince\n")
	blob, err := exec.Command("git", "hash-object", filepath.Join(root, "a.md")).Output()
	if err != nil {
		t.Skip(err)
	}
	testkit.WriteFile(t, filepath.Join(bin, "git"), fmt.Sprintf("#!/bin/sh\nwhile ! test -e %s/go; do sleep 0.01; done\n"+
		"echo %d\nprintf ':000000 100644 0 %s A\\ta.md\\n'\n", bin, committed, strings.TrimSpace(string(blob))))
	testkit.Must(t, os.Chmod(filepath.Join(bin, "git"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	g := openTarget(t, root, nil)
	at := func() int64 {
		doc, err := g.daemon.pipeline.documents.Load("a.md")
		testkit.Must(t, err)
		return doc.Entries[0].Time.Unix()
	}
	if at() == committed {
		t.Error("the file has the time of its commit while git runs")
	}
	if !g.daemon.Report().Index.Degraded {
		t.Error("the index is complete before git has ended")
	}
	testkit.WriteFile(t, filepath.Join(bin, "go"), "")
	g.waitComplete()
	if info, _ := g.daemon.index.File("a.md"); at() != committed || info.Entries != 1 {
		t.Errorf("the time of the entry is %v", at())
	}
}
