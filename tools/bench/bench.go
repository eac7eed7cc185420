package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/ipc/client"
)

// A bench runs all measurements on one tree.
type bench struct {
	*config
	name string
	dir  string // working directory
	root string // root of the tree
	d    *daemon
	c    *census
	asks []quiz
	warm []question
	r    *result
}

func (b *bench) progress(format string, args ...any) {
	progress("%s: %s", b.name, fmt.Sprintf(format, args...))
}

func (b *bench) run(ctx context.Context) (err error) {
	b.progress("counting entries")
	b.c, err = takeCensus(ctx, b.root, b.seed)
	if err != nil {
		return err
	}
	b.r.census = b.c
	b.asks = b.c.quizzes(b.seed, b.each)
	warm := b.c.quizzes(b.seed+1, 50)
	for i := range warm {
		b.warm = append(b.warm, warm[i].List...)
	}
	defer func() {
		if err = errors.Join(err, b.d.stop()); err != nil {
			err = fmt.Errorf("%w\n%s", err, b.d.lastWords())
		}
	}()
	if err := b.build(ctx); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		f    func(context.Context) error
	}{
		{"idle", b.idle}, {"queries", b.queries}, {"commands", b.commands}, {"rival", b.compete},
		{"scan", b.scan}, {"restart", b.restart},
		{"saves", b.save},
	} {
		if b.wants(s.name) {
			if err := s.f(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// build measures the first start, which builds the index.
func (b *bench) build(ctx context.Context) error {
	b.progress("building the index")
	start := time.Now()
	if err := b.d.start(); err != nil {
		return err
	}
	s, took, err := b.d.awaitWhole(ctx, start)
	if err != nil {
		return err
	}
	b.r.build = took
	if s.Entries != b.c.entries {
		return fmt.Errorf("the index has %d entries of %d", s.Entries, b.c.entries)
	}
	if hasProc() {
		b.r.peak, err = processMemory(b.d.cmd.Process.Pid, "VmHWM")
		if err != nil {
			return err
		}
	}
	b.r.first, _, err = b.ask(ctx, b.warm[0])
	return err
}

// rest waits until the daemon is idle, which means at most 20 ms of processor
// time in each of three consecutive seconds. Without /proc it waits ten
// seconds.
func (b *bench) rest(ctx context.Context) error {
	if err := b.d.sync(ctx); err != nil {
		return err
	}
	if !hasProc() {
		return sleep(ctx, 10*time.Second)
	}
	for quiet := 0; quiet < 3; {
		before, err := processTime(b.d.cmd.Process.Pid)
		if err != nil {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		after, err := processTime(b.d.cmd.Process.Pid)
		if err != nil {
			return err
		}
		quiet++
		if after-before > 20*time.Millisecond {
			quiet = 0
		}
	}
	return nil
}

// idle measures the resources that the idle daemon uses.
func (b *bench) idle(ctx context.Context) error {
	if err := b.rest(ctx); err != nil {
		return err
	}
	size, err := diskSize(b.d.path("cache"))
	if err != nil {
		return err
	}
	b.r.indexSize = size
	if !hasProc() {
		return nil
	}
	b.progress("watching it idle for %s", b.config.idle)
	pid := b.d.cmd.Process.Pid
	before, err := processTime(pid)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := sleep(ctx, b.config.idle); err != nil {
		return err
	}
	after, err := processTime(pid)
	if err != nil {
		return err
	}
	b.r.idleTime = (after - before).Seconds() / time.Since(start).Seconds()
	b.r.anonymous, err = processMemory(pid, "RssAnon")
	if err != nil {
		return err
	}
	b.r.fileBacked, err = processMemory(pid, "RssFile")
	return err
}

// ask sends one question and returns its total time and the time within the
// daemon. It returns an error if there are no hits, and counts incomplete
// answers.
func (b *bench) ask(ctx context.Context, q question) (took, inside time.Duration, err error) {
	start := time.Now()
	a, err := client.Call(ctx, &b.d.client, q.request())
	took = time.Since(start)
	if err != nil {
		return 0, 0, err
	}
	if len(a.Hits) == 0 {
		err = fmt.Errorf("nothing found for %+v", q)
	}
	if a.Index.Degraded || !a.Index.Synced && !q.Now {
		b.r.incomplete++
	}
	return took, time.Duration(a.TookMS * float64(time.Millisecond)), err
}

// queries measures the latency of answers.
func (b *bench) queries(ctx context.Context) error {
	b.progress("asking")
	for _, q := range b.warm {
		if _, _, err := b.ask(ctx, q); err != nil {
			return err
		}
	}
	b.r.quizzes, b.r.took, b.r.inside = b.asks, map[string]latencies{}, map[string]latencies{}
	for _, z := range b.asks {
		for _, q := range z.List {
			took, inside, err := b.ask(ctx, q)
			if err != nil {
				return err
			}
			b.r.took[z.Name] = append(b.r.took[z.Name], took)
			b.r.inside[z.Name] = append(b.r.inside[z.Name], inside)
		}
	}
	return nil
}

// compete measures SQLite on the same questions while the daemon is stopped.
func (b *bench) compete(ctx context.Context) error {
	b.progress("SQLite FTS5")
	if err := b.d.stop(); err != nil {
		return err
	}
	told := contest{Root: b.root, Dir: b.dir, Warm: b.warm}
	for _, z := range b.asks {
		if z.forRival() {
			told.Quizzes = append(told.Quizzes, z)
		}
	}
	f, err := runRival(ctx, told)
	if err != nil {
		return err
	}
	if f.Failed != "" {
		b.progress("no figures of SQLite FTS5, which wants a C compiler and -tags sqlite_fts5: %s", f.Failed)
		return nil
	}
	if f.Entries != b.c.entries {
		return fmt.Errorf("SQLite has %d entries of %d", f.Entries, b.c.entries)
	}
	b.r.rival = f
	return nil
}

// commands measures search commands, from the start of the process to its end, as
// scan measures ripgrep.
func (b *bench) commands(ctx context.Context) error {
	b.progress("commands")
	b.r.commands = map[string]latencies{}
	for _, z := range b.asks[:min(3, len(b.asks))] {
		for i, q := range z.List[:min(22, len(z.List))] {
			cmd := b.d.command(ctx, append([]string{"search", "--"}, q.Words...)...)
			start := time.Now()
			out, err := cmd.Output()
			took := time.Since(start)
			if err != nil || len(out) == 0 {
				return fmt.Errorf("memwatchd search finds nothing for %q: %v", q.Words, err)
			}
			if i >= 2 { // the first two warm the file cache
				b.r.commands[z.Name] = append(b.r.commands[z.Name], took)
			}
		}
	}
	return nil
}

// scan measures ripgrep on the files while the daemon is stopped.
func (b *bench) scan(ctx context.Context) error {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.progress("no figures of a scan: rg is not installed")
		return nil
	}
	b.progress("rg")
	if err := b.d.stop(); err != nil {
		return err
	}
	b.r.scan = map[string]latencies{}
	b.r.scanner, _, _ = strings.Cut(output(ctx, "", rg, "--version"), "\n")
	for _, z := range b.asks[:min(3, len(b.asks))] {
		for i, q := range z.List[:min(22, len(z.List))] {
			args := []string{"--count", "--ignore-case", "--fixed-strings"}
			for _, w := range q.Words {
				args = append(args, "-e", w)
			}
			start := time.Now()
			out, err := exec.CommandContext(ctx, rg, append(args, b.root)...).Output()
			took := time.Since(start)
			if err != nil || len(out) == 0 {
				return fmt.Errorf("rg finds nothing for %q: %v", q.Words, err)
			}
			if i >= 2 { // the first two warm the file cache
				b.r.scan[z.Name] = append(b.r.scan[z.Name], took)
			}
		}
	}
	return nil
}

// restart measures a start with an existing index.
func (b *bench) restart(ctx context.Context) (err error) {
	b.progress("starting again")
	if err := b.d.stop(); err != nil {
		return err
	}
	b.r.restart, err = b.start(ctx)
	return err
}

// start starts the daemon and returns the time until its first complete answer.
func (b *bench) start(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if err := b.d.start(); err != nil {
		return 0, err
	}
	return b.d.awaitComplete(ctx, start, b.warm[0])
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
