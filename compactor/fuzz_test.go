package compactor

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// FuzzArchive checks for arbitrary long-term files that planned items can be
// copied, removed and restored, that every byte of their lines survives, and
// that no reader gains access.
func FuzzArchive(f *testing.F) {
	for _, pattern := range []string{"testdata/compact/*.txtar", "testdata/plan/*.txtar"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range a.Files {
				f.Add(unpicture(file.Data))
			}
		}
	}
	for _, s := range []string{
		"- a\n- <private>b\n- c</private>\n- d\n", "- a\n  - b\n\n1. c\n\n- d\n- e", "Foo\n- a\n- b\n```\ncode\n```\n", "- a <!-- id=x\n- b\n",
		"# *A* `b`\n- a\n- b\n# A/B %\n- c\n", "A\n===\n- a\n\nB\n---\n- b\n", "- [a]: b\n- [a]\n", "* a\n+ b\n- c\n", "- a <!-- from=x -->\n- b\n",
		"- 一\r\n- 二\r\n\r\n- 三", "\ufeff- a\n- b\n", "-\n-\n- c", "- a\n\n\n      code\n- b\n", "1. a\n1) b\n2. c\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4<<10 {
			return
		}
		c := &Compactor{Root: Root{Parse: parse}, Logger: slog.New(slog.DiscardHandler)}
		doc := parse(vault.File{Path: indexPath, Data: src, ModTime: oldTime})
		terms, err := c.planTerms(t.Context(), doc, api.CompactLimit{Items: 1}, oldTime.AddDate(1, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		terms.MaxLoss, terms.Since = 1, oldTime
		plan := PlanFile(doc, terms)
		if len(plan.Steps) == 0 {
			return
		}
		if plan.State == api.LeftAlone {
			t.Fatalf("%d go from a file that is left alone", len(plan.Steps))
		}

		// Into the archive.
		const path = "_longterms/acct_42/_archive/2026-03.md"
		inArchive := func(b []byte) *memory.Document { return parse(vault.File{Path: path, Data: b, ModTime: oldTime}) }
		r := inArchive(nil).Revise()
		var entries []int
		for _, s := range plan.steps {
			r.AppendVerbatim(archiveSection(indexPath, s.Section), string(s.copy))
			entries = append(entries, s.entry)
		}
		text, err := r.Apply(inArchive)
		if err != nil {
			t.Fatalf("each can be archived, and all together not: %v", err)
		}
		archive := inArchive(text)
		want, got := map[origin]memory.Visibility{}, map[origin]memory.Visibility{}
		for _, i := range entries {
			e := &doc.Entries[i]
			want[originOf(doc, e)] = e.Partition.Visibility
		}
		for i := range archive.Entries {
			if o, ok := c.archivedOrigin(archive, &archive.Entries[i]); ok {
				got[o] = archive.Entries[i].Partition.Visibility
			}
		}
		for o, v := range want {
			if got[o] != v || len(got) != len(want) {
				t.Fatalf("the archive has %q as %v\n%s", o.lines, got[o], text)
			}
		}

		// Out of the file.
		without, stuck := c.withoutEntries(doc, entries)
		if len(stuck) > 0 {
			t.Fatalf("%d of what is planned cannot go", len(stuck))
		}
		rest := parse(vault.File{Path: indexPath, Data: without, ModTime: oldTime})
		if again := PlanFile(rest, terms); again.Before.Items != plan.After.Items {
			t.Fatalf("%d items are left, and %d were planned", again.Before.Items, plan.After.Items)
		}

		// Back into the file.
		for _, s := range plan.steps {
			e := &doc.Entries[s.entry]
			b := &restoration{Compactor: c, origin: originOf(doc, e), archive: path, visibility: e.Partition.Visibility}
			text, err := b.insertEntry(&vault.File{Path: indexPath, Data: without, ModTime: oldTime})
			if err != nil {
				// Nothing can follow an unclosed code block.
				probe := rest.Revise()
				if probe.Append(e.Sections, "- any"); len(e.Sections) > 0 {
					if _, failed := probe.Apply(func(b []byte) *memory.Document {
						return parse(vault.File{Path: indexPath, Data: b, ModTime: oldTime})
					}); failed != nil {
						continue
					}
				}
				t.Fatalf("%q does not come back: %v", b.lines, err)
			}
			now := parse(vault.File{Path: indexPath, Data: text, ModTime: oldTime})
			found := entryOf(now, strings.TrimPrefix(b.restored.ID, indexPath+"#"))
			if found == nil || found.Line != b.restored.Line || found.Partition.Visibility != b.visibility {
				t.Fatalf("%q is not where it should be:\n%s", b.lines, text)
			}
			if found.Partition.Visibility == e.Partition.Visibility && !bytes.Equal(linesOf(now, found), []byte(b.lines)) && found.Attributes["visibility"] == "" {
				t.Fatalf("%q came back as %q", b.lines, linesOf(now, found))
			}
		}
	})
}
