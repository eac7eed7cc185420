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

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// newForgetCase returns a memory on disk and the owner's call.
func newForgetCase(t *testing.T, files map[string]string) (*diskCase, Call) {
	t.Helper()
	archive := &txtar.Archive{}
	for path, text := range files {
		archive.Files = append(archive.Files, txtar.File{Name: path, Data: []byte(text)})
	}
	d := readOpsCase(t, archive).disk(t)
	d.memory.ErasureFile = filepath.Join(t.TempDir(), "forget.json")
	call := d.callAs(t, "owner", "private")
	return d, call
}

// list lists the entries with a text.
func (d *diskCase) list(t *testing.T, c Call, match string) (ids []string, token string) {
	t.Helper()
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{Match: match})
	checkError(t, err)
	for _, e := range a.Entries {
		ids = append(ids, e.ID)
	}
	return ids, a.Token
}

func (d *diskCase) want(t *testing.T, path, text string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(d.dir, path)); err != nil || string(data) != text {
		t.Errorf("%s is %q, %v; want %q", path, data, err, text)
	}
}

func (d *diskCase) journalContains(t *testing.T, text string) bool {
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

// TestForgetInterrupted checks that the journal loses the text before the files do, and that
// the next start purges the index if a removal did not.
func TestForgetInterrupted(t *testing.T) {
	d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- a secret\n- tea\n"})
	if _, err := d.memory.adminOps().edit(t.Context(), c, &api.EditRequest{Path: "MEMORY.md", OldText: "a secret", NewText: "the secret"}); err != nil {
		t.Fatal(err)
	}
	keeper := &purger{Indexer: d.memory.Indexer, err: errors.New("no room")}
	d.memory.Indexer = keeper
	ids, token := d.list(t, c, "secret")
	parse := d.memory.Parse
	d.memory.Parse = func(f vault.File) *memory.Document {
		if d.journalContains(t, "secret") {
			t.Error("the file changes before the journal")
		}
		return parse(f)
	}
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
	d.memory.Parse = parse
	if err != nil || !strings.Contains(a.Problem, "no room") || len(a.Removed) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	d.want(t, "MEMORY.md", "- tea\n")
	if err := d.memory.FinishErasures(t.Context()); err == nil {
		t.Error("the index is purged although it cannot be")
	}
	keeper.err = nil
	if err := d.memory.FinishErasures(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.memory.ErasureFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of the removal is there: %v", err)
	}
}

// TestForgetProblemOfOthers checks that only the owner sees the reason of a
// failure, which may describe data of other subjects.
func TestForgetProblemOfOthers(t *testing.T) {
	for who, told := range map[string]bool{"owner": true, "acct:42": false} {
		d, _ := newForgetCase(t, map[string]string{"2026-02-05/cli.md": "- a secret\n"})
		d.memory.Indexer = &purger{Indexer: d.memory.Indexer, err: errors.New("read bob/diary.md: no room")}
		c := d.callAs(t, who, "private")
		ids, token := d.list(t, c, "secret")
		a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
		if err != nil || a.Problem == "" || strings.Contains(a.Problem, "diary") != told {
			t.Errorf("%s: %+v, %v", who, a, err)
		}
	}
	d, _ := newForgetCase(t, map[string]string{"_longterms/acct_42/_index.md": "---\nsubject_id: acct:42\n---\n- tea\n"})
	d.memory.Indexer = &purger{Indexer: d.memory.Indexer, err: errors.New("read bob/diary.md: no room")}
	c := d.fixedCall(t, "helper", "acct:42", "private")
	a, err := d.memory.adminOps().wipeSubject(t.Context(), c, &api.WipeRequest{Confirm: "acct:42"})
	if err != nil || a.Problem == "" || strings.Contains(a.Problem, "diary") {
		t.Errorf("wipe: %+v, %v", a, err)
	}
}

// TestForgetLeavesUnchosen checks that only the chosen entries are
// removed from a copy kept beside a file, unless every entry with the text was
// chosen.
func TestForgetLeavesUnchosen(t *testing.T) {
	const kept = "MEMORY.conflict-copy-0abc0000.md"
	for _, test := range []struct {
		chosen int
		want   string
	}{{1, "- the secret of cups\n- coffee\n"}, {2, "- coffee\n"}} {
		d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- the secret of tea\n- my secret\n- tea\n"})
		checkError(t, os.WriteFile(filepath.Join(d.dir, kept), []byte("- the secret of tea\n- the secret of cups\n- coffee\n"), 0o600))
		ids, token := d.list(t, c, "secret")
		a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids[:test.chosen], Token: token})
		if err != nil || len(a.Removed) != test.chosen || len(a.Failed) > 0 {
			t.Errorf("%+v, %v", a, err)
		}
		d.want(t, kept, test.want)
	}
}

// TestForgetLines checks that only the lines with a text are removed from the versions of a file
// beside it.
func TestForgetLines(t *testing.T) {
	const kept = "people.conflict-copy-0abc0000.md"
	d, c := newForgetCase(t, map[string]string{"people.md": "Ann: secret\nBob: 2\nCarl: another secret\n"})
	checkError(t, os.WriteFile(filepath.Join(d.dir, kept), []byte("Ann: secret\nBob: 3\nCarl: another secret\n"), 0o600))
	ids, token := d.list(t, c, "secret")
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids[:1], Token: token})
	if err != nil || len(ids) != 2 || !slices.Equal(a.Removed, ids[:1]) || a.Total != 1 {
		t.Errorf("%q, %+v, %v", ids, a, err)
	}
	d.want(t, "people.md", "Bob: 2\nCarl: another secret\n")
	d.want(t, kept, "Bob: 3\nCarl: another secret\n")
}

// TestWipeLeavesLinksOfOthers checks that a wipe erases exactly the links of its
// subject from the journal.
func TestWipeLeavesLinksOfOthers(t *testing.T) {
	for _, test := range []struct {
		subject, key, account string
		erased                bool
	}{
		{"acct:4", "telegram:1", "acct:4", true},
		{"acct:4", "telegram:1", "acct:42", false},
		{"cct:4", "telegram:1", "acct:4", false},
		{"ext:telegram:1", "telegram:1", "acct:4", true},
		{"ext:telegram:1", "telegram:12", "acct:4", false},
	} {
		d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- x\n"})
		if _, err := d.memory.adminOps().link(t.Context(), c, &api.LinkRequest{ExternalKey: test.key, Subject: test.account}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.memory.adminOps().wipeSubject(t.Context(), d.callAs(t, test.subject, "private"), &api.WipeRequest{Confirm: test.subject}); err != nil {
			t.Fatal(err)
		}
		if erased := !d.journalContains(t, test.account); erased != test.erased {
			t.Errorf("wipe of %s: the link of %s to %s is erased: %t", test.subject, test.key, test.account, erased)
		}
	}
}

// TestForgetWithoutNote checks that an erasure that cannot be recorded does not
// start.
func TestForgetWithoutNote(t *testing.T) {
	d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- a secret\n- tea\n"})
	ids, token := d.list(t, c, "secret")
	d.memory.ErasureFile = filepath.Join(d.dir, "MEMORY.md", "forget.json")
	_, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Unavailable {
		t.Errorf("%v", err)
	}
	d.want(t, "MEMORY.md", "- a secret\n- tea\n")
}

// TestForgetCredential checks that a caller who knows a credential can have the
// credential erased, although it is never shown.
func TestForgetCredential(t *testing.T) {
	key := "ghp_" + "k7Qz0mXw3RtV9bLp2NcJ5sYhF8gDaE4uKoT1"
	d, c := newForgetCase(t, map[string]string{"MEMORY.md": "---\nsummary: my key is " + key + "\n---\n- the key: " + key + "\n\n<!-- " + key + " -->\n\n- tea\n"})
	d.memory.Layout.Mask = secrets.Mask
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{Match: key})
	if err != nil || a.Total != 3 {
		t.Fatalf("%+v, %v", a, err)
	}
	if said, err := api.EncodeJSON(redactValue(a)); err != nil || bytes.Contains(said, []byte(key)) {
		t.Errorf("it is shown: %s, %v", said, err)
	}
	var ids []string
	for _, e := range a.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	a, err = d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: a.Token})
	if err != nil || len(a.Removed) != 2 || a.Total != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	d.want(t, "MEMORY.md", "---\nsummary: \"\"\n---\n\n<!-- "+key+" -->\n\n- tea\n")
}

// TestForgetLists checks that lists expire and that their number is bounded for
// each subject.
func TestForgetLists(t *testing.T) {
	d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- a secret\n"})
	now := d.memory.Now()
	d.memory.Now = func() time.Time { return now }
	ids, token := d.list(t, c, "secret")
	now = now.Add(listLifetime + time.Second)
	if _, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token}); asError(err).Code != api.Conflict {
		t.Errorf("a list that is old: %v", err)
	}
	_, token = d.list(t, c, "secret")
	for n := range maxForgetLists + 1 {
		now = now.Add(time.Millisecond)
		d.list(t, d.callAs(t, "bob", "private"), strings.Repeat("x", n+1))
	}
	if _, err := d.memory.forgetLists.findList(c, token, now); err != nil {
		t.Errorf("a list after too many lists of another subject: %v", err)
	}
	for n := range maxForgetLists {
		now = now.Add(time.Millisecond)
		d.list(t, c, strings.Repeat("x", n+1))
	}
	for subject, lists := range d.memory.forgetLists.lists {
		if len(lists) > maxForgetLists {
			t.Errorf("%d lists of %s are remembered", len(lists), subject)
		}
	}
	if _, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token}); asError(err).Code != api.Conflict {
		t.Errorf("one of too many lists: %v", err)
	}
}

// TestForgetNotYet checks that nothing is listed or removed before all files
// are indexed.
func TestForgetNotYet(t *testing.T) {
	d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- a secret\n"})
	ids, token := d.list(t, c, "secret")
	d.memory.Indexer = &purger{Indexer: d.memory.Indexer, degraded: true}
	d.memory.SyncTimeout = 10 * time.Millisecond
	for _, r := range []*api.ForgetRequest{{Match: "secret"}, {IDs: ids, Token: token}} {
		if _, err := d.memory.adminOps().forget(t.Context(), c, r); asError(err).Code != api.Unavailable {
			t.Errorf("%+v: %v", r, err)
		}
	}
	c = d.callAs(t, "acct:42", "private")
	if _, err := d.memory.adminOps().wipeSubject(t.Context(), c, &api.WipeRequest{Confirm: "acct:42"}); asError(err).Code != api.Unavailable {
		t.Errorf("wiped: %v", err)
	}
}

// TestForgetChangedJustNow checks that an entry that changes during the request
// stays, even if its id is the same.
func TestForgetChangedJustNow(t *testing.T) {
	d, c := newForgetCase(t, map[string]string{"MEMORY.md": "- a secret <!-- id=s -->\n- tea\n"})
	ids, token := d.list(t, c, "secret")
	path := filepath.Join(d.dir, "MEMORY.md")
	parse := d.memory.Parse
	d.memory.Parse = func(f vault.File) *memory.Document { // simulates a save between read and write
		d.memory.Parse = parse
		if err := os.WriteFile(path, []byte("- a secret, and more <!-- id=s -->\n- tea\n"), 0o600); err != nil {
			t.Error(err)
		}
		return parse(f)
	}
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
	if err != nil || len(a.Failed) != 1 || !strings.Contains(a.Failed[0].Reason, "has changed") {
		t.Errorf("%+v, %v", a, err)
	}
	d.want(t, "MEMORY.md", "- a secret, and more <!-- id=s -->\n- tea\n")
}

// TestForgetLeavesGoneFilesOfOthers checks that other subjects' text in a
// deleted file stays in the journal, where they can undo the deletion. The
// owner erases that text too, because the owner's memory is the whole root.
func TestForgetLeavesGoneFilesOfOthers(t *testing.T) {
	const path = "2026-02-04/seven.md"
	for _, test := range []struct {
		who  string
		held bool
	}{{"acct:42", true}, {"owner", false}} {
		d, _ := newForgetCase(t, map[string]string{
			"_longterms/acct_42/_index.md": "- my secret place\n",
			"_longterms/owner/_index.md":   "- my secret place\n",
			path:                           "---\nsubject_id: acct:7\nvisibility: private_only\n---\n- a secret of seven\n",
		})
		_, err := d.memory.Writer.Write(t.Context(), vault.Change{Path: path, Cause: "edit", Requested: true, Edit: func(*vault.File) ([]byte, error) {
			return []byte("---\nsubject_id: acct:7\nvisibility: private_only\n---\n"), nil
		}})
		if err != nil || !d.journalContains(t, "secret of seven") {
			t.Fatal(err)
		}
		checkError(t, os.Remove(filepath.Join(d.dir, path)))
		c := d.callAs(t, test.who, "private")
		ids, token := d.list(t, c, "secret")
		a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
		if err != nil || len(a.Removed) != len(ids) || len(ids) == 0 {
			t.Fatalf("%s: %+v, %v", test.who, a, err)
		}
		if held := d.journalContains(t, "secret of seven"); held != test.held {
			t.Errorf("%s forgets: the journal has what another one said: %v", test.who, held)
		}
	}
}

// TestForgetLeavesJournalOfOthers checks that changes of other subjects can
// still be undone if they share only a blank or a short line with a removed
// entry, or if their file is gone.
func TestForgetLeavesJournalOfOthers(t *testing.T) {
	for _, test := range []struct {
		name, owner, entry, theirs string
		gone                       bool
	}{
		{"blank line", "owner", "- the tea of bob\n\n  and coffee\n", "- private plan <!-- visibility=private_only -->\n\n- more\n", false},
		{"short line", "owner", "- the tea of bob\n  - milk\n", "- private plan <!-- visibility=private_only -->\n- milk\n", false},
		{"gone file", "alice", "- the tea of bob\n  and a line of both\n", "- private plan <!-- visibility=private_only -->\n  and a line of both\n", true},
	} {
		const path = "2026-02-04/chat.md"
		head := "# Day\n\n- open to all <!-- visibility=public_ok -->\n"
		if test.gone {
			head = "---\nsubject_id: " + test.owner + "\nvisibility: private_only\n---\n"
		}
		d, _ := newForgetCase(t, map[string]string{
			path:                       head + test.theirs,
			"_longterms/bob/_index.md": "---\nsubject_id: bob\n---\n" + test.entry,
		})
		_, err := d.memory.Writer.Write(t.Context(), vault.Change{Path: path, Cause: "edit", Requested: true, Edit: func(*vault.File) ([]byte, error) {
			if test.gone {
				return nil, vault.ErrRemove
			}
			return []byte(head), nil
		}})
		if err != nil || !d.journalContains(t, "private plan") {
			t.Fatal(err)
		}
		c := d.callAs(t, "bob", "private")
		ids, token := d.list(t, c, "tea of bob")
		a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
		if err != nil || len(a.Removed) != 1 {
			t.Fatalf("%s: %+v, %v", test.name, a, err)
		}
		if !d.journalContains(t, "private plan") {
			t.Errorf("%s: bob erased the change from the journal", test.name)
		}
	}
}

// TestForgetBesideOthers checks that a caller is shown its own text in a file with text
// that it cannot read, and cannot remove it.
func TestForgetBesideOthers(t *testing.T) {
	const path, before = "2026-02-05/cli.md", "- theirs: 555 <!-- visibility=private_only -->\n- ours: 555 <!-- written_by=bob -->\n"
	d, _ := newForgetCase(t, map[string]string{path: before})
	c := d.callAs(t, "bob", "private")
	l, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{Match: "555"})
	if err != nil || len(l.Entries) != 1 || l.Entries[0].ID != "" || l.Entries[0].Line != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{Token: l.Token})
	if err != nil || len(a.Removed) > 0 || a.Total != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	d.want(t, path, before)
}
