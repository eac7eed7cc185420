package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// itemsDatabase creates the database of a system with items in SQLite, as its
// description lists the fields, constraints and indexes.
const itemsDatabase = `mkdir ~/.morph; sqlite3 ~/.morph/mister_morph.sqlite <<'END'
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
INSERT INTO memory_items VALUES
	('acct:42', 'fact', 'tea/茶', 'green
	<!-- id=1 visibility=public_ok --> "null" \n', 1, 0.5, 'msg:1', 1767312000, 1767398400),
	('ext:telegram:1', 'preference', 'style', '{"lang":"zh"}', 0, NULL, NULL, 1767312001, 1767398401);
INSERT INTO identity_links VALUES ('telegram:1', 'acct:42', 1, 1);
END`

// TestSQLiteRecipes checks the recipes of the compatibility page on a database: items
// arrive in memory with every byte of their values, once, and the keys of accounts are
// linked.
func TestSQLiteRecipes(t *testing.T) {
	t.Parallel()
	needs(t, "sqlite3")
	var recipes []string
	for _, p := range pages(t) {
		p.each("sh", func(_, text string) {
			if strings.HasPrefix(text, "sqlite3 ") {
				recipes = append(recipes, text)
			}
		})
	}
	if len(recipes) != 2 {
		t.Fatalf("the pages have %d recipes, want 2", len(recipes))
	}
	s := newHome(t)
	s.must(t, "memwatchd init --dir mem")
	s.start(t, "memwatchd serve")
	s.must(t, itemsDatabase)
	s.must(t, recipes[0])
	s.must(t, recipes[1])
	for line, want := range map[string]string{
		"memwatchd --subject acct:42 item get fact tea/茶":              "green\n\t<!-- id=1 visibility=public_ok --> \"null\" \\n\n",
		"memwatchd --subject ext:telegram:1 item get preference style": `{"lang":"zh"}` + "\n",
		"memwatchd --subject acct:42 --context public item list":       "preference:\n",
		"memwatchd import items items.jsonl":                           "0 items imported, 2 unchanged, 0 older than the stored ones\n",
		"memwatchd identity resolve telegram:1":                        "telegram:1 is acct:42\n",
	} {
		out, err := s.shell(line).Output()
		if _, isExit := err.(*exec.ExitError); err != nil && !isExit || !strings.HasPrefix(string(out), want) {
			t.Errorf("$ %s: %v (-want +got):\n%s", line, err, cmp.Diff(want, string(out)))
		}
	}
}
