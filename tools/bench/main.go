// Bench measures memwatchd under the conditions of its users: the program
// itself, over its socket, on memories of many sizes. In the same run it
// measures two alternatives on the same files: the FTS5 extension of SQLite,
// and ripgrep. If a machine lacks a C compiler, rg or /proc, the run reports
// this and omits the affected figures.
//
// From the parent directory:
//
//	make bench                               memories of 1,000 and 10,000 files: some ten minutes
//	make bench BENCHFILES=1000,10000,100000  and a large one: half an hour more, and 2 GB of disk
//	make bench BENCHFLAGS='-out ../../docs/internals/performance.md'
//	make bench BENCHFILES=10000 BENCHFLAGS='-tree= -only queries,rival'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == rivalCommand {
		exit(serveRival(os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// sections contains the parts of a run that -only can select.
var sections = []string{"idle", "queries", "rival", "commands", "scan", "restart", "saves"}

type config struct {
	files []int
	tree  string
	out   string
	only  []string
	seed  uint64
	each  int
	saves int
	idle  time.Duration
	work  string
}

func parseFlags() (*config, error) {
	c := &config{}
	files := flag.String("files", "1000,10000", "sizes of the generated trees")
	only := flag.String("only", "", "only these sections, beside the first build: "+strings.Join(sections, ","))
	flag.StringVar(&c.tree, "tree", "", "a directory of real Markdown, which is copied; none if it is not there")
	flag.StringVar(&c.out, "out", "", "write the page without the tables of each tree to this file, as Markdown")
	flag.Uint64Var(&c.seed, "seed", 1, "of everything that is made up")
	flag.IntVar(&c.each, "queries", 500, "questions of each sort")
	flag.IntVar(&c.saves, "saves", 300, "saves of each sort")
	flag.DurationVar(&c.idle, "idle", time.Minute, "how long the idle daemon is watched")
	flag.StringVar(&c.work, "work", "",
		"where trees and indexes are made: on a disk, as tests of saving on a memory file system say little "+
			"(default: the user's cache directory)")
	flag.Parse()
	for _, s := range strings.FieldsFunc(*files, isComma) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 100 {
			return nil, fmt.Errorf("-files: %q is not a number of files from 100 on", s)
		}
		c.files = append(c.files, n)
	}
	for _, s := range strings.FieldsFunc(*only, isComma) {
		if !slices.Contains(sections, s) {
			return nil, fmt.Errorf("-only: there is no section %q: they are %s", s, strings.Join(sections, ", "))
		}
		c.only = append(c.only, s)
	}
	if c.work == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		c.work = cache
	}
	return c, os.MkdirAll(c.work, 0o700)
}

func isComma(r rune) bool { return r == ',' }

func (c *config) wants(section string) bool {
	return len(c.only) == 0 || slices.Contains(c.only, section)
}

func run(ctx context.Context) (err error) {
	c, err := parseFlags()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(c.work, "memwatchd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	sockets, err := os.MkdirTemp("", "mwb") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)
	progress("checking whether the machine is idle")
	m := lookAtMachine(ctx, work)
	if m.busy > busyFrom {
		progress("other programs use %.0f %% of the processors: the figures are not comparable", 100*m.busy)
	}
	program := filepath.Join(work, "memwatchd")
	progress("building memwatchd")
	if err := buildDaemon(ctx, program); err != nil {
		return err
	}
	var results []*result
	measure := func(name string, prepare func(dir string) error) error {
		dir := filepath.Join(work, strconv.Itoa(len(results)))
		b := &bench{config: c, name: name, dir: dir, root: filepath.Join(dir, "memory"), r: &result{name: name}}
		for _, d := range []string{b.root, filepath.Join(dir, "daemon")} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				return err
			}
		}
		b.progress("writing files")
		if err := prepare(b.root); err != nil {
			return err
		}
		b.d, err = newDaemon(program, b.root, filepath.Join(dir, "daemon"),
			filepath.Join(sockets, strconv.Itoa(len(results))))
		if err != nil {
			return err
		}
		if err := b.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, b.r)
		return os.RemoveAll(dir)
	}
	for _, n := range c.files {
		t := newTree(c.seed, n)
		if err := measure(thousands(n)+" files", func(dir string) error { return t.write(ctx, dir) }); err != nil {
			return err
		}
	}
	if _, err := os.Stat(c.tree); err == nil {
		name := filepath.Base(c.tree)
		if err := measure(name, func(dir string) error { return copyTree(c.tree, dir) }); err != nil {
			return err
		}
	} else if c.tree != "" {
		progress("%s is not there: no figures of real text", c.tree)
	}
	page, tables := report(m, results)
	fmt.Println(page + "\n" + tables)
	if c.out == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.out, []byte(page), 0o644)
}

// copyTree copies the Markdown files of a tree, because the run changes some of
// them.
func copyTree(from, to string) error {
	return walkTree(from, func(path string) error {
		text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		file := filepath.Join(to, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, text, 0o600)
	})
}

var began = time.Now()

// progress prints a progress message with the elapsed time to standard error.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
