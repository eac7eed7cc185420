package e2e

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
)

// kill kills the daemon without a shutdown.
func (l *live) kill() {
	l.t.Helper()
	if err := l.cmd.Process.Kill(); err != nil {
		l.t.Fatal(err)
	}
	<-l.done
	l.done = nil
}

// poison sets the length of the stored fields of each document in a segment to
// gigabytes, with a valid checksum. Reading the segment then needs that much
// memory.
func poison(b []byte) []byte {
	const footer = 5*8 + 3*4 // numbers of documents and offsets; mode, version, checksum
	end := b[len(b)-footer:]
	documents, index := binary.BigEndian.Uint64(end), binary.BigEndian.Uint64(end[8:])
	for n := range documents {
		at := binary.BigEndian.Uint64(b[index+8*n:])
		meta, m := binary.Uvarint(b[at:])
		_, d := binary.Uvarint(b[at+uint64(m):])
		at += uint64(m + d)
		id, _ := binary.Uvarint(b[at:])
		copy(b[at+meta+id:], []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	}
	binary.BigEndian.PutUint32(b[len(b)-4:], crc32.ChecksumIEEE(b[:len(b)-4]))
	return b
}

// TestPoisonedIndex checks that an index that ends the process when it is
// opened is set aside after three crashes.
func TestPoisonedIndex(t *testing.T) {
	t.Parallel()
	if raced() {
		t.Skip("the race detector cannot do with little memory")
	}
	const files = 40
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	l.start()
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	each(poison)(t, l.segments()...)
	l.limits = "ulimit -v 3500000 || exit 77"
	l.panics = true
	for n := range 3 {
		l.launch()
		select {
		case err := <-l.done:
			l.done = nil
			if text := l.log.String(); strings.Count(text, "fatal error: out of memory") != n+1 {
				t.Skipf("memory cannot be limited here: %v\n%s", err, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("start %d: the poison does no harm", n+1)
		}
	}
	if l.aside() != 0 {
		t.Error("it was not three crashes that made the index be set aside")
	}
	l.wantFirst(files)
	l.wantWell(files)
	if l.aside() != 1 || !strings.Contains(l.log.String(), "3 consecutive crashes") {
		t.Error("it is not said that the index was set aside for its crashes")
	}
}

// TestCrashesAreCounted checks that if a process ends soon after it has opened
// the index, that counts as a crash, unless it was stopped on request.
func TestCrashesAreCounted(t *testing.T) {
	t.Parallel()
	const files = 40
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	l.start()
	for _, crashes := range []int{2, 2, 3} {
		for range crashes {
			l.kill()
			l.start()
		}
		if want := crashes / 3; l.aside() != want {
			t.Errorf("after %d crashes in a row it was set aside %d times, want %d", crashes, l.aside(), want)
		}
		l.wantWell(files)
		if err := l.stop(); err != nil {
			t.Fatal(err)
		}
		l.start()
	}
}

// TestKilled checks that a daemon that is killed at any moment starts again
// with everything that it had acknowledged.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 12
	if os.Getenv("FAULTS") != "" {
		rounds = 100
	}
	const files = 300
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	want := map[string]string{} // the expected files
	for n := range files {
		path := fmt.Sprintf("2026-01-%02d/s%d.md", n%28+1, n)
		want[path] = fmt.Sprintf("- quince %d\n", n)
	}
	aside := 0
	for round := range rounds {
		l.launch()
		end := time.Now().Add(time.Duration(20+rand.IntN(600)) * time.Millisecond)
		// Files are written, and those that a search finds are recorded.
		found := map[string]string{} // by path
		for n := 0; time.Now().Before(end); n++ {
			path := fmt.Sprintf("2026-02-%02d/w%d.md", n%28+1, rand.IntN(200))
			word := letters(round) + "x" + letters(n)
			want[path] = "- medlar\n- " + word + "\n"
			l.write(path, want[path])
			delete(found, path)
			var a api.SyncAnswer
			if n%4 == 0 && l.ask("sync", owner.with(fields{"timeout": "100ms"}), &a) == nil {
				found[path] = word
			}
		}
		l.kill()
		l.wantFirst(files)
		l.sync()
		for _, path := range sorted(found) {
			if got := texts(l.search(owner, found[path], nil)); len(got) != 1 || !strings.HasPrefix(got[0], path+":") {
				t.Errorf("round %d: %s was said to be found in %s, and now is as %q", round, found[path], path, got)
			}
		}
		l.wantTidy()
		if l.aside() > aside {
			aside = l.aside() // three crashes in a row may be attributed to the index
		}
		if round%5 == 4 || round == rounds-1 {
			l.sync()
			if c := l.check(); len(c.Differing) != 0 || c.Files != len(want) {
				t.Errorf("round %d: check says %+v", round, c)
			}
			if diff := cmp.Diff(want, l.tree()); diff != "" {
				t.Errorf("round %d: the files are not as they were written (-want +got):\n%s", round, diff)
			}
			if err := l.stop(); err != nil {
				t.Fatal(err)
			}
		} else {
			l.kill()
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d times killed, %d times set aside", rounds, aside)
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// temporary matches names that must not exist after a daemon has started. A
// cookie exists only during a request.
var temporary = regexp.MustCompile(`\.tmp$|^cookie-|^\.memwatchd-`)

// wantTidy checks that a killed daemon left no temporary files.
func (l *live) wantTidy() {
	l.t.Helper()
	left := func() (list []string) {
		base := filepath.Dir(l.config)
		indexes := 0
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it existed only for a moment
			}
			if d.Name() == "quarantine" {
				return fs.SkipDir // what was set aside stays as it was
			}
			if temporary.MatchString(d.Name()) {
				list = append(list, path)
			}
			if strings.HasPrefix(d.Name(), "index-") {
				indexes++
				if indexes > 1 {
					list = append(list, path)
				}
			}
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
		return list
	}
	l.until("nothing is left of the one that was killed", func() bool { return len(left()) == 0 })
}

// tree returns the contents of the files by path.
func (l *live) tree() map[string]string {
	l.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.root, path)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return files
}
