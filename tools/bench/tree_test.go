package main

import (
	"os"
	"path/filepath"
	"testing"
)

// written writes a tree and returns the text of every file.
func written(t *testing.T, seed uint64, files int) (root string, texts map[string]string) {
	t.Helper()
	root, texts = t.TempDir(), map[string]string{}
	if err := newTree(seed, files).write(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	err := walkTree(root, func(path string) error {
		text, err := os.ReadFile(filepath.Join(root, path))
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return root, texts
}

func TestSameSeedSameTree(t *testing.T) {
	_, first := written(t, 1, 300)
	_, again := written(t, 1, 300)
	_, other := written(t, 2, 300)
	if len(first) != 300 {
		t.Fatalf("%d files, want 300", len(first))
	}
	differ := 0
	for path, text := range first {
		if again[path] != text {
			t.Errorf("%s is not the same the second time", path)
		}
		if other[path] != text {
			differ++
		}
	}
	if differ < 290 {
		t.Errorf("with another seed only %d files are others", differ)
	}
}
