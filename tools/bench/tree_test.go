package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/memwatchd/memwatchd/memory"
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

// TestTextIsLikeNotes compares generated text with figures of real notes: 7,000
// different words among the first 100,000, the most frequent word with a share
// of 4 %, and half of the words of a file different.
func TestTextIsLikeNotes(t *testing.T) {
	root, texts := written(t, 1, 1000)
	words, most, inFiles, inFile := map[string]int{}, 0, 0, 0
	total := 0
	for _, f := range newTree(1, 1000).files {
		if f.chinese {
			continue
		}
		here := map[string]bool{}
		for word := range strings.FieldsFuncSeq(strings.ToLower(texts[f.path]), func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}) {
			here[word] = true
			inFiles++
			if total < 100_000 {
				total++
				words[word]++
				most = max(most, words[word])
			}
		}
		inFile += len(here)
	}
	between := func(what string, got, low, high float64) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: %.3f, want %.3f to %.3f", what, got, low, high)
		}
	}
	between("words counted", float64(total), 100_000, 100_000)
	between("different words", float64(len(words)), 6000, 10_000)
	between("share of the first", float64(most)/float64(total), 0.035, 0.055)
	between("share of a file's words that are different", float64(inFile)/float64(inFiles), 0.4, 0.6)

	layout, entries, private, problems := &memory.Layout{Daily: memory.PublicOK, Sessions: memory.PublicOK}, 0, 0, 0
	for path, text := range texts {
		d := layout.Parse(path, []byte(text), memory.Meta{})
		for _, p := range d.Problems {
			if p.Code != "key_duplicate" {
				problems++
			}
		}
		for _, e := range d.Entries {
			entries++
			if e.Partition.Visibility == memory.PrivateOnly {
				private++
			}
		}
	}
	between("entries a file", float64(entries)/1000, 8, 12)
	between("private entries", float64(private)/float64(entries), 0.15, 0.3)
	between("problems", float64(problems), 0, 0)

	c, err := takeCensus(t.Context(), root, 1)
	if err != nil {
		t.Fatal(err)
	}
	between("entries of the census", float64(c.entries), float64(entries), float64(entries))
	between("entries that the owner may read", float64(c.private)/float64(entries), 0.8, 0.95)
}
