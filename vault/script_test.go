package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A scriptTest executes a script of testdata/scripts, which undo.txtar there describes.
type scriptTest struct {
	*testing.T
	w    *Writer
	ids  map[string]string // of changes, by name
	busy bool              // each exchange fails, as if other programs saved the file again and again
	mu   sync.Mutex        // guards on
	on   []hook
	open map[string]*os.File // by other programs
	out  strings.Builder
}

// A hook is a command that is executed once, before or after a system call.
type hook struct{ when, call, command string }

// fault executes the hooks of a system call.
func (s *scriptTest) fault(call string, do func() error) error {
	run := func(when string) {
		var due []hook
		s.mu.Lock() // changes can be made at once
		s.on = slices.DeleteFunc(s.on, func(h hook) bool {
			is := h.when == when && h.call == call
			if is {
				due = append(due, h)
			}
			return is
		})
		s.mu.Unlock()
		for _, h := range due {
			s.do(h.command)
		}
	}
	run("before")
	if call == "exchange" && s.busy {
		return errConcurrentSave
	}
	err := do()
	run("after")
	return err
}

// TestScripts compares the results of the commands of each script with its indented lines.
func TestScripts(t *testing.T) {
	golden.Run(t, "scripts", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		for i, script := range a.Files {
			s := &scriptTest{T: t, w: newWriter(t, nil), ids: map[string]string{}, open: map[string]*os.File{}}
			s.w.fault = s.fault
			clock := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
			s.w.Journal.Now = func() time.Time { clock = clock.Add(time.Minute); return clock }
			for line := range strings.Lines(string(script.Data)) {
				if !strings.HasPrefix(line, "  ") {
					s.out.WriteString(line)
					s.do(strings.TrimSpace(line))
				}
			}
			a.Files[i].Data = []byte(s.out.String())
		}
		return a
	})
}

var copyNames = regexp.MustCompile(`\.conflict-copy-[0-9a-z]{13}`)

// print adds an indented line, with the names of changes instead of their IDs.
func (s *scriptTest) print(format string, args ...any) {
	line := copyNames.ReplaceAllString(fmt.Sprintf(format, args...), ".conflict-copy-X")
	for name, id := range s.ids {
		line = strings.ReplaceAll(line, id, name)
	}
	s.out.WriteString("  " + line + "\n")
}

// do executes a command.
func (s *scriptTest) do(line string) {
	name, command, named := strings.Cut(line, " = ")
	if !named {
		command = line
	}
	args := golden.Words(command)
	args = append(args, "", "", "", "")
	u, m := &Undoer{s.w}, &Merger{Writer: s.w, Layout: &memory.Layout{}}
	var written Written
	var undone []UndoResult
	var err error
	switch args[0] {
	case "save":
		writeFile(s.T, s.w.Vault, args[1], args[2])
	case "replace":
		replaceFile(s.T, s.w.Vault, args[1], args[2])
	case "before", "after":
		call, rest, _ := strings.Cut(line, ": ")
		s.mu.Lock()
		s.on = append(s.on, hook{args[0], strings.TrimPrefix(call, args[0]+" "), rest})
		s.mu.Unlock()
	case "leases":
		s.w.Vault.noLeases = args[1] == "off"
	case "open":
		s.open[args[1]] = openToAppend(s.T, s.w.Vault, args[2])
	case "append", "overwrite":
		f := s.open[args[1]]
		if args[0] == "overwrite" {
			must(s.T, f.Truncate(0))
		}
		must(s.T, second(f.WriteString(args[2])))
	case "close":
		must(s.T, s.open[args[1]].Close())
	case "rename":
		must(s.T, os.Rename(s.w.Vault.name(args[1]), s.w.Vault.name(args[2])))
	case "edit":
		written, err = s.w.Write(s.Context(), newChange(args[1], args[2], args[3]))
	case "clear":
		for _, l := range s.w.leftoversOf(args[1]) {
			l.due = time.Time{} // without the delay, which tests set to an hour
		}
		err = s.w.Clear(s.Context(), args[1])
	case "mkdir":
		must(s.T, os.Mkdir(s.w.Vault.name(args[1]), 0o700))
	case "write", "secret", "remove":
		c := removalChange(args[1])
		if args[0] != "remove" {
			c = contentChange(args[1], args[2])
			c.Secret = args[0] == "secret"
		}
		if c.Group = args[4]; args[3] == "with" {
			c.Group = s.ids[args[4]]
		}
		written, err = s.w.Write(s.Context(), c)
	case "move":
		written, err = s.w.Move(s.Context(), args[1], args[2], Change{Cause: "archive", Requested: true})
	case "together":
		var changes []Change
		for _, path := range args[1 : len(args)-4] {
			changes = append(changes, contentChange(path, "text\n"))
			changes[len(changes)-1].Group = "together"
		}
		err = errors.Join(s.w.WriteAll(s.Context(), changes)...)
	case "busy":
		s.busy = args[1] == "on"
	case "undo":
		undone, err = u.Undo(s.Context(), s.ids[args[1]], false)
	case "undo-since", "dry-undo-since":
		var since time.Time
		if r, err := s.w.Journal.Get(s.ids[args[1]]); err == nil {
			since = r.Time.Add(time.Second)
		}
		inGroup := func(r *journal.Record) bool { return args[2] == "" || r.Group == args[2] }
		undone = u.UndoSince(s.Context(), since, inGroup, args[0] == "dry-undo-since")
		if args[2] != "" { // in any order
			slices.SortFunc(undone, func(a, b UndoResult) int { return strings.Compare(a.Record.Path, b.Record.Path) })
		}
	case "merge", "plan", "merge-additions":
		plan, failure := m.Plan(args[1])
		if err = failure; err != nil {
			break
		}
		keep := map[string]*memory.Keep{"ours": new(memory.KeepOurs), "theirs": new(memory.KeepTheirs), "both": new(memory.KeepBoth)}[args[2]]
		switch args[0] {
		case "plan":
			s.print("common version %t, additions %t, conflicts %d", plan.Base, plan.Additions, len(plan.Conflicts))
		case "merge":
			if args[3] != "" { // saved after the plan
				path, _ := memory.CopyOf(args[1])
				writeFile(s.T, s.w.Vault, path, args[3])
			}
			written, err = m.Apply(s.Context(), plan, keep)
		default:
			written, err = m.MergeAdditions(s.Context(), args[1], true, false)
		}
	case "journal":
		again, failure := journal.Open(s.w.Journal.Dir, 0)
		must(s.T, failure)
		for _, r := range again.Pending() {
			s.print("%s is pending", r.ID)
		}
		for _, problem := range again.Problems() {
			s.print("%s", problem)
		}
		for _, r := range slices.Backward(again.List(time.Time{}, "", 0)) {
			now, _ := s.w.Journal.Get(r.ID)
			s.print("%s %s %s %s%q forgotten %t", r.ID, r.Cause, r.FilePath(), r.State, r.Undoes, r.Forgotten)
			if now.State != r.State {
				s.Errorf("%+v was %+v before the journal was opened again", r, now)
			}
		}
	case "pending":
		temp := ".memwatchd-x.tmp"
		if args[4] != "" {
			temp = args[4]
		}
		written.ID = s.w.begin(s.T, args[1], temp, []byte(args[2]), []byte(args[3])).ID
	case "done":
		must(s.T, s.w.Journal.Done(s.ids[args[1]]))
	case "repair":
		err = s.w.Repair(s.Context())
	case "damage":
		path := filepath.Join(s.w.Journal.Dir, "versions", journal.Digest([]byte(args[1]))[:32])
		must(s.T, os.WriteFile(path, []byte("x"), 0o600))
	case "forget":
		err = s.w.Journal.Erase(func(path string, data []byte) bool {
			return (args[2] == "" || path == args[2]) && strings.Contains(string(data), args[1])
		})
	case "contents":
		for _, r := range slices.Backward(s.w.Journal.List(time.Time{}, "", 0)) {
			before, after, err := s.w.Journal.Contents(r)
			s.print("%s %q %q %v", r.Cause, before, after, err)
		}
	case "tree":
		files := s.w.readTestTree(s.T)
		must(s.T, filepath.WalkDir(s.w.Vault.Dir, func(name string, e fs.DirEntry, err error) error {
			if path, _ := filepath.Rel(s.w.Vault.Dir, name); e.IsDir() && path != "." {
				files[path+"/"] = ""
			}
			return err
		}))
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if strings.HasSuffix(path, "/") {
				s.print("%s", path)
			} else {
				s.print("%s %q", path, files[path])
			}
		}
	default:
		s.Fatalf("no such command: %s", line)
	}
	if len(undone) > 0 && undone[0].By != "" {
		written.ID = undone[0].By
	}
	if named && written.ID != "" {
		s.ids[name] = written.ID
	}
	for _, r := range undone {
		s.print("%s: %v", r.Record.FilePath(), r.Err)
	}
	if err != nil {
		s.print("%v", err)
	}
}
