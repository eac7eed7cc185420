package ops

import (
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault"
)

// TestPrograms checks that the journal names the program of a change, that a caller
// with a fixed scope cannot pass for another program, and that mine selects the
// changes of the same program and session only.
func TestPrograms(t *testing.T) {
	d, _ := newForgetCase(t, map[string]string{"memory/2026-02-05.md": "# 2026-02-05\n"})
	d.memory.Undoer = &vault.Undoer{Writer: d.memory.Writer}
	note := func(by api.Caller, text string) {
		t.Helper()
		if _, err := d.memory.Do(t.Context(), by, api.RequestOf(api.NoteRequest{Text: text})); err != nil {
			t.Fatal(err)
		}
	}
	mine := api.Program{Name: "cli", Session: "1"}
	owner := api.Caller{AsOwner: true, Program: mine}
	note(owner, "a note of this terminal")
	note(api.Caller{AsOwner: true, Program: api.Program{Name: "cli", Session: "2"}}, "a note of another terminal")
	note(api.Caller{Program: mine, Fixed: &api.Fixed{Name: "bot", Subject: "acct:42", Context: "private"}}, "a note of a bot")
	list := func(by api.Caller, r api.JournalRequest) (writes []api.WriteRecord) {
		t.Helper()
		r.Limit = 3
		answer, err := d.memory.Do(t.Context(), by, api.RequestOf(r))
		checkError(t, err)
		return answer.(*api.JournalAnswer).Writes
	}
	for i, want := range []api.Program{{Name: "bot"}, {Name: "cli", Session: "2"}, mine} {
		if w := list(owner, api.JournalRequest{})[i]; (api.Program{Name: w.Program, Session: w.Session}) != want {
			t.Errorf("change %d is by %s %s, want %v", i, w.Program, w.Session, want)
		}
	}
	if got := list(owner, api.JournalRequest{Mine: true}); len(got) != 1 || got[0].Session != "1" {
		t.Errorf("changes of this terminal: %v", got)
	}
	for _, by := range []api.Caller{{AsOwner: true}, {AsOwner: true, Program: api.Program{Name: "cli"}}} {
		_, err := d.memory.Do(t.Context(), by, api.RequestOf(api.JournalRequest{Mine: true}))
		if asError(err).Code != api.Invalid {
			t.Errorf("%v: got %v", by.Program, err)
		}
	}
	answer, err := d.memory.Do(t.Context(), owner, api.RequestOf(api.UndoRequest{Since: "1h", Mine: true, DryRun: true}))
	checkError(t, err)
	for _, u := range answer.(*api.UndoAnswer).Undone {
		if u.Session != "1" {
			t.Errorf("undo selects a change of %s %s", u.Program, u.Session)
		}
	}
}
