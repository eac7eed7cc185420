package app

import (
	"errors"
	"io/fs"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/vault"
)

// openRoot looks up files through the vault, which does not block on a dead
// disk.
func openRoot(c *config.Config) *cli.Root {
	root := &cli.Root{Dir: c.Memory.Dir, Folders: c.Folders()}
	root.Has = func(path string) (exists, known bool) {
		dir, below := root.Locate(path)
		v := &vault.Vault{Dir: dir}
		if _, dir := v.Directory(below); dir {
			return true, true
		}
		_, err := v.Stat(below)
		if errors.Is(err, vault.ErrRoot) {
			return false, false
		}
		return !errors.Is(err, fs.ErrNotExist), true
	}
	return root
}
