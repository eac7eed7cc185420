package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// demoLines are the commands of the demonstration in the README.
var demoLines = []string{
	"memwatchd init --example",
	"cd ~/.morph/memory",
	"memwatchd search certificate",
	"echo '- **Printer**: second floor, room 214' >> MEMORY.md",
	"memwatchd search printer",
	"memwatchd --context public search printer",
	"memwatchd todo done add an index on reports.created_at",
	"memwatchd undo --since 1h --write 2>/dev/null | tail -1",
}

// demoColumns is the width of the demonstration's terminal.
const demoColumns = 80

// TestPagesDemo checks that docs/demo.svg shows the present output of demoLines
// on a terminal. With -update (make demo) it writes the image.
func TestPagesDemo(t *testing.T) {
	t.Parallel()
	s := newHome(t)
	s.env = append(s.env, "FORCE_COLOR=1")
	files := filepath.Join(s.home, ".morph/memory")
	now := readClock(pageNow)
	var session strings.Builder
	for _, line := range demoLines {
		printed := s.demonstrate(t, line)
		session.WriteString("\x1b[1;32m$\x1b[0m \x1b[1m" + line + "\x1b[0m\n" + printed)
		if printed != "" {
			session.WriteString("\n")
		}
		switch {
		case strings.HasPrefix(line, "memwatchd init"):
			setTimes(t, files, now.Add(-time.Hour))
			s.start(t, "memwatchd serve") // in use, the first command starts the daemon
		case strings.Contains(line, ">>"):
			setTimes(t, files, now)
		}
	}
	name := filepath.Join(repository, "docs", "demo.svg")
	old, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	image := demoSVG(session.String(), demoColumns)
	switch {
	case steady(image) == steady(string(old)):
	case *update:
		if err := os.WriteFile(name, []byte(image), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/demo.svg is stale; run make demo (-image +now):\n%s", cmp.Diff(string(old), image))
	}
}

// demonstrate runs a line and returns its output on a terminal. cd changes the
// directory of the next lines.
func (s *typist) demonstrate(t *testing.T, line string) (output string) {
	if dir, ok := strings.CutPrefix(line, "cd ~/"); ok {
		s.dir = filepath.Join(s.home, dir)
		return ""
	}
	return s.shown.Replace(onTerminal(t, s.shell(line), demoColumns))
}

// onTerminal runs a command on a terminal of its own and returns the output.
func onTerminal(t *testing.T, cmd *exec.Cmd, columns int) string {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	defer terminal.Close()
	fd := int(terminal.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)})
	}
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = side, side
	err = cmd.Start()
	side.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	io.Copy(&out, terminal) // ends with an error when the command has ended
	if err := cmd.Wait(); err != nil && !foundNothing(err) {
		t.Errorf("%s: %v\n%s", cmd, err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}
