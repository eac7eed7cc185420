package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/statetest"
)

// quark is a word found nowhere else.
const quark = "zyzzyvaquark"

// holding lists the files of the root and of the daemon's own directory that contain a
// text.
func (l *live) holding(text string) []string {
	l.t.Helper()
	files, err := statetest.FilesContaining(l.root, text)
	testkit.Must(l.t, err)
	own, err := statetest.FilesContaining(filepath.Dir(l.config), text)
	testkit.Must(l.t, err)
	return append(files, own...)
}

// forget removes all entries with a text, and returns the answer with the rest.
func (l *live) forget(who fields, text string) *api.ForgetAnswer {
	l.t.Helper()
	done, err := l.tryForget(who, text)
	testkit.Must(l.t, err)
	if done.Problem != "" || len(done.Failed) > 0 {
		l.t.Errorf("problem %q, failed %+v", done.Problem, done.Failed)
	}
	return done
}

func (l *live) tryForget(who fields, text string) (*api.ForgetAnswer, error) {
	var list, done api.ForgetAnswer
	if err := l.ask("forget", who.with(fields{"match": text}), &list); err != nil {
		return nil, err
	}
	ids := []string{}
	for _, e := range list.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	return &done, l.ask("forget", who.with(fields{"ids": ids, "token": list.Token}), &done)
}

// age changes files at random, as memwatchd and other programs do. Changes of memwatchd may
// fail. Some texts contain the quark.
func (l *live) age(r *rand.Rand) {
	l.t.Helper()
	for range 4 + r.IntN(10) {
		path := []string{"MEMORY.md", "notes.md", "2026-03-01/n.md"}[r.IntN(3)]
		data, _ := os.ReadFile(l.path(path))
		text, more := string(data), ""
		for range []int{1, 1, 1, 30}[r.IntN(4)] {
			more += fmt.Sprintf("- %x %x\n", r.Uint64(), r.Uint64())
		}
		if r.IntN(3) == 0 {
			more += fmt.Sprintf("- the %s\n  and %x\n", quark, r.Uint64())
		}
		switch r.IntN(7) {
		case 0, 1, 2:
			l.write(path, text+more)
		case 3:
			_, rest, _ := strings.Cut(text, "\n")
			l.write(path, more+rest)
		case 4:
			os.Rename(l.path(path), l.path("moved-"+filepath.Base(path)))
		case 5:
			l.ask("edit", owner.with(fields{"path": path, "old_text": text, "new_text": text + more}), new(api.EditAnswer))
		default:
			l.ask("note", owner.with(fields{"text": strings.TrimPrefix(more, "- ")}), new(api.NoteAnswer))
		}
		time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond) // the history waits for 100
	}
}

// TestForgetHistories checks that no file contains forgotten text, packed or not, after any
// changes of the files.
func TestForgetHistories(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	for n := range thorough(4, 200) {
		l.age(rand.New(rand.NewPCG(uint64(n), 1)))
		l.forget(owner, quark)
		if held := l.holding(quark); held != nil {
			t.Fatalf("history %d: it is held in %q", n, held)
		}
	}
}

// TestForgetKilled checks that if a daemon is killed while it forgets, the text is in files,
// where a repeated request finds it, or nowhere.
func TestForgetKilled(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	note := filepath.Join(filepath.Dir(l.config), "state", "memwatchd", "memwatchd", "forget.json")
	for n := range thorough(6, 200) {
		r := rand.New(rand.NewPCG(uint64(n), 2))
		l.age(r)
		answered := make(chan error, 1)
		go func() {
			_, err := l.tryForget(owner, quark)
			answered <- err
		}()
		time.Sleep(time.Millisecond << r.IntN(9))
		l.kill()
		<-answered
		l.start()
		l.until("what was begun is done", func() bool {
			_, err := os.Stat(note)
			return os.IsNotExist(err)
		})
		l.sync()
		l.wantSettled() // the next daemon removes temporary files a moment later
		first := l.holding(quark)
		l.forget(owner, quark)
		if held := l.holding(quark); held != nil {
			t.Fatalf("round %d: after a repeated request it is held in %q; before in %q", n, held, first)
		}
	}
}

// TestForgetForms checks that forgotten text is in no file in any form that counts as the same
// words, whatever the files and their earlier versions are like.
func TestForgetForms(t *testing.T) {
	t.Parallel()
	const sync = ".sync-conflict-20260205-120000-ABCDEFG.md"
	filler := strings.Repeat("- a line that stays as it is\n", 30)
	for name, test := range map[string]struct {
		match string
		forms []string          // bytes that must be nowhere
		files map[string]string // with the text
	}{
		"letter case":     {"zyzzyvaquark", []string{"ZyzzyvaQUARK"}, map[string]string{"a.md": "- ZyzzyvaQUARK is here\n"}},
		"composed":        {"zyźzyva", []string{"zyz\u0301zyva"}, map[string]string{"a.md": "- zyz\u0301zyva\n", "b.md": "zyz\u0301zyva\n"}},
		"accents":         {"zyzzyvaquark", []string{"zÿzzÿvaquark"}, map[string]string{"a.md": "- zÿzzÿvaquark\n"}},
		"full width":      {"zyzzyva", []string{"ｚｙｚｚｙｖａ"}, map[string]string{"a.md": "# T\n\n- ｚｙｚｚｙｖａ\n"}},
		"an escape":       {"zyzzyvaquark", []string{"zyz&#122;yvaquark"}, map[string]string{"a.md": "- zyz&#122;yvaquark\n"}},
		"CRLF":            {"zyzzyva quark", []string{"zyzzyva"}, map[string]string{"a.md": "one zyzzyva\r\nquark two\r\n\r\n- x\r\n"}},
		"CRLF and LF":     {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "- x\r\n- zyzzyva\n- y\r\n"}},
		"a quote":         {"zyzzyva quark", []string{"zyzzyva"}, map[string]string{"a.md": "> one zyzzyva\n> quark two\n\n- x\n"}},
		"a mark":          {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "\ufeff- zyzzyva\n"}},
		"a nested item":   {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "- one\n  - zyzzyva\n  - two\n"}},
		"a row":           {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "| a | b |\n|---|---|\n| zyzzyva | 1 |\n| x | 2 |\n"}},
		"an attribute":    {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "- one <!-- id=a note=zyzzyva -->\n"}},
		"a summary":       {"zyzzyva", []string{"zyzzyva"}, map[string]string{"2026-02-04/s.md": "---\nsummary: it is zyzzyva\n---\n- x\n"}},
		"an archived one": {"zyzzyva", []string{"zyzzyva"}, map[string]string{"_longterms/owner/_archive/2026-01.md": "- zyzzyva <!-- id=b -->\n"}},
		"a copy with it":  {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "- zyzzyva\n- x\n", "a" + sync: "- zyzzyva\n- y\n"}},
		"a short line":    {"zyz", []string{"zyz 1"}, map[string]string{"a.md": "- zyz 1\n- x\n", "a" + sync: "- zyz 1\n- y\n"}},
		"other copies": {"zyzzyva", []string{"zyzzyva"}, map[string]string{"a.md": "- one zyzzyva\n", "a" + sync: "- two zyzzyva, and more\n",
			"a.conflict-copy-0abc0000.md": "- three\n  zyzzyva\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLive(t, t.TempDir(), "")
			for _, earlier := range []bool{false, true} { // only in an earlier version
				for path, text := range test.files {
					settle := func() { l.sync(); l.must("history", owner.with(fields{"path": path}), new(api.HistoryAnswer)) }
					l.write(path, filler)
					settle()
					l.write(path, text+"\n"+filler)
					settle()
					l.write(path, text+"\n- another\n\n"+filler) // extends and overwrites
					settle()
					var done api.EditAnswer
					l.ask("edit", owner.with(fields{"path": path, "old_text": "- another", "new_text": "- another one"}), &done)
					if earlier {
						l.write(path, filler)
						settle()
					}
				}
				held := func() (list []string) {
					for _, form := range test.forms {
						list = append(list, l.holding(form)...)
					}
					return list
				}
				if held() == nil {
					t.Error("the text is nowhere before the removal")
				}
				l.forget(owner, test.match)
				if list := held(); list != nil {
					t.Errorf("earlier %t: it is held in %q", earlier, list)
				}
			}
		})
	}
}
