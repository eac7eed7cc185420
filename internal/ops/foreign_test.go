package ops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestForeignWrites checks that a private text, whoever writes it, has no effect on what
// those read who may not read it. The same memory gets one text, or two others by the
// same requests; every answer to the other callers must be byte for byte the same.
func TestForeignWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	var compared atomic.Int64
	t.Run("memories", func(t *testing.T) {
		for n := range 15 {
			t.Run(fmt.Sprint(*testMemorySeed+uint64(n)), func(t *testing.T) {
				t.Parallel()
				w := &randomSource{rand.New(rand.NewPCG(*testMemorySeed+uint64(n), 11))}
				leaves := w.randomFiles()
				one, two := newTestMemory(t, leaves, nil), newTestMemory(t, leaves, nil)
				for range 10 {
					w.writePrivately(t, one, two)
					readable := map[int]map[string]string{}
					for range 14 {
						w.compareRead(t, one, two, readable)
						compared.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d answers compared", compared.Load())
}

// writePrivately writes a private text to one memory, and two others to the other one.
func (w *randomSource) writePrivately(t *testing.T, one, two *testMemory) {
	t.Helper()
	writers := []struct {
		fixed *api.Fixed
		scope fields
	}{
		{&api.Fixed{Name: "helper", Subject: "acct:42", Context: "private"}, nil}, {&api.Fixed{Name: "groupbot", Subject: "acct:42", Context: "public"}, nil},
		{&api.Fixed{Name: "groupbot", Subject: "owner", Context: "public"}, nil}, {nil, fields{"subject": "acct:42", "context": "public"}},
		{nil, fields{"subject": "owner", "context": "public"}}, {nil, fields{"subject": "acct:42", "context": "private"}},
	}
	writer := writers[w.IntN(len(writers))]
	private := writer.fixed != nil && writer.fixed.Context == "private" || writer.scope["context"] == "private"
	name, session, namespace, day := w.pickOne("note", "capture", "todo_add", "item_put", "session"), w.pickOne("fresh", "sid0"), w.pickOne(memory.Namespaces()...), w.pickOne("", "2026-02-04")
	if name == "session" && !private {
		name = "note" // sessions of a public context are public
	}
	op := lookUp(t, name)
	send := func(g *testMemory, text string) {
		t.Helper()
		request := map[string]fields{
			"note": {"text": text, "topic": text, "day": day, "tags": []string{"tea"}}, "capture": {"bullets": []string{text}, "session": session},
			"todo_add": {"text": text}, "item_put": {"namespace": namespace, "key": text, "value": text},
			"session": {"session": session, "day": day, "draft": fields{"visibility": "private_only", "summary": text, "facts": []fields{{"text": text}}, "tasks": []fields{{"text": text}}}},
		}[name]
		for key, value := range writer.scope {
			request[key] = value
		}
		g.startWriter(t)
		if answer, failure := g.runRequest(t, writer.fixed, op, encodeRequest(t, request)); failure != nil {
			t.Fatalf("%s: %s", name, answer)
		}
	}
	send(one, "tea is green "+w.word())
	send(two, "the wifi "+w.word()+" of coffee #tea")
	send(two, "喝茶 SOUL.md "+w.word()+" twice")
}

// compareRead sends a read request of a caller that may not read private text of acct:42
// and the owner to both memories. It compares what each reader can read once.
func (w *randomSource) compareRead(t *testing.T, one, two *testMemory, readable map[int]map[string]string) {
	t.Helper()
	readers := []struct {
		fixed *api.Fixed
		scope fields
	}{
		{&api.Fixed{Name: "groupbot", Subject: "acct:42", Context: "public"}, nil}, {&api.Fixed{Name: "other", Subject: "bob", Context: "private"}, nil},
		{nil, fields{"subject": "acct:42", "context": "public"}}, {nil, fields{"subject": "owner", "context": "public"}},
		{nil, fields{"subject": "bob", "context": "private"}}, {nil, fields{"subject": "", "context": "public"}},
	}
	n := w.IntN(len(readers))
	reader := readers[n]
	subject, _ := reader.scope["subject"].(string)
	private := reader.scope["context"] == "private"
	if reader.fixed != nil {
		subject, private = reader.fixed.Subject, reader.fixed.Context == "private"
	}
	scope := memory.Scope{Subject: subject, Context: memory.Public}
	if private {
		scope.Context = memory.Private
	}
	if readable[n] == nil {
		readable[n] = one.readable(t, scope)
		if diff := cmp.Diff(readable[n], two.readable(t, scope)); diff != "" {
			t.Fatalf("what %q can read differs:\n%s", subject, diff)
		}
	}
	for {
		name, request := w.request(readable[n])
		op := lookUp(t, name)
		if !op.ReadOnly {
			continue
		}
		for key, value := range reader.scope {
			request[key] = value
		}
		text := encodeRequest(t, request)
		a, _ := one.runRequest(t, reader.fixed, op, text)
		if b, _ := two.runRequest(t, reader.fixed, op, text); a != b {
			t.Fatalf("%q: %s %s:\n%s", subject, name, text, cmp.Diff(a, b))
		}
		return
	}
}

// TestInboxEscapes checks that a guest can neither read nor change a file outside its
// inbox by the name of a path, and that a link in place of its inbox is not followed.
func TestInboxEscapes(t *testing.T) {
	const own, theirs = "inbox/groupbot.acct_42", "inbox/other.acct_42/2026-02-05/s.md"
	files := []txtar.File{
		{Name: "MEMORY.md", Data: []byte("- owner's\n")}, {Name: theirs, Data: []byte("---\nvisibility: public_ok\n---\n- theirs\n")},
		{Name: "inbox/groupbot.acct_42x/fact.md", Data: []byte("---\nsubject_id: acct:42\nvisibility: public_ok\n---\n- **a**: b <!-- id=k1 -->\n")},
		{Name: own + "/notes.md", Data: []byte("---\nsubject_id: acct:42\nvisibility: public_ok\n---\n- mine\n")},
	}
	d := readOpsCase(t, &txtar.Archive{Comment: []byte("quiet: none\n"), Files: files}).disk(t)
	c := d.fixedCall(t, "groupbot", "acct:42", "public")
	m, ctx := d.memory.adminOps(), t.Context()
	for _, path := range []string{
		own + "/../../MEMORY.md", own + "/../other.acct_42/2026-02-05/s.md", "inbox//groupbot.acct_42/new.md", "/" + own + "/new.md", "./" + own + "/new.md",
		"Inbox/groupbot.acct_42/new.md", "inbox/GROUPBOT.acct_42/new.md", "inbox/groupbot.acct_42\u200b/new.md", "inbox/groupbot.acct_42x/new.md", own + ".md", "inbox/ｇroupbot.acct_42/new.md",
		theirs, "inbox/groupbot.acct_42x/fact.md", "MEMORY.md", "inbox/new.md", own + "\\..\\..\\new.md", own + "/%2e%2e/%2e%2e/new.md\x00",
	} {
		text := "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n- mine\n"
		if _, err := m.write(ctx, c, &api.WriteRequest{Path: path, Text: text}); err == nil {
			t.Errorf("%q was created", path)
		}
		for _, old := range []string{"owner's", "theirs", "**a**: b"} {
			if _, err := m.edit(ctx, c, &api.EditRequest{Path: path, OldText: old, NewText: "x"}); err == nil {
				t.Errorf("%q was edited", path)
			}
		}
	}
	for name, text := range map[string]string{
		"private":        "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n- a <!-- visibility=private_only -->\n",
		"another's":      "---\nsubject_id: bob\nvisibility: public_ok\n---\n- a\n",
		"without reader": "- a\n",
	} {
		if _, err := m.write(ctx, c, &api.WriteRequest{Path: own + "/new.md", Text: text}); err == nil {
			t.Errorf("a text is written that is %s", name)
		}
		known, err := d.memory.readOps().get(ctx, c, &api.GetRequest{Path: own + "/notes.md", From: 1})
		checkError(t, err)
		if _, err := m.write(ctx, c, &api.WriteRequest{Path: own + "/notes.md", Text: text, Hash: known.Hash}); err == nil {
			t.Errorf("a text is replaced by one that is %s", name)
		}
	}
	for _, f := range files {
		d.want(t, f.Name, string(f.Data))
	}
	if _, err := m.edit(ctx, c, &api.EditRequest{Path: own + "/notes.md", OldText: "mine", NewText: "ours"}); err != nil {
		t.Errorf("in the own inbox: %v", err)
	}

	outside := t.TempDir()
	checkError(t, os.RemoveAll(filepath.Join(d.dir, own)))
	checkError(t, os.Symlink(outside, filepath.Join(d.dir, own)))
	for name, err := range map[string]error{
		"note":    second(m.note(ctx, c, &api.NoteRequest{Text: "tea", Visibility: "public_ok"})),
		"item":    second(m.itemPut(ctx, c, &api.ItemPutRequest{Namespace: "fact", Key: "a", Value: new("b"), Visibility: "public_ok"})),
		"session": second(m.session(ctx, c, &api.SessionRequest{Session: "s", Draft: api.Draft{Summary: "tea"}})),
	} {
		if err == nil || strings.Contains(asError(err).Error(), outside) {
			t.Errorf("%s below a link: %v", name, err)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("the target of the link has %v, %v", list, err)
	}
}

// TestInboxTicks checks that a task that a guest reports as done completes no copy of its
// subject elsewhere, while the subject's own session does.
func TestInboxTicks(t *testing.T) {
	const path, text = "memory/2026-02-04/s1.md", "---\nsubject_id: acct:42\n---\n\n## Tasks\n- [ ] Book a van\n"
	for guest, want := range map[bool]string{true: text, false: strings.Replace(text, "[ ]", "[x]", 1)} {
		d := readOpsCase(t, &txtar.Archive{Comment: []byte("quiet: none\n"), Files: []txtar.File{{Name: path, Data: []byte(text)}}}).disk(t)
		m, ctx := d.memory.adminOps(), t.Context()
		c := d.callAs(t, "acct:42", "private")
		if guest {
			c = d.fixedCall(t, "helper", "acct:42", "private")
		}
		a, err := m.session(ctx, c, &api.SessionRequest{Session: "s2", Draft: api.Draft{Tasks: []api.DraftTask{{Text: "Book a van", Done: true}, {Text: "Pack"}}}})
		if err != nil || strings.HasPrefix(a.Path, "inbox/helper.acct_42/") != guest {
			t.Fatalf("%+v, %v", a, err)
		}
		d.memory.Todos.Request(ctx, a.Path)
		d.want(t, path, want)
	}
}

// TestWipeInboxes checks that a wipe of a subject deletes its files in inboxes, and not
// those of others or without a subject.
func TestWipeInboxes(t *testing.T) {
	const own, other, open = "inbox/bot.acct_42/fact.md", "inbox/bot.bob/fact.md", "inbox/bot.acct_42/2026-02-05/s.md"
	d := readOpsCase(t, &txtar.Archive{Comment: []byte("quiet: none\n"), Files: []txtar.File{
		{Name: own, Data: []byte("---\nsubject_id: acct:42\n---\n- **a**: b\n")}, {Name: other, Data: []byte("---\nsubject_id: bob\n---\n- **a**: b\n")},
		{Name: open, Data: []byte("---\nvisibility: public_ok\n---\n- for all\n")},
	}}).disk(t)
	a, err := d.memory.adminOps().wipeSubject(t.Context(), d.callAs(t, "acct:42", "private"), &api.WipeRequest{Confirm: "acct:42"})
	if err != nil || fmt.Sprint(a.Deleted) != "["+own+"]" {
		t.Errorf("%+v, %v", a, err)
	}
	d.want(t, other, "---\nsubject_id: bob\n---\n- **a**: b\n")
	d.want(t, open, "---\nvisibility: public_ok\n---\n- for all\n")
}
