package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

func TestProject(t *testing.T) {
	home := t.TempDir()
	mkdir := func(path string) string {
		path = filepath.Join(home, path)
		testkit.Must(t, os.MkdirAll(path, 0o700))
		return path
	}
	for _, dir := range []string{"src/Shop/.git", "src/Shop/web/cart", "src/c++ 练习/.git", "src/123/.git", "plain/below",
		"memory/.git", "memory/2026-02-04", "around/memory", "around/.git", "src/tree", "src/sub", "src/sub2", "src/submodules/tree", "src/relative",
		"bare/.bare", "bare/main/web/cart", "bare/sub/x", "bare.git/hooks", "far/from", "moved", "work/blog/drafts", "work/blog/.git"} {
		mkdir(dir)
	}
	for path, text := range map[string]string{
		"src/tree/.git":            "gitdir: " + home + "/src/Shop/.git/worktrees/tree\n",
		"src/sub/.git":             "gitdir: ../Shop/.git/modules/sub\n",
		"src/sub2/.git":            "gitdir: ../Shop/.git/modules/worktrees/sub2\n",
		"src/submodules/tree/.git": "gitdir: ../../Shop/.git/modules/lib/worktrees/tree\n",
		"src/relative/.git":        "gitdir: ../Shop/.git/worktrees/relative\n",
		"bare/.git":                "gitdir: ./.bare\n",
		"bare/main/.git":           "gitdir: " + home + "/bare/.bare/worktrees/main\n",
		"bare/sub/x/.git":          "gitdir: ../../.bare/worktrees/x\n",
		"far/from/.git":            "gitdir: " + home + "/bare.git/worktrees/from",
		"moved/.git":               "gitdir: /elsewhere/store/moved\n",
	} {
		testkit.Must(t, os.WriteFile(filepath.Join(home, path), []byte(text), 0o600))
	}
	c, err := load(t, "", Flags{Dir: filepath.Join(home, "memory")})
	testkit.Must(t, err)
	for dir, want := range map[string]string{
		"src/Shop": "shop", "src/Shop/web/cart": "shop", "src/c++ 练习": "c-练习", "src/123": "", "plain/below": "",
		"memory/2026-02-04": "", "src/tree": "shop", "src/sub": "sub", "src/gone": "",
		"src/sub2": "sub2", "src/submodules/tree": "lib", "src/relative": "shop", "bare": "bare", "bare/.bare": "bare",
		"bare/main": "bare", "bare/main/web/cart": "bare", "bare/sub/x": "bare", "bare/sub": "bare", "far/from": "bare", "moved": "moved",
		"work": "", "work/blog/drafts": "blog",
	} {
		if got := c.Project(filepath.Join(home, dir)); got != want {
			t.Errorf("the project of %s is %q, want %q", dir, got, want)
		}
	}
	for _, dir := range []string{"", "src/Shop", "."} {
		if got := c.Project(dir); got != "" {
			t.Errorf("the project of %q is %q", dir, got)
		}
	}
	for memory, dir := range map[string]string{ // repositories and worktrees around the memory
		"around/memory": "around", "bare/main/web": "bare/main", "far/from/memory": "far/from",
	} {
		c.Memory.Dir = filepath.Join(home, memory)
		if got := c.Project(filepath.Join(home, dir)); got != "" {
			t.Errorf("the project of %s around the memory is %q", dir, got)
		}
	}
}
