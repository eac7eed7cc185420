package watcher_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// TestNotWatched checks that hidden and ignored directories are not watched and
// that links are not followed.
func TestNotWatched(t *testing.T) {
	r := newRig(t)
	r.write("../outside/x.md", "outside")
	for _, path := range []string{".git/x.md", "a/.obsidian/x.md", "drafts/x.md", "a/x.md"} {
		r.write(path, path)
	}
	r.write(disk.IgnoreFile, "drafts/\n")
	r.must(os.Symlink("../outside", r.path("out")))
	r.must(os.Symlink("a", r.path("in")))
	r.start()
	r.must(os.Symlink("../../outside", r.path("a/out")))
	r.write("../outside/y.md", "outside")
	r.write("drafts/y.md", "y")
	r.sync()
	if s := r.Status(); s.Directories != 2 || r.index.len() != 1 {
		t.Errorf("%d files, status %+v", r.index.len(), s)
	}
	r.wantDisk()

	// Changed patterns take effect at once.
	r.write(disk.IgnoreFile, "a\n")
	r.sync()
	if s := r.Status(); s.Directories != 2 || r.index.len() != 2 {
		t.Errorf("%d files, status %+v", r.index.len(), s)
	}
	r.want("a/x.md", "")
	r.want("drafts/y.md", "y")
	r.wantDisk()
}

// TestOpenIgnoreFile checks that Sync waits for the patterns of an ignore file that was
// open while it was read, although no event reports that it was closed.
func TestOpenIgnoreFile(t *testing.T) {
	r := newRig(t)
	r.write("a/x.md", "a")
	r.write("drafts/x.md", "x")
	r.write(disk.IgnoreFile, "drafts/\n")
	r.start()
	r.sync()
	f, err := os.Create(r.path(disk.IgnoreFile))
	r.must(err)
	_, err = f.WriteString("a\n")
	r.must(err)
	for deadline := time.Now().Add(10 * time.Second); !r.Status().Unread; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Skip("no leases here: the file does not count as open")
		}
	}
	r.must(f.Close())
	r.sync()
	r.want("a/x.md", "")
	r.want("drafts/x.md", "x")
}

// TestWaysOfSaving checks that each way of saving ends in exactly the new
// content, and that no partial content is ever taken for it.
func TestWaysOfSaving(t *testing.T) {
	ways := map[string]func(r *rig, name string, text []byte){
		"truncate": func(r *rig, name string, text []byte) { r.must(os.WriteFile(name, text, 0o600)) },
		"move away and create": func(r *rig, name string, text []byte) {
			r.write("d/4913", "")
			r.must(os.Remove(r.path("d/4913")))
			r.must(os.Rename(name, name+"~"))
			r.must(os.WriteFile(name, text, 0o600))
			r.must(os.Chmod(name, 0o640))
			r.must(os.Remove(name + "~"))
		},
		"remove and create": func(r *rig, name string, text []byte) {
			r.must(os.Remove(name))
			r.must(os.WriteFile(name, text, 0o600))
		},
		"rename over": func(r *rig, name string, text []byte) {
			r.must(os.WriteFile(name+".tmp.1.a", text, 0o600))
			r.must(os.Rename(name+".tmp.1.a", name))
		},
		"exchange": func(r *rig, name string, text []byte) {
			r.must(os.WriteFile(name+".swap", text, 0o600))
			r.must(exchange(name, name+".swap"))
			r.must(os.Remove(name + ".swap"))
		},
		"slowly": func(r *rig, name string, text []byte) {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
			r.must(err)
			for piece := range slices.Chunk(text, len(text)/6) {
				time.Sleep(20 * time.Millisecond) // the slow write is part of the test
				_, err := f.Write(piece)
				r.must(err)
			}
			r.must(f.Close())
		},
	}
	for name, save := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newStartedRig(t)
			text := func(n int) string {
				return fmt.Sprintf("begin %d\n%send %d\n", n, strings.Repeat("line\n", 700), n)
			}
			r.write("d/x.md", text(0))
			r.sync()
			for n := 1; n <= 6; n++ {
				r.index.take()
				save(r, r.path("d/x.md"), []byte(text(n)))
				if n%2 == 0 {
					r.sync()
				} else {
					r.waitContent("d/x.md", text(n))
				}
				r.want("d/x.md", text(n))
			}
			for _, f := range r.index.read["d/x.md"] {
				n, got := 0, string(f.Data)
				if _, err := fmt.Sscanf(got, "begin %d\n", &n); !f.Unstable && (err != nil || got != text(n)) {
					t.Errorf("%d bytes were taken for the content: %.20q", len(got), got)
				}
			}
			r.wantDisk()
		})
	}
}

// randomOps performs random operations on a tree and ignores their errors.
func (r *rig) randomOps(rng *rand.Rand, steps int, name string) {
	dir := func() string {
		var parts []string
		for range rng.IntN(3) {
			parts = append(parts, fmt.Sprintf("d%d", rng.IntN(3)))
		}
		return filepath.Join(parts...)
	}
	below := func() string { return filepath.Join(dir(), fmt.Sprintf("d%d", rng.IntN(3))) }
	file := func() string { return filepath.Join(dir(), fmt.Sprintf("f%d.md", rng.IntN(4))) }
	away := filepath.Join(r.dir, "away"+name)
	for step := range steps {
		switch rng.IntN(12) {
		case 0, 1, 2, 3:
			path := r.path(file())
			os.MkdirAll(filepath.Dir(path), 0o700)
			os.WriteFile(path, fmt.Appendf(nil, "%s %d %d", name, step, rng.Uint32()), 0o600)
		case 4:
			os.Remove(r.path(file()))
		case 5, 6:
			os.Rename(r.path(file()), r.path(file()))
		case 7:
			os.RemoveAll(r.path(below()))
		case 8, 9:
			os.Rename(r.path(below()), r.path(below()))
		case 10:
			os.RemoveAll(away)
			os.Rename(r.path(below()), away)
		case 11:
			os.Rename(away, r.path(below()))
		}
	}
}

// TestAnything checks that after random operations and a sync the index matches the
// tree, and that it does after concurrent operations, syncs and scans.
func TestAnything(t *testing.T) {
	r := newRig(t)
	r.DeletionDelay = 5 * time.Millisecond
	r.fill("stays", 500) // so that random operations never trigger the hold
	r.start()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 110 {
		if round < 100 {
			r.randomOps(rng, rng.IntN(30), fmt.Sprint(round))
		} else {
			var group sync.WaitGroup
			for g := range 3 {
				rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
				group.Go(func() { r.randomOps(rng, 200, fmt.Sprint(g)) })
			}
			for i := range 4 {
				group.Go(func() {
					if i%2 == 0 {
						r.Rescan()
					}
					r.Sync(t.Context())
				})
			}
			group.Wait()
		}
		r.sync()
		if r.wantDisk(); t.Failed() {
			t.Fatalf("in round %d; status %+v", round, r.Status())
		}
	}
	r.wantHealthy()
}
