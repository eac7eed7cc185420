package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// callAs returns a call of a subject with the current permissions.
func (d *diskCase) callAs(t testing.TB, subject, context string) Call {
	t.Helper()
	c, err := d.memory.readOps().resolveCall(api.Caller{Scope: api.Scope{Subject: &subject, Context: &context}, AsOwner: true})
	checkError(t, err)
	return c
}

// TestItemsOfTwoSubjectsInOneDirectory checks two subjects whose names map to
// the same directory and that both write before the directory exists. It
// belongs to the first, and the other sees nothing of it.
func TestItemsOfTwoSubjectsInOneDirectory(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	first, second := d.callAs(t, "acct:42", "private"), d.callAs(t, "acct_42", "private")
	if _, err := d.memory.adminOps().itemPut(t.Context(), first, &api.ItemPutRequest{Namespace: "fact", Key: "k", Value: new("v")}); err != nil {
		t.Fatal(err)
	}
	_, err := d.memory.adminOps().itemPut(t.Context(), second, &api.ItemPutRequest{Namespace: "profile", Key: "k", Value: new("w")})
	if asError(err).Code != api.SubjectConflict {
		t.Errorf("the second one puts an item there: %v", err)
	}
	_, err = d.memory.adminOps().itemPut(t.Context(), second, &api.ItemPutRequest{Namespace: "fact", Key: "l", Value: new("w")})
	if asError(err).Code != api.SubjectConflict {
		t.Errorf("the second one puts an item into the first one's file: %v", err)
	}
	_, err = d.memory.adminOps().itemGet(t.Context(), second, &api.ItemGetRequest{Namespace: "fact", Key: "k"})
	if asError(err).Code != api.NotFound {
		t.Errorf("the second one reads it: %v", err)
	}
	if _, err := d.memory.readOps().loadFile(second, "_longterms/acct_42/fact.md"); asError(err).Code != api.NotFound {
		t.Errorf("the second one reads the file: %v", err)
	}
	if _, err := d.memory.readOps().loadFile(first, "_longterms/acct_42/fact.md"); err != nil {
		t.Errorf("the first one does not: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "_longterms/acct_42/profile.md")); err == nil {
		t.Error("the second one has made a file there")
	}
}

// TestItemsOfSeveralFilesAreOneChange checks that a deletion or hiding in
// several files is undone as one change.
func TestItemsOfSeveralFilesAreOneChange(t *testing.T) {
	files := []txtar.File{{Name: memory.IdentitiesPath, Data: []byte("links:\n  telegram:1: acct:42\n")}}
	for _, subject := range []string{"acct:42", "ext:telegram:1"} {
		files = append(files, txtar.File{Name: itemPath(subject, "fact"), Data: []byte("- **k**: v <!-- id=k visibility=public_ok -->\n")})
	}
	d := readOpsCase(t, &txtar.Archive{Files: files}).disk(t)
	c := d.callAs(t, "acct:42", "private")
	_, err := d.memory.adminOps().itemVisibility(t.Context(), c, &api.ItemVisibilityRequest{ID: itemPath("acct:42", "fact") + "#k", Visibility: "private_only"})
	checkError(t, err)
	if _, err := d.memory.adminOps().itemDelete(t.Context(), c, &api.ItemDeleteRequest{Namespace: "fact", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	list := d.memory.Writer.Journal.List(time.Time{}, "", 0)
	if len(list) != 4 || list[0].Group != list[1].Group || list[1].Group == list[2].Group || list[2].Group != list[3].Group {
		t.Errorf("the changes are %+v", list)
	}
}

// TestResolveOnFixedListener checks that a listener with a fixed scope resolves
// the keys of that scope and does not reveal whether other keys are linked.
func TestResolveOnFixedListener(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: memory.IdentitiesPath, Data: []byte("links:\n  telegram:1: acct:42\n  telegram:2: acct:43\n")}}}).disk(t)
	fixed := &api.Fixed{Subject: "acct:42"}
	c, err := d.memory.readOps().resolveCall(api.Caller{Fixed: fixed})
	checkError(t, err)
	if a, err := d.memory.adminOps().resolve(t.Context(), c, &api.ResolveRequest{ExternalKey: "telegram:1"}); err != nil || a.Subject != "acct:42" {
		t.Errorf("its own key is %+v, %v", a, err)
	}
	for _, key := range []string{"telegram:2", "telegram:3"} {
		if _, err := d.memory.adminOps().resolve(t.Context(), c, &api.ResolveRequest{ExternalKey: key}); asError(err).Code != api.Forbidden {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, name := range []string{"link", "unlink", "links"} {
		if op, err := api.LookUp(name); err != nil || fixed.Allows(op) {
			t.Errorf("%s is allowed: %v", name, err)
		}
	}
}

// TestItemPutHidesOthers checks that a caller who may not read its new item
// gets back the item as written, not another one with the same id.
func TestItemPutHidesOthers(t *testing.T) {
	const path = "_longterms/owner/fact.md"
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte(
		"- **pin**: 1234 <!-- id=k1 visibility=private_only created=2026-01-01T00:00:00Z -->\n- **tea**: green <!-- id=k1 visibility=public_ok -->\n")}}}).disk(t)
	c := d.callAs(t, "owner", "public")
	a, err := d.memory.adminOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: "tea", Value: new("black"), Visibility: "private_only"})
	if err != nil || a.Item == nil || a.Item.Key != "tea" || a.Item.Value != "black" || a.Item.Line != 0 || a.Item.ID == "k1" {
		t.Errorf("%+v, %v", a.Item, err)
	}
	if got := d.read(t, path); !strings.Contains(got, "- **tea**: green <!-- id=k1 visibility=public_ok -->\n") {
		t.Errorf("the owner's item was changed:\n%s", got)
	}
}

// TestPublicItems checks the files of items that callers put in public, and that the
// value of the subject replaces them unless they are in an inbox of another subject.
func TestPublicItems(t *testing.T) {
	const home = "_longterms/acct_42/"
	main := "---\nsubject_id: acct:42\n---\n- **tea**: mine <!-- id=m1 visibility=private_only source=api -->"
	old := "---\nsubject_id: acct:42\n---\n- **cup**: old <!-- id=o1 visibility=public_ok source=public:groupbot -->"
	d := newTestMemory(t, []*testFile{{path: home + "fact.md", blocks: []block{{text: main}}}, {path: home + "fact.public-2.md", blocks: []block{{text: old}}}}, nil)
	d.isInitial = false
	put := func(c Call, key, value, visibility, path string) {
		t.Helper()
		d.memory.readOps().renewView(&c)
		a, err := d.memory.adminOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: key, Value: &value, Visibility: visibility})
		if err != nil || a.Item.Path != path || a.Item.Value != value {
			t.Fatalf("%s=%s: %+v, %v", key, value, a.Item, err)
		}
		d.Sync(t.Context())
	}
	want := func(c Call, saidIn string, values ...string) {
		t.Helper()
		a, err := d.memory.adminOps().itemList(t.Context(), c, &api.ItemListRequest{SaidIn: saidIn, Limit: 50})
		checkError(t, err)
		var got []string
		for _, i := range a.Items {
			got = append(got, i.Key+"="+i.Value)
		}
		if !slices.Equal(got, values) {
			t.Errorf("the items said in %q are %q, want %q", saidIn, got, values)
		}
	}
	own, program := d.callAs(t, "acct:42", "private"), d.callAs(t, "acct:42", "public")
	bot, other := d.fixedCall(t, "groupbot", "acct:42", "public"), d.fixedCall(t, "other", "acct:42", "public")
	put(program, "team", "red", "private_only", home+"fact.private.md")
	put(program, "team", "blue", "", home+"fact.private.md") // within the same millisecond
	want(own, "public", "cup=old", "team=blue")
	want(program, "", "cup=old")
	put(program, "team", "green", "public_ok", home+"fact.public.md")
	put(program, "team", "gold", "private_only", home+"fact.public.md") // stays public
	want(program, "", "cup=old", "team=gold")
	want(own, "public", "cup=old", "team=gold")
	put(bot, "team", "pink", "public_ok", "inbox/groupbot.acct_42/fact.md")
	put(bot, "team", "hidden", "private_only", "inbox/groupbot.acct_42/fact.md")
	put(bot, "code", "1234", "private_only", "inbox/groupbot.acct_42/fact.private.md")
	put(other, "team", "grey", "public_ok", "inbox/other.acct_42/fact.md")
	want(bot, "", "cup=old", "team=grey")
	put(program, "tea", "theirs", "public_ok", home+"fact.public.md")
	want(own, "", "code=1234", "cup=old", "tea=mine", "team=grey")
	want(own, "private", "tea=mine")
	d.want(t, home+"fact.md", main+"\n")
	d.want(t, home+"fact.public-2.md", old+"\n")

	for _, call := range []Call{bot, d.fixedCall(t, "helper", "acct:42", "private")} {
		_, err := d.memory.adminOps().itemDelete(t.Context(), call, &api.ItemDeleteRequest{Namespace: "fact", Key: "cup"})
		if asError(err).Code != api.Forbidden {
			t.Errorf("deleting an item outside the inbox: %v", err)
		}
	}
	if _, err := d.memory.adminOps().itemDelete(t.Context(), bot, &api.ItemDeleteRequest{Namespace: "fact", Key: "team"}); err != nil {
		t.Error(err)
	}
	d.Sync(t.Context())
	want(bot, "", "cup=old", "tea=theirs", "team=grey")
	put(own, "team", "silver", "private_only", home+"fact.md")
	want(own, "public", "code=1234", "cup=old", "tea=theirs")
	want(own, "", "code=1234", "cup=old", "tea=mine", "team=silver")
}

// TestPutsTogether checks that puts of one caller that wait for a change become one change,
// that each is answered with its own item or error, and that the last one of a key wins.
func TestPutsTogether(t *testing.T) {
	const path = "_longterms/owner/fact.md"
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte("---\nsubject_id: owner\n---\n- **key 3**: by hand\n")}}}).disk(t)
	c := d.callAs(t, "owner", "private")
	parse, waiting := d.memory.Parse, make(chan struct{})
	var once sync.Once
	d.memory.Parse = func(f vault.File) *memory.Document {
		once.Do(func() { <-waiting }) // in the first change
		return parse(f)
	}
	const puts = 20
	var done sync.WaitGroup
	put := func(key, value string) {
		done.Go(func() {
			a, err := d.memory.writeOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: key, Value: &value})
			if err != nil || a.Item.Key != key || a.Item.Value != value || a.Item.Line == 0 {
				t.Errorf("%s: %+v, %v", key, a, err)
			}
		})
	}
	q := &d.memory.waiting
	await := func(callers int) {
		for {
			q.mu.Lock()
			n := 0
			for _, f := range q.files {
				n += f.uses
			}
			q.mu.Unlock()
			if n == callers {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	put("first", "1")
	await(1)
	for i := range puts {
		put(fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
	await(1 + puts)
	put("key 5", "another value")
	await(2 + puts)
	close(waiting)
	done.Wait()
	text := d.read(t, path)
	for i := range puts {
		want := fmt.Sprintf("- **key %d**: value %d ", i, i)
		if i == 5 {
			want = "- **key 5**: another value "
		}
		if strings.Count(text, fmt.Sprintf("**key %d**", i)) != 1 || !strings.Contains(text, want) {
			t.Errorf("no %q, or not once, in\n%s", want, text)
		}
	}
	if n := len(d.memory.Writer.Journal.List(time.Time{}, "", 0)); n != 3 {
		t.Errorf("%d changes", n)
	}
	if len(q.files) != 0 {
		t.Errorf("files are waited for: %v", q.files)
	}
}
