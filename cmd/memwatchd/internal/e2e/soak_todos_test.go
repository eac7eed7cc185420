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

// A household has chores on lists, each on several days, and completes them one
// after the other. The daemon ticks a chore that is done in one place in the
// others, while lines are added to the same files. When all are done, new lists
// follow.
type household struct {
	*desk
	round, done int                 // of the lists, and of the chores on them
	added       map[string][]string // lines that were saved, by file
}

const (
	choreLists   = 10
	choreDays    = 4
	choresAtOnce = 30
)

func (h *household) list(chore, day int) string {
	return fmt.Sprintf("%s/chores_%d.md", testkit.DaysAgo(day), chore%choreLists)
}

func (h *household) chore(n int) string {
	return fmt.Sprintf("chore number %d of the house in round %d", n, h.round)
}

// renew creates new lists.
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

// did returns the file in which chores are completed.
func (h *household) did() string { return testkit.DaysAgo(0) + "/chores_did.md" }

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

// ticked waits until every completed chore is ticked everywhere, and checks
// that every saved line is there. A file that was being saved each time is
// retried after a minute at the latest. A tick that is not planned for a minute is
// lost, unless the index is incomplete: the daemon plans nothing before.
func (h *household) ticked() error {
	left := errors.New("it is not known what is ticked")
	began, planned := time.Now(), time.Now()
	for ; left != nil; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 10*time.Minute || time.Since(planned) > time.Minute {
			return left
		}
		st, err := h.status()
		left = errors.Join(err, h.missing())
		if err == nil && (st.Index.Degraded || st.Todosync == nil || st.Todosync.Planned > 0) {
			planned = time.Now()
			left = errors.Join(left, fmt.Errorf("there is more to do: %+v, %+v", st.Index, st.Todosync))
		}
		if list := h.leftovers(); left == nil && len(list) > 0 && h.temporary(list) {
			left = fmt.Errorf("left over: %q", list)
		}
	}
	return nil
}

// temporary reports whether list contains a temporary file or an intent of the
// daemon: other actors save with temporary files of their own.
func (h *household) temporary(list []string) bool {
	return slices.ContainsFunc(list, func(path string) bool {
		return strings.Contains(path, ".memwatchd-") || strings.Contains(path, "intent")
	})
}

// missing returns an error if a line is missing on a list, or a completed chore
// is not ticked there.
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
