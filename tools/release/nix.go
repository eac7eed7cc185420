package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// vendorHash returns the hash of the modules that the program needs, as
// flake.nix states it: of the directory that go mod vendor makes.
func vendorHash(repository string) (string, error) {
	dir, err := os.MkdirTemp("", "release-vendor-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	vendor := filepath.Join(dir, "vendor")
	if _, err := output(repository, nil, "go", "mod", "vendor", "-o", vendor); err != nil {
		return "", err
	}
	a := nixArchive{sha256.New()}
	a.strings("nix-archive-1")
	if err := a.node(vendor); err != nil {
		return "", err
	}
	return "sha256-" + base64.StdEncoding.EncodeToString(a.Sum(nil)), nil
}

// nixArchive is the hash of a directory in the archive format of Nix
// (Dolstra, The Purely Functional Software Deployment Model, figure 5.2).
type nixArchive struct{ hash.Hash }

// strings writes texts, each with its length before it and zeros after it up
// to a multiple of eight bytes.
func (a nixArchive) strings(list ...string) {
	for _, s := range list {
		binary.Write(a, binary.LittleEndian, uint64(len(s)))
		io.WriteString(a, s+strings.Repeat("\x00", -len(s)&7))
	}
}

// node writes a directory or a file that is not executable.
func (a nixArchive) node(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(path)
		a.strings("(", "type", "regular", "contents", string(data), ")")
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	a.strings("(", "type", "directory")
	for _, e := range entries {
		a.strings("entry", "(", "name", e.Name(), "node")
		if err := a.node(filepath.Join(path, e.Name())); err != nil {
			return err
		}
		a.strings(")")
	}
	a.strings(")")
	return nil
}
