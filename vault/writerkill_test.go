package vault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// writeUntilKilled is the main function of a process that changes files until
// it is killed, either before the numbered step or from outside if the number
// is 0. It prints "ready" at its start, and "saved" after saving the file as
// another program just before the exchange, move, creation or removal.
func writeUntilKilled() {
	j, err := journal.Open(os.Getenv("VAULT_TEST_JOURNAL"), 0)
	if err != nil {
		panic(err)
	}
	w := &Writer{
		Vault: &Vault{Dir: os.Getenv("VAULT_TEST_WRITER")}, Journal: j, Logger: slog.New(slog.DiscardHandler),
		settleDelay: time.Millisecond,
	}
	if files, err := strconv.Atoi(os.Getenv("VAULT_TEST_FILES")); err == nil {
		go w.Run(context.Background())
		for n := 1; ; n++ {
			if got, err := w.Write(context.Background(), countingChange(fmt.Sprintf("d/%d.md", n%files), true)); err == nil && got.Changed {
				r, _ := j.Get(got.ID)
				before, after, _ := j.Contents(r)
				var count int
				fmt.Sscanf(string(diff.Hunks(before, after)[0].New), "count: %d", &count)
				fmt.Println(n%files, count)
			}
		}
	}
	fmt.Println("ready")
	step, err := strconv.Atoi(os.Getenv("VAULT_TEST_STEP"))
	if err != nil {
		panic(err)
	}
	if step == 0 {
		go w.Run(context.Background())
		for n := 0; ; n++ {
			w.Write(context.Background(), countingChange("d/a.md", true))
		}
	}
	calls, saved := 0, os.Getenv("VAULT_TEST_SAVES") == ""
	w.fault = func(call string, do func() error) error {
		calls++
		if calls == step {
			unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		if !saved && (slices.Contains([]string{"exchange", "move", "name file", "move aside"}, call)) {
			saved = true
			if err := saveAs(os.Getenv("VAULT_TEST_SAVES"), w.Vault.Dir); err != nil {
				panic(err)
			}
			fmt.Println("saved")
		}
		return do()
	}
	for _, deed := range changeKinds {
		if deed.name == os.Getenv("VAULT_TEST_DEED") {
			w.settleDelay = time.Hour
			deed.do(context.Background(), w)
			w.settleLeftovers()
		}
	}
}

// externalText is the version that another program saves.
const externalText = "- [ ] one, and more of it\n"

func saveAs(way, root string) error {
	name := filepath.Join(root, "d/a.md")
	switch way {
	case "by renaming":
		return errors.Join(os.WriteFile(name+".new", []byte(externalText), 0o600), os.Rename(name+".new", name))
	case "by removing":
		return errors.Join(os.Remove(name), os.WriteFile(name, []byte(externalText), 0o600))
	case "by making":
		return os.WriteFile(filepath.Join(root, "x/y/a.md"), []byte(externalText), 0o600)
	}
	return errors.New("no such way")
}

func writerCommand(t *testing.T, root, journal string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "VAULT_TEST_WRITER="+root, "VAULT_TEST_JOURNAL="+journal)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKilledAtEachStep kills a process before each step of each kind of change,
// with and without a save by another program at the worst moment. The next
// process must resolve the result.
func TestKilledAtEachStep(t *testing.T) {
	for _, deed := range changeKinds {
		for _, way := range []string{"", "by renaming", "by removing", "by making"} {
			if (way == "by making") != (deed.name == "create") && way != "" {
				continue
			}
			t.Run(deed.name+" "+way, func(t *testing.T) {
				t.Parallel()
				for step := 1; killAtStep(t, step, deed.name, way, deed.before, deed.after); step++ {
				}
			})
		}
	}
}

func killAtStep(t *testing.T, step int, deed, way string, before, after map[string]string) (killed bool) {
	v := newVault(t, before)
	journal := filepath.Join(t.TempDir(), "journal")
	cmd := writerCommand(t, v.Dir, journal, "VAULT_TEST_STEP="+strconv.Itoa(step), "VAULT_TEST_DEED="+deed, "VAULT_TEST_SAVES="+way)
	out, err := cmd.Output()
	var exit *exec.ExitError
	killed = errors.As(err, &exit) && strings.Contains(err.Error(), "killed")
	if !killed {
		must(t, err)
	}
	w := writerOn(t, v, journal)
	must(t, w.Repair(t.Context()))
	path := "d/a.md"
	if deed == "create" {
		path = "x/y/a.md"
	}
	allowed := []map[string]string{before, after}
	if strings.Contains(string(out), "saved") {
		// The saved version must be in place or moved, without other changes;
		// the change may have been made to the saved version.
		allowed = nil
		if deed == "remove" {
			allowed = append(allowed, after)
		}
		for _, path := range []string{path, "x/y/a.md"} {
			for _, text := range []string{externalText, strings.Replace(externalText, "[ ]", "[x]", 1), "new\n"} {
				if text == "new\n" && deed != "create" {
					continue
				}
				with := maps.Clone(before)
				delete(with, "d/a.md")
				with[path] = text
				allowed = append(allowed, with)
			}
		}
	}
	tree := w.readTestTree(t)
	if !slices.ContainsFunc(allowed, func(files map[string]string) bool { return maps.Equal(files, tree) }) {
		t.Errorf("step %d: %q, want one of %q", step, tree, allowed)
	}
	happened := 0
	if !maps.Equal(tree, before) && (way == "" || tree[path] != externalText) {
		happened = 1
	}
	wantRecords(t, w, happened)
	if !killed && step < 5 {
		t.Errorf("there are only %d steps", step)
	}
	return killed && !t.Failed()
}

// TestKilledAtAnyMoment kills a process at random moments while another program
// saves the same file continuously. The last save must survive. An earlier one is in a conflict
// copy if the process is killed between an exchange and its reversal, and the program saves again
// before the next start, which is rare.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 12
	if os.Getenv("FAULTS") != "" {
		rounds = 200
	}
	if os.Getenv("STRESS") != "" {
		rounds = 2000
	}
	settled, changes, copies := 0, 0, 0
	for round := range rounds {
		p := savers[round%len(savers)]
		v := newVault(t, map[string]string{"d/a.md": "count: 0\n"})
		needLeases(t, v)
		journal := filepath.Join(t.TempDir(), "journal")
		cmd := writerCommand(t, v.Dir, journal, "VAULT_TEST_STEP=0")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		killed := make(chan error, 1)
		time.AfterFunc(time.Duration(20_000+rand.IntN(100_000))*time.Microsecond, func() {
			err := cmd.Process.Kill()
			cmd.Wait()
			killed <- err
		})
		last := 0
		for alive := true; alive; {
			select {
			case err := <-killed:
				must(t, err)
				alive = false
			default:
				last++
				must(t, p.save(v.name("d/a.md"), last))
				time.Sleep(time.Duration(rand.IntN(15)) * time.Millisecond)
			}
		}
		w := writerOn(t, v, journal)
		settled += len(w.Journal.Pending())
		must(t, w.Repair(t.Context()))
		tree := w.readTestTree(t)
		if err := p.wantSaved([]byte(tree["d/a.md"]), nil, last, nil); err != nil {
			t.Errorf("round %d, %s: %v", round, p.name, err)
		}
		for path := range tree {
			if of, ok := memory.CopyOf(path); ok && of == "d/a.md" {
				copies++
				delete(tree, path)
			}
		}
		if len(tree) != 1 || copies > 1+rounds/500 || len(w.Journal.Pending()) > 0 {
			t.Errorf("round %d, %s: left are %q, %+v", round, p.name, tree, w.Journal.Pending())
		}
		changes += len(w.Journal.List(time.Time{}, "", 0))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d times killed, %d changes settled, of %d, %d conflict copies", rounds, settled, changes, copies)
}
