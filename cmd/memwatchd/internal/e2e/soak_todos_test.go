package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A household has chores on lists, each on several days, and does them one after
// the other: what is done in one place is ticked in the others by the daemon,
// while people add lines to the same files. When all is done there are new
// lists.
type household struct {
	*desk
	round, done int                 // of the lists, and of the chores on them
	added       map[string][]string // lines that were saved, by file
}

const (
	choreLists   = 10
	choreDays    = 4
	choresAtOnce = 30 // at a time
)

func (h *household) list(chore, day int) string {
	return fmt.Sprintf("%s/chores_%d.md", testkit.Ago(day), chore%choreLists)
}

func (h *household) chore(n int) string {
	return fmt.Sprintf("chore number %d of the house in round %d", n, h.round)
}

// renew makes new lists.
func (h *household) renew() error {
	h.round, h.done, h.added = h.round+1, 0, map[string][]string{}
	errs := []error{h.save(h.did(), "## Tasks\n")}
	for n := range choreLists {
		for day := range choreDays {
			text := "## Notes\n- " + h.word() + "\n\n## Tasks\n"
			for chore := n; chore < choresAtOnce; chore += choreLists {
				text += "- [ ] " + h.chore(chore) + "\n"
			}
			errs = append(errs, h.save(h.list(n, day+1), text))
		}
	}
	return errors.Join(errs...)
}

// did is where it is said what is done.
func (h *household) did() string { return testkit.Ago(0) + "/chores_did.md" }

func (h *household) act() error {
	if h.done == choresAtOnce {
		return errors.Join(h.ticked(), h.renew())
	}
	path, line := h.list(h.IntN(choreLists), 1+h.IntN(choreDays)), "- [ ] "+h.word()
	h.added[path] = append(h.added[path], line)
	h.saves.Add(2)
	h.done++
	return errors.Join(h.appendTo(path, line+"\n"), h.appendTo(h.did(), "- [x] "+h.chore(h.done-1)+"\n"))
}

// ticked waits until everything that is done is ticked everywhere, and checks that
// everything that people saved is there. A file is tried again after a minute at the
// latest if it was being saved each time; a tick that is not even planned is lost.
func (h *household) ticked() error {
	left := errors.New("it is not known what is ticked")
	began, planned := time.Now(), time.Now()
	for ; left != nil; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 10*time.Minute || time.Since(planned) > time.Minute {
			return left
		}
		st, err := h.status()
		left = errors.Join(err, h.missing())
		if err == nil && (st.Todosync == nil || st.Todosync.Planned > 0) {
			planned = time.Now()
			left = errors.Join(left, fmt.Errorf("there is more to do: %+v", st.Todosync))
		}
		if list := h.leftovers(); left == nil && len(list) > 0 && h.temporary(list) {
			left = fmt.Errorf("left over: %q", list)
		}
	}
	return nil
}

// temporary reports whether something of a change is left: others save too, with
// files of their own beside.
func (h *household) temporary(list []string) bool {
	return slices.ContainsFunc(list, func(path string) bool {
		return strings.Contains(path, ".memwatchd-") || strings.Contains(path, "intent")
	})
}

// missing says what is not on the lists, or not ticked there.
func (h *household) missing() error {
	for n := range choreLists {
		for day := range choreDays {
			path := h.list(n, day+1)
			text, err := os.ReadFile(h.path(path))
			if err != nil {
				return err
			}
			want := slices.Clone(h.added[path])
			for chore := n; chore < choresAtOnce; chore += choreLists {
				box := "- [ ] "
				if chore < h.done {
					box = "- [x] "
				}
				want = append(want, box+h.chore(chore))
			}
			lines := strings.Split(string(text), "\n")
			for _, line := range want {
				if !slices.Contains(lines, line) {
					return fmt.Errorf("%s has not %q:\n%s", path, line, text)
				}
			}
		}
	}
	return nil
}

func (s *soak) household(n int) *actor {
	h := &household{desk: s.desk(n)}
	return &actor{
		name: "a household", pause: 400 * time.Millisecond,
		prepare: h.renew,
		act:     func(context.Context) error { return h.act() },
		end: func() error { // until then a line may be ticked after it was compared
			err := h.ticked()
			if st, e := s.status(); e == nil {
				s.t.Logf("%d rounds of chores; %d changes, %d races lost", h.round, st.Write.Applied, st.Write.LostRaces)
			}
			return err
		},
	}
}
