package ops

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/fakes/statetest"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// list lists the entries with a text that can be removed.
func (d *testMemory) list(t *testing.T, by api.Caller, match string) (ids []string, token string) {
	t.Helper()
	a, err := do[api.ForgetAnswer](t, d.memory, by, api.ForgetRequest{Match: match})
	checkError(t, err)
	for _, e := range a.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	return ids, a.Token
}

// forget removes all or the first n entries with a text.
func (d *testMemory) forget(t *testing.T, by api.Caller, match string, n int) (*api.ForgetAnswer, error) {
	t.Helper()
	ids, token := d.list(t, by, match)
	if n >= 0 {
		ids = ids[:n]
	}
	return do[api.ForgetAnswer](t, d.memory, by, api.ForgetRequest{IDs: ids, Token: token})
}

func (d *testMemory) journalContains(t *testing.T, text string) bool {
	t.Helper()
	for _, r := range d.memory.Writer.Journal.List(time.Time{}, "", 0) {
		before, after, err := d.memory.Writer.Journal.Contents(r)
		checkError(t, err)
		if bytes.Contains(before, []byte(text)) || bytes.Contains(after, []byte(text)) {
			return true
		}
	}
	return false
}

// A purger is an Indexer whose Purge fails or whose index is incomplete.
type purger struct {
	Indexer
	err      error
	degraded bool
}

func (p *purger) Purge(context.Context) error { return p.err }

func (p *purger) State() api.IndexStatus { return api.IndexStatus{Degraded: p.degraded} }

// TestForgetJournal checks which changes of others the journal keeps after a removal.
func TestForgetJournal(t *testing.T) {
	const chat, head = "2026-02-04/chat.md", "# Day\n\n- open to all <!-- visibility=public_ok -->\n"
	const gone = "---\nsubject_id: acct:7\nvisibility: private_only\n---\n"
	const plan = "- private plan <!-- visibility=private_only -->\n"
	for name, test := range map[string]struct {
		before, after string // of the file; it is removed if after is empty
		entry         string // of bob
		who           string
		held          bool
	}{
		"a blank line in common":   {head + plan + "\n- more\n", head, "- the tea of bob\n\n  and coffee\n", "bob", true},
		"a short line in common":   {head + plan + "- milk\n", head, "- the tea of bob\n  - milk\n", "bob", true},
		"a removed file of others": {gone + plan + "  and a line of both\n", "", "- the tea of bob\n  and a line of both\n", "bob", true},
		"the same text of others":  {gone + plan + "- the tea of bob\n", "", "- the tea of bob\n", "bob", true},
		"of the owner":             {gone + "- private plan, the tea of bob\n", "", "- the tea of bob\n", "owner", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, map[string]string{chat: test.before, "_longterms/bob/_index.md": "---\nsubject_id: bob\n---\n" + test.entry,
				"MEMORY.md": "- the tea of bob\n"})
			_, err := d.memory.Writer.Write(t.Context(), vault.Change{Path: chat, Cause: "edit", Requested: true,
				Edit: func(*vault.File) ([]byte, error) {
					if test.after == "" {
						return nil, vault.ErrRemove
					}
					return []byte(test.after), nil
				}})
			checkError(t, err)
			a, err := d.forget(t, as(test.who, "private"), "tea of bob", -1)
			if err != nil || len(a.Removed) == 0 || d.journalContains(t, "private plan") != test.held {
				t.Errorf("%+v, %v; in the journal %t", a, err, !test.held)
			}
		})
	}
}

// TestForgetEarlier checks that the owner, and no other caller, can list and remove a text that
// only earlier versions of files have, and that a list has no version whose lines a file has.
func TestForgetEarlier(t *testing.T) {
	key := "ghp_" + "k7Qz0mXw3RtV9bLp2NcJ5sYhF8gDaE4uKoT1"
	d := newDisk(t, map[string]string{"MEMORY.md": "- tea\n- the code is quark " + key + "\n- cups\n", "gone.md": "- quark\n  and quark\n",
		"ours.md": "- quark here <!-- source=cli -->\n",
		"kept.md": "<!-- quark -->\n\n- x\n", "both.md": "- old quark\n- new quark\n"})
	for path, text := range map[string]string{"MEMORY.md": "- tea\n- cups\n", "gone.md": "", "ours.md": "", "kept.md": "<!-- quark -->\n",
		"both.md": "- new quark\n"} {
		_, err := d.memory.Writer.Write(t.Context(), vault.Change{Path: path, Cause: "edit", Requested: true,
			Edit: func(*vault.File) ([]byte, error) {
				if text == "" {
					return nil, vault.ErrRemove
				}
				return []byte(text), nil
			}})
		checkError(t, err)
	}
	checkError(t, d.Sync(t.Context()))
	if ids, _ := d.list(t, as("bob", "private"), "quark"); len(ids) > 0 {
		t.Errorf("bob gets %q", ids)
	}
	if ids, _ := d.list(t, owner, key); len(ids) != 1 {
		t.Errorf("the credential is in %q", ids)
	}
	a, err := do[api.ForgetAnswer](t, d.memory, owner, api.ForgetRequest{Match: "quark"})
	checkError(t, err)
	var list, ids []string
	for _, e := range a.Entries {
		list = append(list, strings.TrimSpace(e.Path+" "+e.What+" "+e.Writer)+" "+e.Marked())
		if e.ID != "" && e.What == "version" {
			ids = append(ids, e.ID)
			path, id, _ := cutVersion(e.ID)
			if r, err := d.memory.Writer.Journal.Get(id); err != nil || r.Path != path || r.Before == "" || !r.Time.Equal(e.Time) {
				t.Errorf("%+v: %+v, %v", e, r, err)
			}
		}
	}
	if got, want := strings.Join(list, "\n"), `both.md entry other - new «quark»
kept.md line <!-- «quark» -->
MEMORY.md version other - the code is «quark» `+string(secrets.Mask([]byte(key)))+`
gone.md version other - «quark»
ours.md version memwatchd - «quark» here <!-- source=cli -->`; got != want {
		t.Errorf("got %s", got)
	}
	if a, err = do[api.ForgetAnswer](t, d.memory, owner, api.ForgetRequest{IDs: ids, Token: a.Token}); err != nil ||
		!slices.Equal(a.Removed, ids) || len(a.Failed) > 0 || a.Problem != "" || d.journalContains(t, "quark") {
		t.Errorf("%+v, %v", a, err)
	}
	d.want(t, "MEMORY.md", "- tea\n- cups\n")
	d.want(t, "both.md", "- new quark\n")
}

// TestForgetWordings checks that no earlier version has anything of an entry with the text,
// also in other words.
func TestForgetWordings(t *testing.T) {
	for name, versions := range map[string][]string{ // of MEMORY.md
		"a line that was edited":        {"- **Clinic**:\n  zorb is where I go\n  gone: quokkaitis\n- kept\n", "- **Clinic**:\n  zorb is where I go\n  it is open\n- kept\n"},
		"a paragraph":                   {"kept\n\nI go to zorb, for what is\ngone\n", "kept\n\nI go to zorb.\n"},
		"a title":                       {"## Clinic\n\n- zorb\n  gone\n\n- kept\n", "## Clinic\n\n- zorb\n\n- kept\n"},
		"an id, without the text":       {"- gone <!-- id=c1 -->\n- kept\n", "- zorb <!-- id=c1 -->\n- kept\n"},
		"a value":                       {"- **Clinic**: zorb, gone <!-- id=c1 -->\n- kept\n", "- **Clinic**: zorb <!-- id=c1 -->\n- kept\n"},
		"a quote":                       {"> zorb said\n> gone\n\nkept\n", "> zorb said\n\nkept\n"},
		"an entry of another place":     {"- kept\n- zorb, once\n  gone\n", "- kept\n- the zorb\n"},
		"an entry that is not there":    {"- kept\n- zorb, once\n  gone\n", "- kept\n"},
		"a text over the end of a line": {"- kept\n- zorb\n  was gone\n", "- kept\n- now zorb\n  was here\n"},
	} {
		t.Run(name, func(t *testing.T) {
			match := "zorb"
			if strings.Contains(name, "over the end") {
				match = "zorb was"
			}
			d := newDisk(t, map[string]string{"MEMORY.md": versions[0]})
			for _, text := range versions[1:] {
				_, err := d.memory.Writer.Write(t.Context(), vault.Change{Path: "MEMORY.md", Cause: "edit", Requested: true,
					Edit: func(*vault.File) ([]byte, error) { return []byte(text), nil }})
				checkError(t, err)
			}
			checkError(t, d.Sync(t.Context()))
			a, err := d.forget(t, owner, match, -1)
			if err != nil || len(a.Removed) == 0 || len(a.Failed) > 0 || a.Problem != "" {
				t.Fatalf("%+v, %v", a, err)
			}
			for _, text := range []string{"gone", "zorb"} {
				if list, err := statetest.FilesContaining(d.journal.Dir, text); err != nil || len(list) > 0 {
					t.Errorf("%s is in %q, %v", text, list, err)
				}
			}
		})
	}
}

// TestForgetInterrupted checks that the journal loses the text before the files do, that
// the next start purges the index if a removal did not, and that nothing is removed if this
// cannot be recorded.
func TestForgetInterrupted(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a secret\n- tea\n"})
	_, err := do[api.EditAnswer](t, d.memory, owner, api.EditRequest{Path: "MEMORY.md", OldText: "a secret", NewText: "the secret"})
	checkError(t, err)
	keeper := &purger{Indexer: d.memory.Indexer, err: errors.New("no room")}
	d.memory.Indexer = keeper
	record := d.memory.ErasureFile
	d.memory.ErasureFile = filepath.Join(d.dir, "MEMORY.md", "forget.json")
	if _, err := d.forget(t, owner, "secret", -1); asError(err).Code != api.Unavailable {
		t.Errorf("without a record: %v", err)
	}
	d.memory.ErasureFile = record
	d.want(t, "MEMORY.md", "- the secret\n- tea\n")
	ids, token := d.list(t, owner, "secret")
	parse := d.memory.Parse
	d.memory.Parse = func(f vault.File) *memory.Document {
		if f.Stamp != (disk.Stamp{}) && strings.Contains(string(f.Data), "secret") && d.journalContains(t, "secret") {
			t.Error("the file changes before the journal")
		}
		return parse(f)
	}
	a, err := do[api.ForgetAnswer](t, d.memory, owner, api.ForgetRequest{IDs: ids, Token: token})
	d.memory.Parse = parse
	if err != nil || !strings.Contains(a.Problem, "no room") || len(a.Removed) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	d.want(t, "MEMORY.md", "- tea\n")
	if err := d.memory.FinishErasures(t.Context()); err == nil {
		t.Error("the index is purged although it cannot be")
	}
	keeper.err = nil
	checkError(t, d.memory.FinishErasures(t.Context()))
	if _, err := os.Stat(record); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of the removal is there: %v", err)
	}
}

// TestForgetProblemOfOthers checks that only the owner sees the reason of a
// failure, which may describe data of other subjects.
func TestForgetProblemOfOthers(t *testing.T) {
	d := newDisk(t, map[string]string{"2026-02-05/cli.md": "- a secret\n- a secret of 42 <!-- written_by=acct:42 -->\n",
		"_longterms/acct_42/_index.md": "---\nsubject_id: acct:42\n---\n- tea\n"})
	d.memory.Indexer = &purger{Indexer: d.memory.Indexer, err: errors.New("read bob/diary.md: no room")}
	for who, told := range map[string]bool{"acct:42": false, "owner": true} {
		a, err := d.forget(t, as(who, "private"), "secret", 1)
		if err != nil || a.Problem == "" || strings.Contains(a.Problem, "diary") != told {
			t.Errorf("%s: %+v, %v", who, a, err)
		}
	}
	a, err := do[api.WipeAnswer](t, d.memory, as("acct:42", "private"), api.WipeRequest{Confirm: "acct:42"})
	if err != nil || a.Problem == "" || strings.Contains(a.Problem, "diary") {
		t.Errorf("wipe: %+v, %v", a, err)
	}
}

// TestForgetNotYet checks that nothing is listed or removed before all files
// are indexed.
func TestForgetNotYet(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a secret\n"})
	ids, token := d.list(t, owner, "secret")
	d.memory.Indexer = &purger{Indexer: d.memory.Indexer, degraded: true}
	d.memory.SyncTimeout = 10 * time.Millisecond
	_, err := do[api.ForgetAnswer](t, d.memory, owner, api.ForgetRequest{Match: "secret"})
	_, removal := do[api.ForgetAnswer](t, d.memory, owner, api.ForgetRequest{IDs: ids, Token: token})
	_, wipe := do[api.WipeAnswer](t, d.memory, as("acct:42", "private"), api.WipeRequest{Confirm: "acct:42"})
	for _, err := range []error{err, removal, wipe} {
		if asError(err).Code != api.Unavailable {
			t.Error(err)
		}
	}
}

// TestForgetChangedJustNow checks that an entry that changes during the request
// stays, even if its id is the same.
func TestForgetChangedJustNow(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a secret <!-- id=s -->\n- tea\n"})
	ids, token := d.list(t, owner, "secret")
	const saved = "- a secret, and more <!-- id=s -->\n- tea\n"
	parse := d.memory.Parse
	d.memory.Parse = func(f vault.File) *memory.Document { // simulates a save between read and write
		d.memory.Parse = parse
		checkError(t, os.WriteFile(filepath.Join(d.dir, "MEMORY.md"), []byte(saved), 0o600))
		return parse(f)
	}
	a, err := do[api.ForgetAnswer](t, d.memory, owner, api.ForgetRequest{IDs: ids, Token: token})
	if err != nil || len(a.Failed) != 1 || !strings.Contains(a.Failed[0].Reason, "has changed") {
		t.Errorf("%+v, %v", a, err)
	}
	d.want(t, "MEMORY.md", saved)
}

// TestForgetUneditable checks that the text in a file that is never changed stays, and that the answer
// says so, why, and what to do.
func TestForgetUneditable(t *testing.T) {
	for text, reason := range map[string]string{
		"- a secret\r- tea\r":                                "line endings LF or CRLF",
		"- tea\n- x\r\n- a secret\r":                         "line endings LF or CRLF",
		"- a secret\n" + strings.Repeat("- ", 120) + "tea\n": "Indent them less",
		"\n---\nsummary: x\n---\n- a secret\n":               "remove the space above it",
		"---\nsummary: [\n---\n- a secret\n":                 "Until the frontmatter is fixed",
	} {
		d := newDisk(t, map[string]string{"MEMORY.md": text, "notes/a.md": "- a secret\n- tea\n"})
		a, err := d.forget(t, owner, "secret", -1)
		if err != nil || len(a.Removed) != 1 || len(a.Failed) != 1 || a.Total != 1 ||
			!strings.Contains(a.Failed[0].Reason, reason) {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
		d.want(t, "MEMORY.md", text)
		d.want(t, "notes/a.md", "- tea\n")
	}
}
