package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

const ownersSession = "---\nsession_id: s1\nsummary: Planned the move\nchannel: chat\ntasks: \"0/1\"\n---\n\n# 2026-02-05 Short-Term Memory\n\n" +
	"## Temporary Facts\n- **Door code**: 1234\n\n## Tasks\n- [ ] Book a van\n"

// fixedCall returns a call over a listener with a fixed scope.
func (d *diskCase) fixedCall(t *testing.T, listener, subject, context string) Call {
	t.Helper()
	c, err := d.memory.readOps().resolveCall(api.Caller{Fixed: &api.Fixed{Name: listener, Subject: subject, Context: context}})
	checkError(t, err)
	return c
}

// hostile is a draft that tries to replace everything in ownersSession.
var hostile = api.Draft{
	Summary: "Nothing to see", Source: "owner", Channel: "mail", ContactID: "c9", ContactNickname: "Eve",
	Facts: []api.DraftItem{{Title: "Door code", Text: "9999"}},
	Tasks: []api.DraftTask{{Text: "Book a van", Done: true}},
}

// TestPublicAddsOnly checks that callers in public, or of another subject, can
// add to a memory but change nothing in it that they did not write.
func TestPublicAddsOnly(t *testing.T) {
	const session, facts, log = "memory/2026-02-05/s1.md", "_longterms/owner/fact.md", "memory/2026-02-05.md"
	files := []txtar.File{
		{Name: session, Data: []byte(ownersSession)},
		{Name: facts, Data: []byte("- **tea**: green <!-- id=k1 visibility=public_ok -->\n")},
		{Name: log, Data: []byte("# 2026-02-05\n\n## 10:00 AM - Plan\n- [ ] Book a van\n")},
	}
	for _, who := range []struct{ listener, subject, context string }{
		{"groupbot", "owner", "public"}, {"", "owner", "public"}, {"groupbot", "acct:42", "public"}, {"helper", "acct:42", "private"},
	} {
		t.Run(who.listener+" "+who.subject+" "+who.context, func(t *testing.T) {
			d := readOpsCase(t, &txtar.Archive{Comment: []byte("quiet: none\n"), Files: files}).disk(t)
			call := func() Call {
				if who.listener == "" {
					return d.callAs(t, who.subject, who.context)
				}
				return d.fixedCall(t, who.listener, who.subject, who.context)
			}
			ctx := t.Context()
			a, err := d.memory.adminOps().session(ctx, call(), &api.SessionRequest{Session: "s1", Day: "2026-02-05", Draft: hostile})
			shared := who.listener == "" // a program of the owner: the session has one file
			if err != nil || len(a.Added) != 2 || (a.Path == session) != shared {
				t.Fatalf("the draft: %+v, %v", a, err)
			}
			if len(a.Todos) > 0 {
				t.Errorf("it ticked %+v", a.Todos)
			}
			// A second draft changes what the first one wrote.
			again := hostile
			again.Facts = []api.DraftItem{{Title: "Door code", Text: "8888"}}
			if b, err := d.memory.adminOps().session(ctx, call(), &api.SessionRequest{Session: "s1", Day: "2026-02-05", Draft: again}); err != nil || b.Path != a.Path || len(b.Updated) != 1 {
				t.Errorf("the second draft: %+v, %v", b, err)
			}
			put, err := d.memory.adminOps().itemPut(ctx, call(), &api.ItemPutRequest{Namespace: "fact", Key: "tea", Value: new("black"), Visibility: "public_ok"})
			if err != nil || put.Item.Value != "black" {
				t.Errorf("the item: %+v, %v", put, err)
			}
			for name, err := range map[string]error{
				"todo":  second(d.memory.adminOps().todo(ctx, call(), &api.TodoRequest{Text: "Book a van", State: "done", Session: "s1"})),
				"edit":  second(d.memory.adminOps().edit(ctx, call(), &api.EditRequest{Path: session, OldText: "1234", NewText: "9999"})),
				"write": second(d.memory.adminOps().write(ctx, call(), &api.WriteRequest{Path: "notes/new.md", Text: "mine\n"})),
			} {
				if code := asError(err).Code; code != api.Forbidden && code != api.Conflict && code != api.NotFound {
					t.Errorf("%s: %v", name, err)
				}
			}
			if who.context == "private" {
				l, err := d.memory.adminOps().forget(ctx, call(), &api.ForgetRequest{Match: "1234"})
				if err != nil || len(l.Entries) > 0 {
					t.Errorf("forget lists %+v, %v", l, err)
				}
			}
			if !shared {
				d.want(t, session, ownersSession)
			}
			for _, line := range []string{"summary: Planned the move\n", "channel: chat\n", "- **Door code**: 1234\n", "- [ ] Book a van\n"} {
				if got := d.read(t, session); !strings.Contains(got, line) {
					t.Errorf("%q was changed:\n%s", line, got)
				}
			}
			d.want(t, log, string(files[2].Data))
			if got := d.read(t, facts); !strings.Contains(got, string(files[1].Data)) {
				t.Errorf("the owner's item was changed:\n%s", got)
			}
			item, err := d.memory.adminOps().itemGet(ctx, d.callAs(t, "owner", "private"), &api.ItemGetRequest{Namespace: "fact", Key: "tea"})
			if err != nil || item.Item.Value != "green" {
				t.Errorf("the owner's item is %+v, %v", item, err)
			}
			if !shared {
				d.memory.Todos.Request(ctx) // the completion by another author is no completion of the owner's task
				d.want(t, session, ownersSession)
				d.marked(t, a.Path, who.context)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// marked checks that the owner's view of a file marks its entries as untrusted.
func (d *diskCase) marked(t *testing.T, path, context string) {
	t.Helper()
	doc, err := d.Load(path)
	checkError(t, err)
	for i := range doc.Entries {
		if e := &doc.Entries[i]; !e.Author().Untrusted(memory.View{}) {
			t.Errorf("%s:%d is not marked as untrusted: %s", path, e.Line, e.Text)
		}
	}
	if !doc.Front.Author().Untrusted(memory.View{}) {
		t.Errorf("the summary of %s is not marked as untrusted", path)
	}
}

// TestForgetOwnTextOnly checks that forgetting in a shared file removes the
// caller's text from the file, the journal and saved copies, and leaves the same
// words of the owner everywhere.
func TestForgetOwnTextOnly(t *testing.T) {
	const path, quark = "2026-02-05/cli.md", "zyzzyvaquark"
	const mine, owners = "- by 42: the word is " + quark + " <!-- written_by=acct:42 -->\n", "- the owner's: " + quark + " is the word\n"
	const rest = "- 1\n- 2\n- 3\n- 4\n- 5\n- 6\n- 7\n- 8\n"
	d, _ := newForgetCase(t, map[string]string{path: mine + rest + "- the owner's\n"})
	edit := func(subject, from, to string) {
		t.Helper()
		call := d.callAs(t, subject, "private")
		if _, err := d.memory.adminOps().edit(t.Context(), call, &api.EditRequest{Path: path, OldText: from, NewText: to}); err != nil {
			t.Fatal(err)
		}
	}
	edit("owner", "- the owner's\n", owners)
	saved := filepath.Join(d.dir, "2026-02-05", "cli.conflict-copy-0hxj0001.md")
	checkError(t, os.WriteFile(saved, []byte(mine+rest+owners), 0o600))
	c := d.callAs(t, "acct:42", "private")
	ids, token := d.list(t, c, quark)
	if len(ids) != 1 {
		t.Fatalf("the list has %q", ids)
	}
	a, err := d.memory.adminOps().forget(t.Context(), c, &api.ForgetRequest{IDs: ids, Token: token})
	if err != nil || len(a.Removed) != 1 || len(a.Failed) > 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	d.want(t, path, rest+owners)
	if data, err := os.ReadFile(saved); err != nil || string(data) != rest+owners {
		t.Errorf("the saved copy is %q, %v", data, err)
	}
	if !d.journalContains(t, "the owner's: "+quark) {
		t.Error("the owner's change was removed from the journal")
	}
}

// TestSessionIsNotTaken checks that a caller in public cannot make another
// caller's draft go to its file by using the id of that caller's session.
func TestSessionIsNotTaken(t *testing.T) {
	session := lookUp(t, "session")
	for name, files := range map[string][]*testFile{
		"a new session": nil,
		"a private one": {{path: "memory/2026-02-05/s1.md", front: []string{"session_id: s1", "visibility: private_only"}}},
		"one elsewhere": {{path: "memory/2026-02-05/talk.md", front: []string{"session_id: s1", "visibility: private_only"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTestMemory(t, files, nil)
			draft := func(fixed *api.Fixed, scope, title, text string) string {
				answer, failure := g.runRequest(t, fixed, session, `{"session": "s1", "draft": {"summary": "About `+title+`", "facts": [{"title": "`+title+`", "text": "`+text+`"}]}`+scope+`}`)
				if failure != nil {
					t.Fatal(failure)
				}
				g.isInitial = false
				return decodeAnswer[api.SessionAnswer](answer).Path
			}
			theirs := draft(&api.Fixed{Name: "groupbot", Subject: "acct:42", Context: "public"}, "", "Tea", "green")
			own := draft(nil, `, "subject": "owner", "context": "private"`, "Door code", "1234")
			want := "memory/2026-02-05/s1.md"
			if len(files) > 0 {
				want = files[0].path
			}
			if own != want {
				t.Errorf("the owner's draft goes to %s instead of %s; the other caller's file is %s", own, want, theirs)
			}
			if got := g.files(t)[theirs]; strings.Contains(got, "1234") {
				t.Errorf("the other caller's file contains it:\n%s", got)
			}
		})
	}
}
