package app

import (
	"errors"
	"io/fs"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/vault"
)

// A root looks up files through the vault, which does not block on a dead disk.
type root struct{ vault vault.Vault }

func openRoot(dir string) cli.Root { return &root{vault.Vault{Dir: dir}} }

// Dir implements [cli.Root].
func (r *root) Dir() string { return r.vault.Dir }

// Has implements [cli.Root].
func (r *root) Has(path string) (there, known bool) {
	if _, dir := r.vault.Directory(path); dir {
		return true, true
	}
	_, err := r.vault.Stat(path)
	if errors.Is(err, vault.ErrRoot) {
		return false, false
	}
	return !errors.Is(err, fs.ErrNotExist), true
}
