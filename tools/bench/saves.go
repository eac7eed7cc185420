package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// changesPerSecond is the number of other files that change per second in the
// loaded cases.
const changesPerSecond = 100

// pause is the pause between a question without the expected answer and the
// next question.
const pause = time.Millisecond

// save measures the time from a save to its being found. The saves are
// sequential; they replace the file by renaming and write in place alternately.
func (b *bench) save(ctx context.Context) error {
	if b.d.done == nil {
		if _, err := b.start(ctx); err != nil {
			return err
		}
	}
	if err := b.rest(ctx); err != nil {
		return err
	}
	ours, others := b.saved()
	for _, loaded := range []bool{false, true} {
		for _, synced := range []bool{false, true} {
			b.progress("saving: %s", saveName(loaded, synced))
			s := savesResult{loaded: loaded, synced: synced}
			err := b.during(ctx, loaded, others, &s.rate, func() (err error) {
				s.took, err = b.saveAndFind(ctx, ours, synced)
				return err
			})
			if err != nil {
				return err
			}
			b.r.saves = append(b.r.saves, s)
		}
	}
	if !hasProc() {
		return nil
	}
	var err error
	b.r.after, err = processMemory(b.d.cmd.Process.Pid, "RssAnon")
	return err
}

func saveName(loaded, synced bool) string {
	name := "repeated searches"
	if synced {
		name = "one synced search"
	}
	if loaded {
		name += fmt.Sprintf(", %d other changes per second", changesPerSecond)
	}
	return name
}

// saved returns files to save and other files to change at the same time.
func (b *bench) saved() (ours, others []string) {
	all := slices.Clone(b.c.own)
	r := rand.New(rand.NewPCG(b.seed, 9))
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	half := min(len(all)/2, 2*b.config.saves)
	return all[:half], all[half:]
}

// during calls f, in the loaded case with concurrent changes of other files. It
// sets rate to the number of these changes per second.
func (b *bench) during(ctx context.Context, loaded bool, files []string, rate *float64, f func() error) error {
	if !loaded {
		return f()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var changed atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- b.change(ctx, files, &changed) }()
	start := time.Now()
	err := f()
	*rate = float64(changed.Load()) / time.Since(start).Seconds()
	cancel()
	return cmp.Or(err, <-ended)
}

// change changes files until the context ends, changesPerSecond on average.
func (b *bench) change(ctx context.Context, files []string, changed *atomic.Int64) error {
	start := time.Now()
	for n := 0; ; n++ {
		due := start.Add(time.Duration(n) * time.Second / changesPerSecond)
		if sleep(ctx, time.Until(due)) != nil {
			return nil
		}
		if err := b.write(files[n%len(files)], fmt.Sprintf("%s other change", unique(b.seed, 1<<32+n)),
			n%2 == 0); err != nil {
			return err
		}
		changed.Add(1)
	}
}

var saveCounter int

// saveAndFind saves files and measures the time until a search finds the new
// word in each.
func (b *bench) saveAndFind(ctx context.Context, files []string, synced bool) (latencies, error) {
	var took latencies
	for n := range b.config.saves {
		saveCounter++
		word, path := unique(b.seed, saveCounter), files[n%len(files)]
		if err := b.write(path, word+" "+strings.Join(b.warm[n%len(b.warm)].Words, " "), n%2 == 0); err != nil {
			return nil, err
		}
		start := time.Now()
		request := question{Words: []string{word}, Now: !synced}.request()
		for {
			a, err := client.Call(ctx, &b.d.client, request)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(a.Hits,
				func(h api.Hit) bool { return h.Path == path && strings.Contains(h.Text, word) }) {
				break
			}
			switch waited := time.Since(start); {
			case synced && a.Index.Synced:
				return nil, fmt.Errorf("%s: %s was saved, and is not in an answer that is said to have all", path, word)
			case waited > time.Minute:
				return nil, fmt.Errorf("%s: %s was saved, and is not found within a minute", path, word)
			}
			if err := sleep(ctx, pause); err != nil {
				return nil, err
			}
		}
		took = append(took, time.Since(start))
		// Varying pauses avoid synchronization with periodic work of the
		// daemon.
		if err := sleep(ctx, time.Duration(n%10)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// mark begins the line that a save adds or replaces.
const mark = "\n- Saved: "

// write saves a file with another last line.
func (b *bench) write(path, line string, inPlace bool) error {
	file := filepath.Join(b.root, filepath.FromSlash(path))
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if i := bytes.LastIndex(text, []byte(mark)); i >= 0 {
		text = text[:i]
	}
	text = append(bytes.TrimRight(text, "\n"), mark+line+"\n"...)
	if inPlace {
		return os.WriteFile(file, text, 0o600)
	}
	temp := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".tmp")
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// unique returns a word that no other call and no text contains, of letters
// only.
func unique(seed uint64, n int) string {
	const letters = "bcdfghjklmnpqrtvwxz"
	word := []byte("q")
	for x := seed<<40 + uint64(n); x > 0; x /= uint64(len(letters)) {
		word = append(word, letters[x%uint64(len(letters))])
	}
	return string(append(word, 'k'))
}
