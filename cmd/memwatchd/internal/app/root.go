package app

import (
	"errors"
	"io/fs"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/vault"
)

// openRoot looks up files through the vault, which does not block on a dead
// disk.
func openRoot(dir string) *cli.Root {
	v := &vault.Vault{Dir: dir}
	return &cli.Root{Dir: dir, Has: func(path string) (exists, known bool) {
		if _, dir := v.Directory(path); dir {
			return true, true
		}
		_, err := v.Stat(path)
		if errors.Is(err, vault.ErrRoot) {
			return false, false
		}
		return !errors.Is(err, fs.ErrNotExist), true
	}}
}
