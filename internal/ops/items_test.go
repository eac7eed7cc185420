package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// callAs returns a call of a subject with the current permissions.
func (d *diskCase) callAs(t testing.TB, subject, context string) Call {
	t.Helper()
	c, err := d.memory.readOps().resolveCall(api.Caller{Scope: api.Scope{Subject: &subject, Context: &context}, AsOwner: true})
	if err != nil {
		t.Fatal(err)
	}
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
	if _, _, err := d.memory.readOps().loadFile(second, "_longterms/acct_42/fact.md"); asError(err).Code != api.NotFound {
		t.Errorf("the second one reads the file: %v", err)
	}
	if _, _, err := d.memory.readOps().loadFile(first, "_longterms/acct_42/fact.md"); err != nil {
		t.Errorf("the first one does not: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "_longterms/acct_42/profile.md")); err == nil {
		t.Error("the second one has made a file there")
	}
}

// TestItemPages checks that paging lists every permanent item once while others
// are added and deleted between the pages.
func TestItemPages(t *testing.T) {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "- **k%d**: %d\n", 9-i, i)
	}
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{
		{Name: "_longterms/owner/fact.md", Data: []byte(text.String())},
		{Name: "_longterms/owner/profile.md", Data: []byte("- **a/b**: 1\n")},
	}}).disk(t)
	c := d.callAs(t, "owner", "private")
	var keys []string
	r := &api.ItemListRequest{Limit: 3}
	for page := 0; page == 0 || r.Cursor != ""; page++ {
		a, err := d.memory.adminOps().itemList(t.Context(), c, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range a.Items {
			keys = append(keys, item.Key)
		}
		r.Cursor = a.Next
		for _, change := range []func() error{
			func() error {
				_, err := d.memory.adminOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: "a", Value: new(fmt.Sprint(page))})
				return err
			},
			func() error { // every other time the item of the cursor
				if page%2 == 0 {
					return nil
				}
				_, err := d.memory.adminOps().itemDelete(t.Context(), c, &api.ItemDeleteRequest{Namespace: "fact", Key: keys[len(keys)-1]})
				return err
			},
		} {
			if err := change(); err != nil && asError(err).Code != api.NotFound {
				t.Fatal(err)
			}
		}
	}
	if got, want := strings.Join(keys, " "), "a/b k0 k1 k2 k3 k4 k5 k6 k7 k8 k9"; got != want {
		t.Errorf("the pages list %s, want %s", got, want)
	}
}

// TestItemsAsIfTheRestDidNotExist checks, byte for byte, that unreadable items
// do not affect puts, gets and lists in public or by another subject.
func TestItemsAsIfTheRestDidNotExist(t *testing.T) {
	const secret = " <!-- visibility=private_only id=x%d -->\n"
	hidden := func(n int, text string) string { return text + fmt.Sprintf(secret, n) }
	const head = "---\nsubject_id: acct:42\n---\n"
	public := "- **team**: red <!-- id=t1 visibility=public_ok updated=2026-01-01 -->\n"
	with := []txtar.File{
		{Name: "_longterms/acct_42/fact.md", Data: []byte(head + hidden(1, "1. **a**: b") + "\n# Private\n\n" + hidden(2, "- **new**: secret") + hidden(3, "- **city**: secret") +
			"\n## Both\n\n" + public + hidden(4, "- **team**: secret"))},
		{Name: "_longterms/acct_42/profile.md", Data: []byte(head + "\n# All mine\n\n" + hidden(5, "* **name**: secret") + hidden(6, "* **city**: secret"))},
		{Name: "_longterms/ext_telegram_1/fact.md", Data: []byte("---\nsubject_id: ext:telegram:1\n---\n" + hidden(7, "- **city**: other"))},
		{Name: "_longterms/ext_telegram_1/project.md", Data: []byte("---\nsubject_id: ext:telegram:1\n---\n" + hidden(8, "- **new**: other"))},
	}
	without := []txtar.File{
		{Name: "_longterms/acct_42/fact.md", Data: []byte(head + "\n# Private\n\n## Both\n\n" + public + hidden(9, "- **team**: other"))},
	}
	const links = "links:\n  telegram:1: acct:42\n"
	var disks [2]*diskCase
	for i, files := range [][]txtar.File{with, without} {
		disks[i] = readOpsCase(t, &txtar.Archive{Files: append(files, txtar.File{Name: memory.IdentitiesPath, Data: []byte(links)})}).disk(t)
	}
	const scope = `"subject": "acct:42", "context": "public"`
	for _, step := range [][2]string{
		{"item_list", `{` + scope + `}`},
		{"item_get", `{"namespace": "fact", "key": "team", ` + scope + `}`},
		{"item_get", `{"namespace": "fact", "key": "city", ` + scope + `}`},
		{"item_put", `{"namespace": "fact", "key": "city", "value": "Rome", "visibility": "public_ok", ` + scope + `}`},
		{"item_put", `{"namespace": "fact", "key": "team", "value": "blue", "visibility": "public_ok", ` + scope + `}`},
		{"item_put", `{"namespace": "fact", "key": "new", "value": "x", ` + scope + `}`},
		{"item_put", `{"namespace": "profile", "key": "city", "value": "{}", "visibility": "public_ok", ` + scope + `}`},
		{"item_put", `{"namespace": "profile", "key": "name", "value": "Ann", "visibility": "public_ok", ` + scope + `}`},
		{"item_put", `{"namespace": "project", "key": "new", "value": "y", "visibility": "public_ok", ` + scope + `}`},
		{"item_put", `{"namespace": "fact", "key": "bad", "value": "<private>", ` + scope + `}`},
		{"item_list", `{"limit": 2, ` + scope + `}`},
		{"item_list", `{` + scope + `}`},
		{"item_get", `{"namespace": "profile", "key": "name", ` + scope + `}`},
		{"item_delete", `{"namespace": "fact", "key": "a", ` + scope + `}`},
		{"item_delete_namespace", `{"namespace": "fact", ` + scope + `}`},
		{"item_visibility", `{"id": "x1", "visibility": "public_ok", ` + scope + `}`},
		{"item_list", `{"subject": "acct:43", "context": "private"}`},
		{"item_put", `{"namespace": "fact", "key": "team", "value": "v", "subject": "acct:43", "context": "private"}`},
		{"item_delete", `{"id": "x1", "subject": "acct:43", "context": "private"}`},
		{"item_visibility", `{"id": "t1", "visibility": "private_only", "subject": "acct:43", "context": "private"}`},
	} {
		op, err := api.LookUp(step[0])
		if err != nil {
			t.Fatal(err)
		}
		var said [2]string
		for i, d := range disks {
			answer, err := (&opsRequest{op: op, request: []byte(step[1])}).direct(t.Context(), d.memory)
			said[i] = string(answer)
			if err != nil {
				said[i] = asError(err).Error() + string(asError(err).Code)
			}
		}
		if said[0] != said[1] {
			t.Errorf("%s %s\nwith the rest:    %s\nwithout the rest: %s", step[0], step[1], said[0], said[1])
		}
	}
	for _, file := range with {
		disks[0].want(t, file.Name, string(file.Data))
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.memory.adminOps().itemDelete(t.Context(), c, &api.ItemDeleteRequest{Namespace: "fact", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	list := d.memory.Writer.Journal.List(time.Time{}, "", 0)
	if len(list) != 4 || list[0].Group != list[1].Group || list[1].Group == list[2].Group || list[2].Group != list[3].Group {
		t.Errorf("the changes are %+v", list)
	}
}

// TestNamespacesOfOperations checks that operations accept exactly the existing
// namespaces.
func TestNamespacesOfOperations(t *testing.T) {
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			if p.Name == "namespace" && !slices.Equal(p.Enum, memory.Namespaces()) {
				t.Errorf("%s takes %q", op.Name, p.Enum)
			}
		}
	}
}

// TestResolveOnFixedListener checks that a listener with a fixed scope resolves
// the keys of that scope and does not reveal whether other keys are linked.
func TestResolveOnFixedListener(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: memory.IdentitiesPath, Data: []byte("links:\n  telegram:1: acct:42\n  telegram:2: acct:43\n")}}}).disk(t)
	fixed := &api.Fixed{Subject: "acct:42"}
	c, err := d.memory.readOps().resolveCall(api.Caller{Fixed: fixed})
	if err != nil {
		t.Fatal(err)
	}
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

// TestRememberInADirectoryThatHasBecomeAnothers checks the same for an existing
// file that names no subject.
func TestRememberInADirectoryThatHasBecomeAnothers(t *testing.T) {
	const path, text = "_longterms/acct_42/_index.md", "- **Dog**: Rex\n"
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte(text)}}}).disk(t)
	first, second := d.callAs(t, "acct:42", "private"), d.callAs(t, "acct_42", "private")
	if _, err := d.memory.adminOps().itemPut(t.Context(), first, &api.ItemPutRequest{Namespace: "fact", Key: "k", Value: new("v")}); err != nil {
		t.Fatal(err)
	}
	_, err := d.memory.adminOps().remember(t.Context(), second, &api.RememberRequest{Title: "Cat", Text: "Mo", Explicit: true})
	if asError(err).Code != api.SubjectConflict {
		t.Errorf("it is made the second one's: %v", err)
	}
	d.want(t, path, text)
}

// TestItemPutHidesOthers checks that a caller who may not read its new item
// gets back the item as written, not another one with the same id.
func TestItemPutHidesOthers(t *testing.T) {
	const path = "_longterms/owner/fact.md"
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte(
		"- **pin**: 1234 <!-- id=k1 visibility=private_only created=2026-01-01T00:00:00Z -->\n- **tea**: green <!-- id=k1 visibility=public_ok -->\n")}}}).disk(t)
	owner, public := "owner", "public"
	c, err := d.memory.readOps().resolveCall(api.Caller{Scope: api.Scope{Subject: &owner, Context: &public}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.memory.adminOps().itemPut(t.Context(), c, &api.ItemPutRequest{Namespace: "fact", Key: "tea", Value: new("black"), Visibility: "private_only"})
	if err != nil || a.Item == nil || a.Item.Key != "tea" || a.Item.Value != "black" || a.Item.Line != 0 || a.Item.ID == "k1" {
		t.Errorf("%+v, %v", a.Item, err)
	}
	if got := d.read(t, path); !strings.Contains(got, "- **tea**: green <!-- id=k1 visibility=public_ok -->\n") {
		t.Errorf("the owner's item was changed:\n%s", got)
	}
}

// TestItemImport imports 1,000 items of two subjects over the socket, twice, and
// takes the import back. It reports the time, which must be below 5 s on a quiet
// machine.
func TestItemImport(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	socket := serveOps(t, d.memory)
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"subject":%q,"namespace":%q,"key":"key %d","value":%q,"visibility":"private_only","confidence":0.5,"source":"msg:%d","created_at":%d,"updated_at":%d}`+"\n",
			[]string{"acct:42", "ext:telegram:7"}[i%2], memory.Namespaces()[i%5], i, fmt.Sprintf("value %d 喝茶\r\n<!-- %d -->", i, i), i, 1767225600+i, 1767312000+i)
	}
	request := encodeRequest(t, fields{"lines": lines.String()})
	start := time.Now()
	first := decodeAnswer[api.ItemImportAnswer](string(postOps(t, socket, "item_import", []byte(request))))
	t.Logf("1,000 items imported in %s", time.Since(start).Round(time.Millisecond))
	again := decodeAnswer[api.ItemImportAnswer](string(postOps(t, socket, "item_import", []byte(request))))
	if first.Imported != 1000 || len(first.Invalid) > 0 || again.Imported != 0 || again.Unchanged != 1000 {
		t.Errorf("imported %+v, again %+v", first, again)
	}
	item := decodeAnswer[api.ItemAnswer](string(postOps(t, socket, "item_get",
		[]byte(`{"namespace": "fact", "key": "key 777", "subject": "ext:telegram:7", "context": "private"}`)))).Item
	if item == nil || item.Value != "value 777 喝茶\r\n<!-- 777 -->" || *item.Confidence != 0.5 || item.Source != "msg:777" ||
		item.Created.Unix() != 1767225600+777 || item.Updated.Unix() != 1767312000+777 {
		t.Errorf("an imported item is %+v", item)
	}
	list := d.memory.Writer.Journal.List(time.Time{}, "", 0)
	for _, w := range list {
		if len(list) != 10 || w.Group != list[0].Group {
			t.Fatalf("the changes are %+v", list)
		}
	}
}

// TestPublicItems checks the files of items that callers put in public, and that the
// value of the subject replaces them unless they are in an inbox of another subject.
func TestPublicItems(t *testing.T) {
	const home = "_longterms/acct_42/"
	main := "---\nsubject_id: acct:42\n---\n- **tea**: mine <!-- id=m1 visibility=private_only source=api -->"
	old := "---\nsubject_id: acct:42\n---\n- **cup**: old <!-- id=o1 visibility=public_ok source=public:groupbot -->"
	d := newTestMemory(t, []*testFile{{path: home + "fact.md", blocks: []block{{text: main}}}, {path: home + "fact-public.md", blocks: []block{{text: old}}}}, nil)
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
		if err != nil {
			t.Fatal(err)
		}
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
	d.want(t, home+"fact-public.md", old+"\n")

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
