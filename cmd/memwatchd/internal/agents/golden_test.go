package agents

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestGolden compares the table with the archives: each agent has one for each part. Each archive of
// testdata/<agent>/<part> begins with a comment and has
//
//	before     the settings file
//	after      the lines that installing changes, or
//	error      the error of installing
//	removed    the lines that differ from before after uninstalling from after;
//	           if installing fails, those that uninstalling from before changes
//	stays      the error of that uninstalling
//	has        the commands of memwatchd in before
//	output     the output of hooks that add a text, if before is empty
//
// In the files ␍ is a carriage return, ⟨BOM⟩ a byte order mark, and ⟨END⟩ at
// the end marks a last line without a line end.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, a := range All {
		for p := range a.parts {
			if found, _ := filepath.Glob(filepath.Join("testdata", a.Name, string(p), "*.txtar")); len(found) == 0 {
				t.Errorf("no archive of %s/%s", a.Name, p)
			}
		}
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar"), func(t *testing.T) {
			checkArchive(t, file)
		})
	}
}

var marks = strings.NewReplacer("␍", "\r", "⟨BOM⟩", "\ufeff", "⟨END⟩\n", "")

func marked(data []byte) string {
	s := strings.NewReplacer("\r", "␍", "\ufeff", "⟨BOM⟩").Replace(string(data))
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "⟨END⟩\n"
}

// addedRun matches many added lines in a row: the first ten, the middle and the last three.
var addedRun = regexp.MustCompile(`((?:\+.*\n){10})(?:\+.*\n){5,}((?:\+.*\n){3})`)

// changedLines returns the lines in which two versions of a file differ. Unless the file
// was empty, it leaves out the middle of many added lines, which are those of more events.
func changedLines(before, after []byte) string {
	lines := golden.Diff([]byte(marked(before)), []byte(marked(after)))
	if len(before) > 0 {
		lines = addedRun.ReplaceAll(lines, []byte("$1…\n$2"))
	}
	return string(lines)
}

// command returns the command that all tests install.
func command(p Component) Command {
	if p == MCP {
		return Command{"/opt/my tools/memwatchd", "--name", "work", "mcp"}
	}
	return Command{"/opt/my tools/memwatchd", "--name", "work"}
}

func checkArchive(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	testkit.Must(t, err)
	dirs := strings.Split(filepath.ToSlash(file), "/")
	agent, ok := Named(dirs[1])
	if !ok {
		t.Fatalf("no agent %s", dirs[1])
	}
	part := Component(dirs[2])
	var before []byte
	for _, f := range archive.Files {
		if f.Name == "before" {
			before = []byte(marks.Replace(string(f.Data)))
		}
	}
	got := txtar.Archive{Comment: archive.Comment}
	put := func(name, text string) {
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	put("before", marked(before))
	if has, err := agent.Installed(part, before); err == nil && len(has) > 0 {
		var lines strings.Builder
		for _, c := range has {
			lines.WriteString(c.String() + "\n")
		}
		put("has", lines.String())
	}
	after, err := agent.Install(part, before, command(part))
	if err != nil {
		put("error", err.Error()+"\n")
		if has, err := agent.Installed(part, before); err == nil && len(has) > 0 {
			if removed, err := agent.Uninstall(part, before); err != nil {
				put("stays", err.Error()+"\n")
			} else {
				put("removed", changedLines(before, removed))
			}
		}
	} else {
		put("after", changedLines(before, after))
		if again, err := agent.Install(part, after, command(part)); err != nil || !bytes.Equal(again, after) {
			t.Errorf("installing again: %v\n%s", err, cmp.Diff(string(after), string(again)))
		}
		removed, err := agent.Uninstall(part, after)
		if err != nil {
			t.Errorf("uninstalling: %v", err)
		}
		if !bytes.Equal(removed, before) {
			put("removed", changedLines(before, removed))
		}
	}
	for _, command := range hookEvents[:2] {
		for _, event := range agent.HookEvents(command) {
			if part == Hooks && len(before) == 0 {
				out, _ := agent.HookOutput(event, "<记忆> \"1\"\n2")
				put("output", string(out))
			}
		}
	}
	golden.File(t, file, txtar.Format(archive), txtar.Format(&got))
}

// TestSharedFile checks that a file that the installations of both parts created is removed
// with the last of them, in either order.
func TestSharedFile(t *testing.T) {
	for _, name := range []string{"gemini", "hermes"} {
		agent, _ := Named(name)
		for _, parts := range [][]Component{{MCP, Hooks}, {Hooks, MCP}} {
			var data []byte
			for _, step := range []func(Component, []byte) ([]byte, error){
				func(p Component, data []byte) ([]byte, error) { return agent.Install(p, data, command(p)) },
				agent.Uninstall,
			} {
				for _, p := range parts {
					after, err := step(p, data)
					testkit.Must(t, err)
					data = after
				}
			}
			if data != nil {
				t.Errorf("%s %v: %q", name, parts, data)
			}
		}
	}
}

// TestNesting checks that nesting deeper than the parser's stack allows is an
// error.
func TestNesting(t *testing.T) {
	agent, _ := Named("claude-code")
	nested := func(n int) []byte { return []byte(`{"a": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}") }
	data := nested(maxContainers)
	if after, err := agent.Install(MCP, data, command(MCP)); err == nil || after != nil || !strings.Contains(err.Error(), "more than 250000") {
		t.Errorf("got %d bytes, %v", len(after), err)
	}
	data = nested(maxContainers - 10)
	after, err := agent.Install(MCP, data, command(MCP))
	testkit.Must(t, err)
	if removed, err := agent.Uninstall(MCP, after); err != nil || !bytes.Equal(removed, data) {
		t.Errorf("uninstalling gives another file, %v", err)
	}
}
