package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// soakWord matches the word that is unique to one entry.
var soakWord = regexp.MustCompile(`\bx[bcdfghjklm]+\b`)

// writers returns the actors that change files.
func (s *soak) writers() []*actor {
	list := []*actor{
		s.person(owner, "notes/desk%d.md", 1), s.person(owner, "2026-02-05/telegram_%d.md", 2), s.person(alice, "alice/memory/2026-01-%02d.md", 3),
		s.agent("2026-03-01/cli_%d.md", 4), s.agent("_longterms/acct_42/_archive/2026-01-%d.md", 5),
		s.mover(7), s.turncoat(10), s.operator(),
	}
	// Files that do not change.
	still := s.desk(11)
	return append(list, &actor{name: "nobody", pause: time.Hour, act: func(context.Context) error { return nil }, prepare: func() error {
		for path, front := range map[string]string{
			"MEMORY.md": "summary: long", "SOUL.md": "", "USER.md": "", "alice/MEMORY.md": "",
			"_longterms/owner/_index.md": "summary: the owner's", "_longterms/owner/fact.md": "",
			"_longterms/acct_42/_index.md": "subject_id: acct:42", "_longterms/acct_42/fact.md": "",
			"2026-02-01/of_acct.md": "subject_id: acct:42", "2026-02-01/private.md": "visibility: private_only",
			"2026-02-01/unclosed.md": "tags: [a", "memory/2026-02-01.md": "",
		} {
			if err := still.save(path, still.text(front, 20)); err != nil {
				return err
			}
		}
		return errors.Join(still.fill(s.files, "2026-01-20/s%d.md"), still.fill(s.files, "notes/still/n%d.md"))
	}})
}

// person saves a file as various editors do, and expects to find it.
func (s *soak) person(who fields, pattern string, n int) *actor {
	d := s.desk(n)
	ways := []func(path, text string) error{
		d.save,
		func(path, text string) error { // another file, renamed
			return errors.Join(d.save(path+".tmp", text), os.Rename(d.path(path+".tmp"), d.path(path)))
		},
		func(path, text string) error { // the old one moved away first
			path = d.path(path)
			return errors.Join(os.Rename(path, path+"~"), os.WriteFile(path, []byte(text), 0o600), os.Remove(path+"~"))
		},
		func(path, text string) error { // removed first
			return errors.Join(os.Remove(d.path(path)), d.save(path, text))
		},
		d.saveSlowly,
	}
	return &actor{
		name: "a person at " + pattern, pause: 200 * time.Millisecond,
		prepare: func() error { return d.fill(25, pattern) },
		act: func(ctx context.Context) error {
			path, text := d.one(), d.text("", 2+d.IntN(10))
			d.saves.Add(1)
			way := ways[d.IntN(len(ways))]
			if info, err := os.Stat(d.path(path)); err == nil && info.Size() < 20<<10 && d.IntN(4) == 0 {
				way, text = d.appendTo, "\n"+d.entry() // some lines more
			}
			// A program that another actor starts would hold the file open.
			syscall.ForkLock.RLock()
			err := way(path, text)
			syscall.ForkLock.RUnlock()
			if err != nil {
				return err
			}
			return d.finds(ctx, who, path, text)
		},
	}
}

// saveSlowly empties a file and writes it in pieces.
func (d *desk) saveSlowly(path, text string) error {
	f, err := os.Create(d.path(path))
	if err != nil {
		return err
	}
	for part := range bytesOfSize([]byte(text), len(text)/4+1) {
		if _, err := f.Write(part); err != nil {
			return errors.Join(err, f.Close())
		}
		time.Sleep(20 * time.Millisecond) // a slow writer
	}
	return f.Close()
}

func bytesOfSize(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			part := b[:min(n, len(b))]
			b = b[len(part):]
			if !yield(part) {
				return
			}
		}
	}
}

func (d *desk) appendTo(path, text string) error {
	f, err := os.OpenFile(d.path(path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// finds searches for a word of a file that was just saved.
func (d *desk) finds(ctx context.Context, who fields, path, text string) error {
	words := soakWord.FindAllString(text, -1)
	word := words[d.IntN(len(words))]
	a, err := d.soak.find(ctx, who, word, fields{"include_archived": true})
	if err != nil {
		return err
	}
	if a.Index.Synced && !a.Index.Degraded && (len(a.Hits) != 1 || a.Hits[0].Path != path || !strings.Contains(a.Hits[0].Text, word)) {
		return fmt.Errorf("%s was saved with %q, and is found as %q; %+v", path, word, texts(a), a.Index)
	}
	return nil
}

// agent writes many files in a moment, and removes the oldest ones.
func (s *soak) agent(pattern string, n int) *actor {
	d := s.desk(n)
	return &actor{
		name: "an agent at " + pattern, pause: 2 * time.Second,
		prepare: func() error { return d.fill(s.files, pattern) },
		act: func(context.Context) error {
			for range 5 + d.IntN(40) {
				if err := errors.Join(d.fresh(pattern), os.Remove(d.path(d.files[0]))); err != nil {
					return err
				}
				d.files = d.files[1:]
			}
			return nil
		},
	}
}

// mover creates, renames and removes directories with files in them.
func (s *soak) mover(n int) *actor {
	d := s.desk(n)
	var dirs []string
	make := func() error {
		d.next++
		dir := fmt.Sprintf("moving/m%d", d.next)
		dirs = append(dirs, dir)
		for depth := range 3 {
			deep := dir + strings.Repeat("/deep", depth)
			if err := errors.Join(d.save(deep+"/a.md", d.text("", 3)), d.save(deep+"/b.md", d.text("", 3))); err != nil {
				return err
			}
		}
		return nil
	}
	return &actor{
		name: "a mover", pause: 400 * time.Millisecond,
		prepare: func() error {
			for range 15 {
				if err := make(); err != nil {
					return err
				}
			}
			return nil
		},
		act: func(ctx context.Context) error {
			i := d.IntN(len(dirs))
			switch d.IntN(4) {
			case 0: // deleted, and a new one
				if err := os.RemoveAll(d.path(dirs[i])); err != nil {
					return err
				}
				dirs = append(dirs[:i], dirs[i+1:]...)
				return make()
			case 1: // to another directory, which is no day or is a day
				d.next++
				to := fmt.Sprintf([]string{"moving/r%d", "elsewhere/deep/%d", "2026-02-06/r%d"}[d.IntN(3)], d.next)
				if err := os.MkdirAll(filepath.Dir(d.path(to)), 0o700); err != nil {
					return err
				}
				if err := os.Rename(d.path(dirs[i]), d.path(to)); err != nil {
					return err
				}
				dirs[i] = to
				path, text := to+"/deep/a.md", d.text("", 2)
				return errors.Join(d.save(path, text), d.finds(ctx, owner, path, text))
			case 2: // out of the root and back
				away := filepath.Join(filepath.Dir(d.config), "away")
				if err := os.Rename(d.path(dirs[i]), away); err != nil {
					return err
				}
				wait(ctx, time.Duration(d.IntN(1500))*time.Millisecond)
				return os.Rename(away, d.path(dirs[i]))
			}
			d.next++ // empty directories
			empty := d.path(fmt.Sprintf("moving/e%d/e/e", d.next))
			return errors.Join(os.MkdirAll(empty, 0o700), os.RemoveAll(filepath.Dir(filepath.Dir(empty))))
		},
	}
}

// turncoat makes sessions private and public again, and checks whether the
// public sees them.
func (s *soak) turncoat(n int) *actor {
	d := s.desk(n)
	const pattern = "2026-02-02/t%d.md"
	return &actor{
		name: "a turncoat", pause: 300 * time.Millisecond,
		prepare: func() error { return d.fill(20, pattern) },
		act: func(ctx context.Context) error {
			path, word := d.one(), d.word()
			private := d.IntN(2) == 0
			front := "visibility: public_ok"
			if private {
				front = "visibility: private_only"
			}
			if err := d.save(path, d.text(front, 3)+"- in "+word+"\n"); err != nil {
				return err
			}
			a, err := d.soak.find(ctx, public, word, nil)
			if err != nil {
				return err
			}
			if len(a.Hits) > 0 && private || len(a.Hits) != 1 && !private && a.Index.Synced && !a.Index.Degraded {
				return fmt.Errorf("%s is private: %v, and the public finds %q of it; %+v", path, private, texts(a), a.Index)
			}
			return d.finds(ctx, owner, path, word)
		},
	}
}

// operator rebuilds the index again and again. At the beginning it also reloads
// the configuration, but not later, because a restart would hide a leak.
func (s *soak) operator() *actor {
	var began time.Time
	return &actor{
		name: "an operator", pause: min(max(s.length/20, time.Second), 30*time.Second),
		act: func(ctx context.Context) error {
			if began.IsZero() {
				began = time.Now()
				return nil // the other actors start
			}
			if time.Since(began) < s.length/6 {
				return s.reload()
			}
			c := newHTTPClient(s.socket)
			defer c.CloseIdleConnections()
			err := s.question(ctx, c, http.MethodPost, "/v1/rebuild", nil, nil)
			if is(err, api.Busy) {
				return nil // the last rebuild took longer than the client waits
			}
			return err
		},
	}
}
