package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
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
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	if dirs := p.recheckDirs([]string{"alice", "bob"}); len(dirs) > 0 || !p.IsUserDir("alice") || p.IsUserDir("bob") {
		t.Errorf("while the root is missing, %q have changed", dirs)
	}
	if err := os.Remove(root + ".away/alice/MEMORY.md"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root+".away", root); err != nil {
		t.Fatal(err)
	}
	if dirs := p.recheckDirs([]string{"alice"}); len(dirs) != 1 || p.IsUserDir("alice") {
		t.Errorf("when the root is back without MEMORY.md, %q have changed", dirs)
	}
}
