package vault

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUndoRestoresEveryByte checks that undoing changes one by one restores
// every intermediate state. Undoing all changes at once restores the first
// state, and undoing that restores the state before it.
func TestUndoRestoresEveryByte(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 3))
			w := newWriter(t, map[string]string{"a.md": "one\r\ntwo\r\nthree", "2026-02-05/b.md": "\ufeff- [ ] x\n- [ ] y\n\n\n", "c.md": ""})
			files := func() map[string]string { return w.readTestTree(t) }
			states, made := []map[string]string{files()}, []string{""}
			for n := 0; len(states) < 10; n++ {
				before := files()
				paths := slices.Sorted(maps.Keys(before))
				path := paths[rng.IntN(len(paths))]
				id := ""
				switch rng.IntN(6) {
				case 0:
					id = w.mustWrite(t, contentChange(fmt.Sprintf("new/%d.md", n), strings.Repeat("new\n", rng.IntN(3)))).ID
				case 1:
					if len(paths) > 2 {
						id = w.mustWrite(t, removalChange(path)).ID
					}
				case 2:
					moved, err := w.Move(t.Context(), path, fmt.Sprintf("moved/%d.md", n), Change{Cause: "archive", Requested: true})
					must(t, err)
					id = moved.ID
				default:
					lines := strings.SplitAfter(before[path], "\n")
					at := rng.IntN(len(lines))
					lines[at] = []string{"", "changed\n", lines[at] + "added", lines[at] + "added\r\n"}[rng.IntN(4)]
					id = w.mustWrite(t, contentChange(path, strings.Join(lines, ""))).ID
				}
				if id != "" {
					states, made = append(states, files()), append(made, id)
				}
			}
			last := states[len(states)-1]
			if rng.IntN(2) == 0 {
				for i := len(states) - 1; i > 0; i-- {
					w.mustUndo(t, made[i])
					wantFiles(t, w, states[i-1])
				}
			}
			newest := w.Journal.List(time.Time{}, "", 1)[0].Group
			list := (&Undoer{w}).UndoSince(t.Context(), time.Time{}, nil, false)
			wantFiles(t, w, states[0])
			if len(list) == 0 {
				return
			}
			group := w.Journal.List(time.Time{}, "", 1)[0].Group
			w.mustUndo(t, group)
			if newest == made[len(made)-1] {
				wantFiles(t, w, last)
			} else {
				wantFiles(t, w, states[0])
			}
		})
	}
}
