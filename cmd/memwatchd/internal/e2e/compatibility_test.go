package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/ipc/client"
)

// itemsSchema is the schema of the database of a system with items in SQLite,
// as its description lists the fields, constraints, indexes and pragmas.
const itemsSchema = `
PRAGMA journal_mode=WAL;
CREATE TABLE memory_items (
	subject_id TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
	visibility INTEGER NOT NULL, confidence REAL NULL, source TEXT NULL,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
	UNIQUE(subject_id, namespace, key));
CREATE INDEX memory_items_visibility ON memory_items(subject_id, namespace, visibility, updated_at);
CREATE TABLE identity_links (
	external_key TEXT PRIMARY KEY, subject_id TEXT NOT NULL,
	created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE INDEX identity_links_subject ON identity_links(subject_id);
`

// itemValues are values that a conversion could change. %d is the number of the
// item.
var itemValues = []string{
	"plain text %d", `{"lang":"zh","brevity":"concise","n":%d}`, "[%d, null, 1.0]", "%d", "null %d", `"quoted %d"`, "",
	"lines %d\r\nwith\rreturns\n\n", "  spaces and\ttabs %d  ", "<!-- id=%d visibility=public_ok --> <private>p</private>",
	"- [ ] task %d #tag [[link]] [a](b.md)\n## heading\n---", "```json\n{\"fence\": %d}\n```", `back\slash \n %d 'quote' "double"`,
	"喜欢绿茶，第 %d 号", "👨\u200d👩\u200d👧 é e\u0301 %d", "می\u200cخواهم %d", "** bold %d ** | table | &amp; %%",
}

// TestSQLiteRecipes checks the recipes of the compatibility page on a database:
// 1,000 items arrive in memory with every byte of their values, and the keys of
// accounts are linked.
func TestSQLiteRecipes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("sqlite3 is not installed")
	}
	recipes := sqliteRecipes(t)
	s := newHome(t)
	s.must(t, "memwatchd init --dir mem")
	s.start(t, "memwatchd serve")

	subjects := []string{"acct:42", "ext:telegram:1", "ext:telegram:2", "ext:slack:T1:U1"}
	namespaces := []string{"profile", "preference", "fact", "project", "task_state"}
	want := map[string][]client.StoredItem{}
	sql := itemsSchema + "BEGIN;\n"
	for i := range 1000 {
		item := client.StoredItem{
			SubjectID: subjects[i%len(subjects)], Namespace: namespaces[i/len(subjects)%len(namespaces)],
			Key: fmt.Sprintf("key %04d/键", i), Value: strings.ReplaceAll(itemValues[i%len(itemValues)], "%d", fmt.Sprint(i)),
			Visibility: client.PrivateOnly, Source: new("import"), CreatedAt: 1767312000 + int64(i), UpdatedAt: 1767398400 + int64(i),
		}
		visibility, confidence, source := 1, "NULL", "NULL"
		if i%3 == 0 {
			item.Visibility, visibility = client.PublicOK, 0
		}
		if i%2 == 0 {
			item.Confidence, confidence = new(float64(i)/1000), fmt.Sprint(float64(i)/1000)
			item.Source, source = new(fmt.Sprintf("msg:%d", i)), fmt.Sprintf("'msg:%d'", i)
		}
		want[item.SubjectID] = append(want[item.SubjectID], item)
		sql += fmt.Sprintf("INSERT INTO memory_items VALUES ('%s', '%s', '%s', CAST(x'%x' AS TEXT), %d, %s, %s, %d, %d);\n",
			item.SubjectID, item.Namespace, item.Key, item.Value, visibility, confidence, source, item.CreatedAt, item.UpdatedAt)
	}
	sql += "INSERT INTO identity_links VALUES ('telegram:1', 'acct:42', 1, 1), ('slack:T1:U1', 'acct:42', 1, 1);\nCOMMIT;\n"
	if err := os.MkdirAll(filepath.Join(s.home, ".morph"), 0o700); err != nil {
		t.Fatal(err)
	}
	create := s.shell("sqlite3 ~/.morph/mister_morph.sqlite")
	create.Stdin = strings.NewReader(sql)
	if out, err := create.CombinedOutput(); err != nil || string(out) != "wal\n" {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}

	s.must(t, recipes[0])
	store := &client.Store{Client: &client.Client{Socket: filepath.Join(s.home, "run", "memwatchd", "memwatchd.sock")}}
	for _, subject := range subjects {
		got, err := store.List(t.Context(), subject, "", client.ReadOptions{Context: client.ContextPrivate})
		if err != nil {
			t.Fatal(err)
		}
		order := func(a, b client.StoredItem) int {
			return strings.Compare(a.Namespace+"\x00"+a.Key, b.Namespace+"\x00"+b.Key)
		}
		slices.SortFunc(got, order)
		slices.SortFunc(want[subject], order)
		if diff := cmp.Diff(want[subject], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", subject, diff)
		}
	}
	repeated := s.run(t, "recipe", "memwatchd import items items.jsonl")
	if repeated != "0 items imported, 1000 unchanged, 0 older than the stored ones\n" {
		t.Errorf("imported again: %s", repeated)
	}

	s.must(t, recipes[1])
	resolver := &client.Resolver{Client: store.Client}
	for key, subject := range map[string]string{
		"telegram:1": "acct:42", "slack:T1:U1": "acct:42", "telegram:2": "ext:telegram:2",
	} {
		who, err := resolver.Resolve(t.Context(), key)
		if err != nil || who.SubjectID != subject {
			t.Errorf("%s is %q, want %q (%v)", key, who.SubjectID, subject, err)
		}
	}
	got, err := store.List(t.Context(), "acct:42", "", client.ReadOptions{Context: client.ContextPrivate})
	if len(got) != 750 || err != nil {
		t.Errorf("the account and its keys have %d items, want 750 (%v)", len(got), err)
	}
}

// compatibilityPage returns the page about other systems.
func compatibilityPage(t *testing.T) *docPage {
	t.Helper()
	all := pages(t)
	i := slices.IndexFunc(all, func(p *docPage) bool { return p.path == "docs/internals/compatibility.md" })
	if i < 0 {
		t.Fatal("there is no compatibility page")
	}
	return all[i]
}

// sqliteRecipes returns the commands of the compatibility page that read a
// database.
func sqliteRecipes(t *testing.T) (list []string) {
	t.Helper()
	p := compatibilityPage(t)
	for _, b := range p.blocks {
		if text := strings.Join(p.lines[b.start:b.end], "\n"); strings.HasPrefix(text, "sqlite3 ") {
			list = append(list, text)
		}
	}
	if len(list) != 2 {
		t.Fatalf("the page has %d recipes, want 2", len(list))
	}
	return list
}
