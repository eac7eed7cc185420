package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// soakWord matches the word that is unique to one entry.
var soakWord = regexp.MustCompile(`\bx[bcdfghjklm]+\b`)

// A truth is the content of the files that a caller may see.
type truth struct {
	who     fields
	entries int
	words   map[string]entryAt
	hashes  map[string]string // of files that are shown whole
}

type entryAt struct {
	path      string
	line, end int
	text      string
}

// agree compares each entry of the files with the results of searches. It reads
// the directories itself instead of relying on the daemon.
func (s *soak) agree(when string) {
	s.t.Helper()
	s.sync()
	docs, dirs, directories := s.read()
	entries := 0
	for _, doc := range docs {
		entries += len(doc.Entries)
	}
	differs := &differences{}
	var truths []*truth
	for _, scope := range []struct {
		who   fields
		scope memory.Scope
	}{
		{owner, memory.Scope{Subject: "owner", Context: memory.Private}},
		{public, memory.Scope{Context: memory.Public}},
		{account, memory.Scope{Subject: "acct:42", Context: memory.Private}},
		{alice, memory.Scope{Subject: "alice", Context: memory.Private}},
	} {
		view, err := directories.View(scope.scope)
		if err != nil {
			s.t.Fatal(err)
		}
		truths = append(truths, truthOf(scope.who, docs, view, differs))
	}
	if n := len(truths[0].words); n < 1000 || len(truths[1].words) == 0 || len(truths[2].words) == 0 {
		s.t.Fatalf("there are %d words, and the test says nothing", n)
	}
	st := s.mustStatus()
	if st.Files != len(docs) || st.Entries != entries || st.Index.Pending != 0 || !st.Healthy {
		differs.add("status says %d files with %d entries, there are %d with %d; %+v", st.Files, st.Entries, len(docs), entries, st.Index)
	}
	if w := st.Watch; len(w.Polled) == 0 && w.Directories != dirs {
		differs.add("%d directories are watched, there are %d", w.Directories, dirs)
	}
	for _, c := range s.check().Differing {
		differs.add("check says that %s %s", c.Path, c.Reason)
	}
	for i, tr := range truths {
		if i > 1 { // the public sees these, and so do the others
			maps.DeleteFunc(tr.words, func(word string, at entryAt) bool { return truths[1].words[word] == at })
		}
		if err := s.compare(tr, truths[1], differs); err != nil {
			differs.add("%v", err)
		}
	}
	for _, d := range differs.list {
		s.t.Errorf("%s, %s", when, d)
	}
	if differs.n > len(differs.list) {
		s.t.Errorf("%s, and %d more differences", when, differs.n-len(differs.list))
	}
	s.t.Logf("%s: %d files, %d entries, of %d words %d are there", when, len(docs), entries, s.words.Load(), len(truths[0].words))
}

// differences counts the differences and keeps the first ones.
type differences struct {
	mu   sync.Mutex
	n    int
	list []string
}

func (d *differences) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if len(d.list) < 20 {
		d.list = append(d.list, fmt.Sprintf(format, args...))
	}
}

// read reads and parses every file below the root, and counts the directories.
func (s *soak) read() (docs []*memory.Document, dirs int, directories *memory.Directories) {
	s.t.Helper()
	layout := &memory.Layout{Users: func(dir string) bool { return dir == "alice" }, Daily: memory.PublicOK, Sessions: memory.PublicOK}
	directories = &memory.Directories{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir():
			dirs++
			return nil
		case filepath.Ext(path) != ".md":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		doc := layout.Parse(filepath.ToSlash(rel), data, memory.Meta{})
		directories.Set(doc.Place, doc.Claim)
		docs = append(docs, doc)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return docs, dirs, directories
}

// truthOf returns the content of the files that a view may see. For the owner it
// also checks, by the bytes, that every word is in an entry.
func truthOf(who fields, docs []*memory.Document, view memory.View, differs *differences) *truth {
	tr := &truth{who: who, words: map[string]entryAt{}, hashes: map[string]string{}}
	for _, whole := range docs {
		doc := whole.For(view)
		if doc == nil {
			continue
		}
		shown := doc.Shown(view)
		if shown.Complete && bytes.Equal(doc.Source, whole.Source) {
			sum := sha256.Sum256(whole.Source)
			tr.hashes[doc.Place.Path] = hex.EncodeToString(sum[:])
		}
		lines := bytes.Split(doc.Source, []byte("\n"))
		for i := range doc.Entries {
			e := &doc.Entries[i]
			if !e.Readable(view) {
				continue
			}
			tr.entries++
			at := entryAt{doc.Place.Path, shown.Line(e.Line), shown.Line(e.EndLine), e.Text}
			for _, word := range soakWord.FindAllString(string(bytes.Join(lines[e.Line-1:e.EndLine], []byte("\n"))), -1) {
				if other, ok := tr.words[word]; ok {
					differs.add("%s is at %s:%d and at %s:%d: the test is wrong", word, other.path, other.line, at.path, at.line)
				}
				tr.words[word] = at
			}
		}
		if who["subject"] == "owner" {
			for _, word := range soakWord.FindAllString(string(doc.Source), -1) {
				if _, ok := tr.words[word]; !ok {
					differs.add("%s has %s, and no entry of it has", doc.Place.Path, word)
				}
			}
		}
	}
	return tr
}

// compare searches for every word that was ever created.
func (s *soak) compare(tr, common *truth, differs *differences) error {
	c := newHTTPClient(s.socket)
	defer c.CloseIdleConnections()
	everything := tr.who.with(fields{"include_archived": true, "sync": false, "limit": 100})
	ask := func(query string, more fields) (*api.SearchAnswer, error) {
		var a api.SearchAnswer
		err := s.question(context.Background(), c, http.MethodPost, "/v1/search", everything.with(exactly(query, more)), &a)
		return &a, err
	}
	if a, err := ask("", fields{"mode": "overlap", "all": true, "limit": 1}); err != nil || a.Total != tr.entries {
		differs.add("%v is told of %d entries, there are %d; %v", tr.who, a.Total, tr.entries, err)
	}
	var there, gone []string
	for n := range int(s.words.Load()) {
		word := letters(n + 1)
		_, is := tr.words[word]
		_, others := common.words[word]
		switch {
		case is:
			there = append(there, word)
		case !others:
			gone = append(gone, word)
		}
	}
	var group errgroup.Group
	group.SetLimit(2)
	for part := range slices.Chunk(there, 100) {
		group.Go(func() error {
			for _, word := range part {
				a, err := ask(word, nil)
				if err != nil {
					return err
				}
				at := tr.words[word]
				want := fmt.Sprintf("%s:%d-%d %s", at.path, at.line, at.end, at.text)
				if got := texts(a); len(got) != 1 || got[0] != want || len(a.Hits[0].AlsoAt) > 0 {
					differs.add("%v asks for %s and finds\n%q, want\n%q; %+v", tr.who, word, got, want, a.Index)
				}
			}
			return nil
		})
	}
	for part := range slices.Chunk(gone, 30) {
		group.Go(func() error {
			a, err := ask(strings.Join(part, " "), nil)
			if err == nil && a.Total > 0 {
				differs.add("%v asks for words that are in no file and finds %d:\n%q", tr.who, a.Total, texts(a))
			}
			return err
		})
	}
	for path, hash := range tr.hashes {
		group.Go(func() error {
			var a api.GetAnswer
			err := s.question(context.Background(), c, http.MethodPost, "/v1/get", tr.who.with(fields{"path": path, "sync": false}), &a)
			if err != nil || a.Hash != hash {
				differs.add("%v gets %s with %s, want %s; %v", tr.who, path, cmp.Or(a.Hash, "nothing"), hash, err)
			}
			return nil
		})
	}
	return group.Wait()
}
