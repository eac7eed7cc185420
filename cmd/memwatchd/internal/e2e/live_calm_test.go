package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// wantCalm checks that the daemon neither keeps a processor busy nor fills its
// log while it can do nothing about its state.
func (l *live) wantCalm(state string) {
	l.t.Helper()
	watched := 3 * time.Second
	if os.Getenv("FAULTS") != "" {
		watched = 10 * time.Second
	}
	began, before, lines := time.Now(), l.cpu(), l.lines()
	time.Sleep(watched) // what is measured is what it does meanwhile
	used, said, took := l.cpu()-before, l.lines()-lines, time.Since(began)
	l.t.Logf("while %s, in %s it uses %s of a processor and logs %d lines", state, took, used, said)
	if used > took/2 && !raced() || said > 10 {
		l.t.Errorf("while %s, in %s it uses %s of a processor and logs %d lines", state, took, used, said)
	}
}

// lines is how many there are in its log so far.
func (l *live) lines() int { return strings.Count(l.log.String(), "\n") }

// cpu is the time that the daemon has been running on a processor so far.
func (l *live) cpu() time.Duration {
	l.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
	if err != nil {
		l.t.Skip("the processor time of a process can only be read where there is /proc")
	}
	_, rest, _ := strings.Cut(string(text), ") ") // of the program's name
	ticks := 0
	for _, field := range strings.Fields(rest)[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			l.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
