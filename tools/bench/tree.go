package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

type kind int

const (
	session kind = iota
	daily
	longterm
	note
)

// A tree describes a generated memory. Equal seeds and numbers of files produce
// equal trees.
type tree struct {
	seed  uint64
	files []*file
}

type file struct {
	n       int
	path    string
	name    string // without directory and extension
	kind    kind
	day     time.Time
	subject string // if specified in the file
	private bool   // if specified in the file
	chinese bool
}

// lastDay is the last day of a tree. It is in the past because future days are
// mistakes.
var lastDay = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)

// newTree returns the layout of a memory. Most files are sessions, about ten a
// day while this results in at most a thousand days. The other files are daily
// logs of one or more people, long-term memory of subjects, and notes.
func newTree(seed uint64, files int) *tree {
	t := &tree{seed: seed}
	r := rand.New(rand.NewPCG(seed, 0))
	days := min(max(30, files/10), 1000)
	ago := func(n int) time.Time { return lastDay.AddDate(0, 0, -n%days) }
	people := 1 + files/2000
	add := func(f *file, path string, args ...any) {
		f.n = len(t.files)
		if f.n < files {
			f.path = fmt.Sprintf(path, args...)
			f.chinese = r.IntN(5) == 0
			t.files = append(t.files, f)
		}
	}
	// dir returns the directory of a person. The first person is the owner of
	// the root.
	dir := func(person int) string {
		if person == 0 {
			return ""
		}
		return fmt.Sprintf("person-%d/", person)
	}
	add(&file{kind: note, day: lastDay, name: "SOUL"}, "SOUL.md")
	add(&file{kind: note, day: lastDay, name: "USER"}, "USER.md")
	for i := range people {
		add(&file{kind: longterm, day: lastDay, name: "MEMORY"}, "%sMEMORY.md", dir(i))
	}
	var sessions, dailies, longterms, notes int
	namespaces := []string{"_index", "profile", "preference", "fact", "project", "task_state"}
	for len(t.files) < files {
		switch x := r.IntN(100); {
		case x < 84:
			f := &file{kind: session, day: ago(sessions * days * 100 / (files*84 + 1)), private: r.IntN(9) == 0}
			if r.IntN(12) == 0 {
				f.subject = fmt.Sprintf("acct:%d", r.IntN(1+files/500))
			}
			f.name = fmt.Sprintf("%s_%d", []string{"cli", "telegram", "slack", "agent"}[r.IntN(4)], sessions)
			add(f, "memory/%s/%s.md", f.date(), f.name)
			sessions++
		case x < 89:
			f := &file{kind: daily, day: lastDay.AddDate(0, 0, -dailies/people)}
			f.name = f.date()
			add(f, "%smemory/%s.md", dir(dailies%people), f.name)
			dailies++
		case x < 93:
			f := &file{kind: longterm, day: ago(r.IntN(days)), name: namespaces[longterms%6]}
			subject := "owner"
			if n := longterms / 6; n > 0 {
				subject = fmt.Sprintf("acct_%d", n)
			}
			add(f, "_longterms/%s/%s.md", subject, f.name)
			longterms++
		default:
			f := &file{kind: note, day: ago(r.IntN(days)), name: fmt.Sprintf("note-%d", notes)}
			add(f, "notes/topic-%d/%s.md", notes%(1+files/1000), f.name)
			notes++
		}
	}
	return t
}

// write writes the files below a directory.
func (t *tree) write(ctx context.Context, dir string) error {
	v := newVocabulary(t.seed)
	group, ctx := errgroup.WithContext(ctx)
	for k := range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for i := k; i < len(t.files); i += runtime.GOMAXPROCS(0) {
				if err := ctx.Err(); err != nil {
					return err
				}
				f := t.files[i]
				path := filepath.Join(dir, filepath.FromSlash(f.path))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(f.text(v, t)), 0o600); err != nil {
					return err
				}
				if err := os.Chtimes(path, f.day, f.day); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
