package memory

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var treeFlag = flag.String("tree", shared, "a directory of Markdown files, which TestRevisionOnTree edits in memory")

// maxEdits bounds the number of entries and tasks that are tested in one file.
// In a larger file, those tested are evenly spaced.
const maxEdits = 150

// TestRevisionOnTree toggles every box, removes every entry and sets the
// counters of all files below a directory, each alone, and checks that exactly
// the intended bytes change.
func TestRevisionOnTree(t *testing.T) {
	if _, err := os.Stat(*treeFlag); err != nil {
		t.Skipf("no files to edit: %v; give a directory with -tree", err)
	}
	var files, unsound, tasks, removed, apart, fields int
	refused := map[string]int{}
	err := filepath.WalkDir(*treeFlag, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.EqualFold(filepath.Ext(path), ".md") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(*treeFlag, path)
		if len(rel) > 12 && !IsDay(rel[:10]) {
			_, rel, _ = strings.Cut(rel, "/") // each collection is a root
		}
		l := testLayout()
		parse := func(b []byte) *Document { return l.Parse(rel, b, testMeta) }
		d := parse(src)
		files++
		most := maxEdits
		if len(src) > 100<<10 {
			most = 3
		}
		if d.Unsound {
			unsound++
			r := d.Revise()
			r.Append(nil, "more")
			if _, err := r.Apply(parse); err == nil {
				t.Errorf("%s is unsound, and edited", path)
			}
			return nil
		}
		var boxes [][2]int
		for i := range d.Entries {
			for j := range d.Entries[i].Tasks {
				boxes = append(boxes, [2]int{i, j})
			}
		}
		for _, at := range spreadIndexes(boxes, most) {
			task := d.Entries[at[0]].Tasks[at[1]]
			r := d.Revise()
			r.SetTask(at[0], at[1], 1-task.State)
			got, err := r.Apply(parse)
			if err != nil {
				t.Errorf("%s:%d: %v", path, task.Line, err)
				continue
			}
			tasks++
			want := slices.Clone(src)
			want[task.Box.Start] = " x"[1-task.State]
			if !bytes.Equal(got, want) {
				t.Errorf("%s:%d: ticking changes other bytes", path, task.Line)
			}
		}
		all := make([]int, len(d.Entries))
		for i := range all {
			all[i] = i
		}
		for _, i := range spreadIndexes(all, most) {
			e := &d.Entries[i]
			r := d.Revise()
			r.Remove(i)
			got, err := r.Apply(parse)
			if err != nil {
				_, reason, _ := strings.Cut(err.Error(), "text at line ")
				_, reason, _ = strings.Cut(reason, " ")
				refused[reason]++
				t.Logf("%s:%d: %v", path, e.Line, err)
				continue
			}
			removed++
			// The result consists of the text above and below, without the
			// blank lines on one side, or with one added to separate the
			// blocks.
			above, below := 0, 0
			for above < len(got) && above < e.Span.Start && got[above] == src[above] {
				above++
			}
			for below < len(got)-above && below < len(src)-e.Span.End && got[len(got)-1-below] == src[len(src)-1-below] {
				below++
			}
			between := got[above : len(got)-below]
			if !isBlankText(between) || !isBlankText(bytes.TrimPrefix(src[above:e.Span.Start], bom)) || !isBlankText(src[e.Span.End:len(src)-below]) {
				t.Errorf("%s:%d: removing an entry changes other text: %q", path, e.Line, between)
			}
			if len(between) > 0 {
				apart++
			}
		}
		if d.Front.Present {
			for _, key := range []string{"tasks", "follow_ups"} {
				r := d.Revise()
				r.SetField(key, "7/9")
				got, err := r.Apply(parse)
				if err != nil {
					refused[err.Error()]++
					continue
				}
				fields++
				if f, ok := parse(got).Front.Field(key); !ok || f.Value != "7/9" {
					t.Errorf("%s: %s is not set", path, key)
				}
				if n := bytes.Count(got, []byte("\n")) - bytes.Count(src, []byte("\n")); n > 1 || n < 0 {
					t.Errorf("%s: setting a counter makes %d lines", path, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d of them never written to: %d boxes changed, %d entries removed (%d with a blank line put between their neighbours), %d counters set",
		files, unsound, tasks, removed, apart, fields)
	for reason, n := range refused {
		t.Logf("refused %d times: %s", n, reason)
	}
}

// spreadIndexes returns at most n elements of a list, evenly spaced.
func spreadIndexes[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	out := make([]T, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}
