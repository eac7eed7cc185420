package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// wantCalm checks that the daemon neither keeps a processor busy nor fills its
// log while it cannot improve its state.
func (l *live) wantCalm(state string) {
	l.t.Helper()
	watched := time.Second
	if os.Getenv("FAULTS") != "" {
		watched = 10 * time.Second
	}
	began, before, lines := time.Now(), l.cpu(), l.lines()
	time.Sleep(watched) // the interval of the measurement
	used, said, took := l.cpu()-before, l.lines()-lines, time.Since(began)
	l.t.Logf("while %s, in %s it uses %s of a processor and logs %d lines", state, took, used, said)
	if used > took/2 && !raced() || said > 10 {
		l.t.Errorf("while %s, in %s it uses %s of a processor and logs %d lines", state, took, used, said)
	}
}

// lines returns the number of lines in the daemon's log.
func (l *live) lines() int { return strings.Count(l.log.String(), "\n") }

// cpu returns the processor time that the daemon has used.
func (l *live) cpu() time.Duration {
	l.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.cmd.Process.Pid))
	if err != nil {
		l.t.Skip("the processor time of a process can only be read where there is /proc")
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the end of the program's name
	ticks := 0
	for _, field := range strings.Fields(rest)[11:13] {
		n, err := strconv.Atoi(field)
		testkit.Must(l.t, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
