package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/vault"
)

// A person has a file open in an editor, with something typed and not saved, when
// it is changed. Nobody who is not asked to changes it; what an agent asks for is
// done; and when the person saves they are warned, and get what they want.
func TestChangedWhileOpenInAnEditor(t *testing.T) {
	for _, editor := range []struct {
		name, sign    string
		needs         []string
		command       string
		typed, save   func(*edit)
		warning       string
		insist, close func(*edit)
	}{
		{
			name: "vim", sign: "vim", needs: []string{"vim", "tmux"}, command: "vim -u DEFAULTS",
			typed:   func(e *edit) { e.text("ggItyped "); e.keys("Escape") },
			save:    func(e *edit) { e.text(":w"); e.keys("Enter") },
			warning: "changed since reading it",
			insist:  func(e *edit) { e.text("y") },
			close:   func(e *edit) { e.text(":q!"); e.keys("Enter") },
		},
		{
			name: "emacs", sign: "Emacs", needs: []string{"emacs", "tmux"}, command: "emacs -nw -q",
			typed:   func(e *edit) { e.text("typed ") },
			save:    func(e *edit) { e.keys("C-x", "C-s") },
			warning: "changed since visited or saved",
			insist:  func(e *edit) { e.text("yes"); e.keys("Enter") },
			close:   func(e *edit) { e.keys("C-x", "C-c") },
		},
	} {
		t.Run(editor.name, func(t *testing.T) {
			t.Parallel()
			needs(t, editor.needs...)
			const path = "2026-02-04/cli.md"
			l := newLive(t, t.TempDir(), "")
			l.write(path, "- quince\n- medlar\n")
			l.start()
			e := &edit{live: l, path: l.path(path)}
			e.open(editor.command, "quince")
			editor.typed(e)
			e.screen.wait("typed - quince")

			// With a writer that need not wait for anything else.
			journal, err := vault.OpenJournal(filepath.Join(t.TempDir(), "journal"), 0)
			if err != nil {
				t.Fatal(err)
			}
			w := &vault.Writer{Vault: &vault.Vault{Dir: l.root}, Journal: journal, Quiet: -1}
			var wait *vault.WaitError
			if _, err := w.Write(t.Context(), vault.Change{Path: path, Edit: func(f *vault.File) ([]byte, error) {
				return append(f.Data, "- unasked\n"...), nil
			}}); !errors.As(err, &wait) || !strings.Contains(wait.Reason, editor.sign) {
				t.Errorf("unasked: %v", err)
			}
			if err := l.ask("edit", owner.with(fields{"path": path, "old_text": "medlar", "new_text": "rowan"}), new(ipc.EditAnswer)); err != nil {
				t.Error(err)
			}
			if data, err := os.ReadFile(e.path); err != nil || string(data) != "- quince\n- rowan\n" {
				t.Errorf("%q, %v", data, err)
			}
			editor.save(e)
			e.screen.wait(editor.warning)
			editor.insist(e)
			e.new = "typed - quince\n- medlar\n"
			e.saved()
			editor.close(e)
			e.screen.end()
			e.until("nothing of ours is left", func() bool {
				ours, err := filepath.Glob(filepath.Dir(e.path) + "/.memwatchd*")
				kept, failed := filepath.Glob(filepath.Dir(e.path) + "/*.kept-*")
				return err == nil && failed == nil && len(ours)+len(kept) == 0
			})
			l.sync()
		})
	}
}
