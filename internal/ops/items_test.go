package ops

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// put stores an item.
func put(t testing.TB, m *Memory, by api.Caller, namespace, key, value, visibility string) (*api.Item, error) {
	t.Helper()
	a, err := do[api.ItemAnswer](t, m, by, api.ItemPutRequest{Namespace: namespace, Key: key, Value: &value, Visibility: visibility})
	if err != nil {
		return nil, err
	}
	return a.Item, nil
}

// TestItemsOfTwoSubjectsInOneDirectory checks two subjects whose names map to
// the same directory and that both write before the directory exists. It
// belongs to the first, and the other sees nothing of it.
func TestItemsOfTwoSubjectsInOneDirectory(t *testing.T) {
	d, first, second := newDisk(t, nil), as("acct:42", "private"), as("acct_42", "private")
	_, err := put(t, d.memory, first, "fact", "k", "v", "")
	checkError(t, err)
	for namespace, key := range map[string]string{"profile": "k", "fact": "l"} {
		if _, err := put(t, d.memory, second, namespace, key, "w", ""); asError(err).Code != api.SubjectConflict {
			t.Errorf("the second one puts an item there: %v", err)
		}
	}
	for by, code := range map[*api.Caller]api.Code{&first: "", &second: api.NotFound} {
		for _, err := range []error{
			errOf(do[api.ItemAnswer](t, d.memory, *by, api.ItemGetRequest{Namespace: "fact", Key: "k"})),
			errOf(do[api.GetAnswer](t, d.memory, *by, api.GetRequest{Path: "_longterms/acct_42/fact.md", From: 1})),
		} {
			if (err == nil) != (code == "") || err != nil && asError(err).Code != code {
				t.Errorf("%q: %v", code, err)
			}
		}
	}
	if text := d.changes(t); strings.Contains(text, "profile.md") {
		t.Errorf("the second one has made a file there:\n%s", text)
	}
}

// TestItemsOfSeveralFilesAreOneChange checks that a deletion or hiding in
// several files is undone as one change.
func TestItemsOfSeveralFilesAreOneChange(t *testing.T) {
	const text = "- **k**: v <!-- id=k visibility=public_ok -->\n"
	d, by := newDisk(t, map[string]string{memory.IdentitiesPath: "links:\n  telegram:1: acct:42\n",
		itemPath("acct:42", "fact"): text, itemPath("ext:telegram:1", "fact"): text}), as("acct:42", "private")
	_, err := do[api.ItemAnswer](t, d.memory, by, api.ItemVisibilityRequest{ID: itemPath("acct:42", "fact") + "#k", Visibility: "private_only"})
	checkError(t, err)
	_, err = do[api.ItemDeleteAnswer](t, d.memory, by, api.ItemDeleteRequest{Namespace: "fact", Key: "k"})
	checkError(t, err)
	list := d.memory.Writer.Journal.List(time.Time{}, "", 0)
	if len(list) != 4 || list[0].Group != list[1].Group || list[1].Group == list[2].Group || list[2].Group != list[3].Group {
		t.Errorf("the changes are %+v", list)
	}
}

// TestResolveOnFixedListener checks that a listener with a fixed scope resolves
// the keys of that scope and does not reveal whether other keys are linked.
func TestResolveOnFixedListener(t *testing.T) {
	d, by := newDisk(t, map[string]string{memory.IdentitiesPath: "links:\n  telegram:1: acct:42\n  telegram:2: acct:43\n"}), guest("", "acct:42", "")
	if a, err := do[api.IdentityAnswer](t, d.memory, by, api.ResolveRequest{ExternalKey: "telegram:1"}); err != nil || a.Subject != "acct:42" {
		t.Errorf("its own key is %+v, %v", a, err)
	}
	for _, key := range []string{"telegram:2", "telegram:3"} {
		if _, err := do[api.IdentityAnswer](t, d.memory, by, api.ResolveRequest{ExternalKey: key}); asError(err).Code != api.Forbidden {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, name := range []string{"link", "unlink", "links"} {
		if by.Fixed.Allows(lookUp(t, name)) {
			t.Errorf("%s is allowed", name)
		}
	}
}

// TestItemPutHidesOthers checks that a caller who may not read its new item
// gets back the item as written, not another one with the same id.
func TestItemPutHidesOthers(t *testing.T) {
	const path, text = "_longterms/owner/fact.md", "- **pin**: 1234 <!-- id=k1 visibility=private_only created=2026-01-01T00:00:00Z -->\n" +
		"- **tea**: green <!-- id=k1 visibility=public_ok -->\n"
	d := newDisk(t, map[string]string{path: text})
	item, err := put(t, d.memory, as("owner", "public"), "fact", "tea", "black", "private_only")
	if err != nil || item.Key != "tea" || item.Value != "black" || item.Line != 0 || item.ID == "k1" {
		t.Errorf("%+v, %v", item, err)
	}
	d.want(t, path, text)
}

// TestPublicItems checks the files of items that callers put in public, and that the
// value of the subject replaces them unless they are in an inbox of another subject.
func TestPublicItems(t *testing.T) {
	const home = "_longterms/acct_42/"
	main := "---\nsubject_id: acct:42\n---\n- **tea**: mine <!-- id=m1 visibility=private_only source=api -->"
	old := "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n- **cup**: old <!-- id=o1 visibility=public_ok source=public:groupbot -->"
	d := newTestMemory(t, []*testFile{{path: home + "fact.md", blocks: []block{{text: main}}}, {path: home + "fact.public.md", blocks: []block{{text: old}}}}, nil)
	d.isInitial = false
	own, program := as("acct:42", "private"), as("acct:42", "public")
	bot, other := guest("groupbot", "acct:42", "public"), guest("other", "acct:42", "public")
	for _, step := range []struct {
		by                           api.Caller
		key, value, visibility, path string
		reader                       api.Caller
		saidIn, want                 string // items that the reader lists then
	}{
		{program, "team", "red", "private_only", home + "fact.private.md", program, "", "cup=old"},
		{program, "team", "blue", "", home + "fact.private.md", own, "public", "cup=old team=blue"}, // within the same millisecond
		{program, "team", "green", "public_ok", home + "fact.public.md", program, "", "cup=old team=green"},
		{program, "team", "gold", "private_only", home + "fact.public.md", program, "", "cup=old team=gold"}, // stays public
		{bot, "team", "pink", "public_ok", "inbox/groupbot.acct_42/fact.md", own, "public", "cup=old team=pink"},
		{bot, "team", "hidden", "private_only", "inbox/groupbot.acct_42/fact.md", bot, "", "cup=old team=hidden"},
		{bot, "code", "1234", "private_only", "inbox/groupbot.acct_42/fact.private.md", bot, "", "cup=old team=hidden"},
		{other, "team", "grey", "public_ok", "inbox/other.acct_42/fact.md", bot, "", "cup=old team=grey"},
		{program, "tea", "theirs", "public_ok", home + "fact.public.md", own, "", "code=1234 cup=old tea=mine team=grey"},
		{own, "team", "silver", "private_only", home + "fact.md", own, "public", "code=1234 cup=old tea=theirs"},
		{own, "cup", "new", "private_only", home + "fact.md", own, "", "code=1234 cup=new tea=mine team=silver"},
	} {
		item, err := put(t, d.memory, step.by, "fact", step.key, step.value, step.visibility)
		if err != nil || item.Path != step.path || item.Value != step.value {
			t.Fatalf("%s=%s: %+v, %v", step.key, step.value, item, err)
		}
		checkError(t, d.Sync(t.Context()))
		a, err := do[api.ItemListAnswer](t, d.memory, step.reader, api.ItemListRequest{SaidIn: step.saidIn, Limit: 50})
		checkError(t, err)
		var got []string
		for _, i := range a.Items {
			got = append(got, i.Key+"="+i.Value)
		}
		if !slices.Equal(got, strings.Fields(step.want)) {
			t.Errorf("after %s=%s, the items said in %q are %q, want %s", step.key, step.value, step.saidIn, got, step.want)
		}
	}
	for by, key := range map[*api.Caller]string{&bot: "tea", new(guest("helper", "acct:42", "private")): "tea"} {
		if _, err := do[api.ItemDeleteAnswer](t, d.memory, *by, api.ItemDeleteRequest{Namespace: "fact", Key: key}); asError(err).Code != api.Forbidden {
			t.Errorf("deleting an item outside the inbox: %v", err)
		}
	}
}

// TestPutsTogether checks that puts of one caller that wait for a change become one change,
// that each is answered with its own item or error, and that the last one of a key wins.
func TestPutsTogether(t *testing.T) {
	const path, puts = "_longterms/owner/fact.md", 20
	d := newDisk(t, map[string]string{path: "---\nsubject_id: owner\n---\n- **key 3**: by hand\n"})
	parse, waiting := d.memory.Parse, make(chan struct{})
	var once sync.Once
	d.memory.Parse = func(f vault.File) *memory.Document {
		once.Do(func() { <-waiting }) // in the first change
		return parse(f)
	}
	var done sync.WaitGroup
	q, callers := &d.memory.waiting, 0
	start := func(key, value string) {
		callers++
		done.Go(func() {
			item, err := put(t, d.memory, owner, "fact", key, value, "")
			if err != nil || item.Key != key || item.Value != value || item.Line == 0 {
				t.Errorf("%s: %+v, %v", key, item, err)
			}
		})
		for n := 0; n < callers; time.Sleep(time.Millisecond) { // it waits
			q.mu.Lock()
			n = 0
			for _, f := range q.files {
				n += f.uses
			}
			q.mu.Unlock()
		}
	}
	start("first", "1")
	for i := range puts {
		start(fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
	start("key 5", "another value")
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
	if n := len(d.memory.Writer.Journal.List(time.Time{}, "", 0)); n != 3 || len(q.files) != 0 {
		t.Errorf("%d changes; files are waited for: %v", n, q.files)
	}
}
