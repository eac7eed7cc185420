// Release makes the files of a release: archives, packages for Linux, npm, OCI
// and MCP, plugins, and the checksums of all of them. Their sources are in
// tools/packaging/.
//
// The same commit and the same version of Go produce the same bytes, regardless
// of machine and time. The release is built from a clone, which excludes all
// other files, and all times are that of the commit. The version is the tag of
// the commit, or a version that names the commit if there is no tag.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	out := flag.String("out", "../../dist", "directory to write to; an earlier release in it is removed")
	check := flag.Bool("check", false,
		"make everything twice, in different places and from nothing, and compare, before writing")
	repository := flag.String("repository", "../..", "what is released: the commit that is checked out there")
	vendor := flag.Bool("vendorhash", false, "print the hash of the modules for flake.nix; nothing is written")
	flag.Parse()
	if *vendor {
		hash, err := vendorHash(*repository)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(hash)
		return
	}
	files, err := made(*repository, "release-", false)
	if err == nil && *check {
		err = checked(files, *repository)
	}
	if err == nil {
		err = written(files, *out)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// checked makes the release again, at a longer path and without caches, and
// returns an error if any file differs.
func checked(files []file, repository string) error {
	again, err := made(repository, "release-made-once-more-", true)
	if err != nil {
		return err
	}
	for i, f := range files {
		if f.name != again[i].name || !bytes.Equal(f.data, again[i].data) {
			return fmt.Errorf("%s is another when it is made again", f.name)
		}
		fmt.Printf("%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	fmt.Printf("made twice, all of them are the same\n")
	return nil
}

// written replaces a directory with the files.
func written(files []file, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, checksums)); err == nil { // an earlier release
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%8.1f MB  %s\n", float64(len(f.data))/1e6, filepath.Join(dir, f.name))
	}
	return nil
}
