package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestUsersWhileRootIsMissing checks that the users' directories stay the same
// while the root is missing.
func TestUsersWhileRootIsMissing(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	testkit.WriteFile(t, filepath.Join(root, "alice/MEMORY.md"), "# Alice\n")
	testkit.WriteFile(t, filepath.Join(root, "alice/memory/2026-01-01.md"), "- quince\n")
	p := &subjectMap{vault: &vault.Vault{Dir: root}, users: map[string]bool{}, memoryMDs: map[string]bool{}}
	if !p.IsUserDir("alice") || p.IsUserDir("bob") {
		t.Fatal("alice is a user, and bob is not")
	}
	testkit.Must(t, os.Rename(root, root+".away"))
	if dirs := p.recheckDirs([]string{"alice", "bob"}); len(dirs) > 0 || !p.IsUserDir("alice") || p.IsUserDir("bob") {
		t.Errorf("while the root is missing, %q have changed", dirs)
	}
	testkit.Must(t, os.Remove(root+".away/alice/MEMORY.md"))
	testkit.Must(t, os.Rename(root+".away", root))
	if dirs := p.recheckDirs([]string{"alice"}); len(dirs) != 1 || p.IsUserDir("alice") {
		t.Errorf("when the root is back without MEMORY.md, %q have changed", dirs)
	}
}

// TestRemovedLinkWhileSaving checks that a removed link ends once the file is
// saved, also if a request read the file while a program still had it open.
func TestRemovedLinkWhileSaving(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, filepath.FromSlash(memory.IdentitiesPath))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, name, "links:\n  telegram:1: acct:42\n")
	p := &subjectMap{vault: &vault.Vault{Dir: root}, users: map[string]bool{}, memoryMDs: map[string]bool{}}
	if s, _ := p.currentIdentities().Resolve("telegram:1"); s != "acct:42" {
		t.Fatalf("linked to %q", s)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	must(err)
	_, err = f.WriteString("links: {}\n")
	must(err)
	p.currentIdentities()
	must(f.Close())
	if s, _ := p.currentIdentities().Resolve("telegram:1"); s == "acct:42" {
		t.Errorf("still linked to %q; problem %q", s, p.links.problem)
	}
}
