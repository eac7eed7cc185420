package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A saver saves a file in the way that one kind of program does.
type saver struct {
	name string
	// save writes version n; higher numbers are later.
	save func(name string, n int) error
	// appends reports that every version must survive, not just the last one.
	appends bool
}

func saverText(n int) []byte {
	return fmt.Appendf(nil, "count: 0\nversion %d\n%send\n", n, strings.Repeat("padding\n", n%50))
}

// savers cover all observed ways to save.
var savers = []saver{
	{name: "renames over", save: func(name string, n int) error {
		return errors.Join(os.WriteFile(name+".new", saverText(n), 0o600), os.Rename(name+".new", name))
	}},
	{name: "in place", save: func(name string, n int) error { return os.WriteFile(name, saverText(n), 0o600) }},
	{name: "moves away first", save: func(name string, n int) error {
		return errors.Join(os.Rename(name, name+"~"), os.WriteFile(name, saverText(n), 0o600), os.Remove(name+"~"))
	}},
	{name: "appends", appends: true, save: func(name string, n int) error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		return errors.Join(second(fmt.Fprintf(f, "line %d\n", n)), f.Close())
	}},
}

// wantSaved returns an error if a saved version is missing. On systems without
// leases, two simultaneous appends may each go to a different file, and a save
// in slow, which kept the file open beyond the recheck, may be lost.
func (p saver) wantSaved(data []byte, kept [][]byte, last int, slow map[int]bool) error {
	if slow[last] && !p.appends {
		return nil
	}
	if !p.appends {
		_, theirs, ok := bytes.Cut(data, []byte("\n"))
		_, want, _ := bytes.Cut(saverText(last), []byte("\n"))
		if !ok || !bytes.HasPrefix(data, []byte("count: ")) || !bytes.Equal(theirs, want) {
			return fmt.Errorf("it is not version %d: %.80q", last, data)
		}
		return nil
	}
	for n := 1; n <= last; n++ {
		line := fmt.Appendf(nil, "\nline %d\n", n)
		switch times := bytes.Count(data, line); {
		case times == 1:
		case times == 0 && slow[n]:
		case times == 0 && slices.ContainsFunc(kept, func(data []byte) bool { return bytes.Contains(data, line) }):
		default:
			return fmt.Errorf("line %d is there %d times: %.80q", n, times, data)
		}
	}
	if !bytes.HasPrefix(data, []byte("count: ")) {
		return fmt.Errorf("torn: %.80q", data)
	}
	return nil
}

// countingChange returns a change that increments a counter and is therefore never
// without effect.
func countingChange(path string, asked bool) Change {
	return Change{Path: path, Cause: "count", Requested: asked, Edit: func(f *File) ([]byte, error) {
		var n int
		if f == nil {
			return nil, nil
		}
		if _, err := fmt.Sscanf(string(f.Data), "count: %d\n", &n); err != nil {
			return nil, fmt.Errorf("half a file is taken for all of it: %.80q", f.Data)
		}
		_, rest, _ := bytes.Cut(f.Data, []byte("\n"))
		return fmt.Appendf(nil, "count: %d\n%s", n+1, rest), nil
	}}
}

// TestNoSaveIsLost checks that no save is lost while the writer changes the
// same file continuously.
func TestNoSaveIsLost(t *testing.T) {
	rounds := 80
	if os.Getenv("FAULTS")+os.Getenv("STRESS") != "" {
		rounds = 1000
	}
	for _, noLeases := range []bool{false, true} {
		for _, p := range savers {
			name := p.name
			if noLeases {
				name += ", without leases"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWriter(t, map[string]string{"2026-02-04/cli.md": "count: 0\n"})
				if !noLeases {
					needLeases(t, w.Vault)
				}
				w.Vault.noLeases, w.MaxChangesPerMinute, w.settleDelay = noLeases, 1<<30, time.Millisecond
				if noLeases {
					w.settleDelay = 0
				}
				runRace(t, w, p, rounds)
			})
		}
	}
}

func runRace(t *testing.T, w *Writer, p saver, rounds int) {
	const path = "2026-02-04/cli.md"
	name := w.Vault.Dir + "/" + path
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var changed atomic.Int64
	defer work.Wait()
	defer end()
	work.Go(func() { w.Run(ctx) })
	var turn sync.Mutex // held during each change
	work.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			turn.Lock()
			written, err := w.Write(ctx, countingChange(path, n%4 != 0))
			turn.Unlock()
			var wait *WaitError
			switch {
			case written.Changed:
				changed.Add(1)
			case err != nil && !errors.As(err, &wait) && !errors.Is(err, ErrBusy) && ctx.Err() == nil:
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
		}
	})
	last, slow := 0, map[int]bool{}
	for round := range rounds {
		for range 1 + rand.IntN(2) {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			last++
			began := time.Now()
			must(t, p.save(name, last))
			slow[last] = w.Vault.noLeases && time.Since(began) > settleDelay/2
		}
		turn.Lock()
		w.settleAll(t)
		data, err := os.ReadFile(name)
		var kept [][]byte
		for _, path := range w.conflictCopies(t) {
			if data, err := os.ReadFile(path); err == nil && w.Vault.noLeases && p.appends {
				kept = append(kept, data)
			}
		}
		if err == nil {
			err = p.wantSaved(data, kept, last, slow)
		}
		turn.Unlock()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	end()
	work.Wait()
	names, err := os.ReadDir(w.Vault.Dir + "/2026-02-04")
	must(t, err)
	s, copies := w.Status(), w.conflictCopies(t)
	if !w.Vault.noLeases && len(copies) > 0 {
		t.Errorf("left to a person: %v", copies)
	}
	if len(names) != 1+len(copies) {
		t.Errorf("left over: %v", names)
	}
	if changed.Load() == 0 {
		t.Error("it was never changed")
	}
	t.Logf("%d saves, %d changes, %d races lost, %d files kept", last, changed.Load(), s.LostRaces, len(copies))
}

// conflictCopies returns the names of the conflict copies in the directory of the race.
func (w *Writer) conflictCopies(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(w.Vault.Dir + "/2026-02-04/*.conflict-copy-*.md")
	must(t, err)
	return names
}
