package agents

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// seeds adds the files of the archives to the corpus.
func seeds(f *testing.F, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		testkit.Must(f, err)
		for _, part := range txtar.Parse(data).Files {
			if part.Name == "before" || part.Name == "after" {
				f.Add([]byte(marks.Replace(string(part.Data))))
			}
		}
	}
}

// FuzzJSON checks the laws of settings in JSON, for each form: a second
// installation changes nothing; Installed finds the installed command;
// uninstalling removes all of it; the other settings keep their meaning; and a
// file without memwatchd is restored.
func FuzzJSON(f *testing.F) {
	seeds(f, "testdata/*/*/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, agent := range formsJSON {
			for _, part := range []Component{MCP, Hooks} {
				lawsJSON(t, agent, part, data)
			}
		}
	})
}

// formsJSON are agents with the different forms of settings in JSON.
var formsJSON = func() (list []Agent) {
	for _, name := range []string{"claude-code", "gemini", "opencode", "openclaw", "cursor"} {
		agent, _ := Named(name)
		list = append(list, agent)
	}
	return list
}()

func lawsJSON(t *testing.T, agent Agent, part Component, data []byte) {
	hooks, isHooks := agent.parts[part].syntax.(jsonHooks)
	servers, isServers := agent.parts[part].syntax.(jsonServers)
	if !isHooks && !isServers {
		return
	}
	before := bytes.Clone(data)
	after, removed := laws(t, agent, part, data)
	if !bytes.Equal(before, data) {
		t.Fatal("the bytes that were given were changed")
	}
	if after == nil {
		return
	}
	was, err := readJSON(data)
	testkit.Must(t, err)
	is, err := readJSON(removed)
	if err != nil {
		t.Fatalf("uninstalling broke it: %v\n%s", err, removed)
	}
	had, _ := agent.Installed(part, data)
	key := "hooks"
	if isServers {
		key = servers.path[0]
	}
	wasValue, isValue := decodeValue(&was.root).(map[string]any), decodeValue(&is.root).(map[string]any)
	if len(had) == 0 && !hooks.flat && !emptyOnTheWay(&was.root, key) && !bytes.Equal(removed, data) {
		t.Fatalf("uninstalling gives another file:\n%q\n%q\n%q", data, after, removed)
	}
	for _, key := range []string{key, "version"} {
		delete(wasValue, key)
		delete(isValue, key)
	}
	if !reflect.DeepEqual(wasValue, isValue) {
		t.Fatalf("something else has changed:\n%s\n%s", data, removed)
	}
}

// emptyOnTheWay reports whether the object of a key contains an empty list,
// which uninstalling removes.
func emptyOnTheWay(root *hujson.Value, key string) bool {
	members := itemsOf(root)
	for _, m := range members {
		if m.name != key {
			continue
		}
		events := itemsOf(m.value)
		for _, event := range events {
			if len(itemsOf(event.value)) == 0 && (event.value.Value.Kind() == '[' || event.name == "servers") {
				return true
			}
		}
		if len(events) == 0 {
			return true
		}
	}
	return len(members) == 0
}

// laws checks the laws common to all forms. It returns the file after
// installing, and after uninstalling again, or nil if the file cannot be
// parsed.
func laws(t *testing.T, agent Agent, part Component, data []byte) (after, removed []byte) {
	after, err := agent.Install(part, data, command(part))
	if err != nil {
		if _, ok := err.(*Error); !ok || after != nil {
			t.Fatalf("%v with %q", err, after)
		}
		return nil, nil
	}
	again, err := agent.Install(part, after, command(part))
	if err != nil || !bytes.Equal(again, after) {
		t.Fatalf("installing again: %v\n%q\n%q\n%q", err, data, after, again)
	}
	has, err := agent.Installed(part, after)
	if err != nil || len(has) == 0 {
		t.Fatalf("installed: %q, %v\n%q", has, err, after)
	}
	wants := map[string]bool{}
	if part == MCP {
		wants[command(part).String()] = true
	} else {
		for _, line := range agent.hookLines(command(part)) {
			wants[line] = true
		}
	}
	for _, c := range has {
		delete(wants, c.String())
	}
	if len(wants) > 0 {
		t.Fatalf("missing %v of %q in\n%s", wants, has, after)
	}
	removed, err = agent.Uninstall(part, after)
	if err != nil {
		t.Fatalf("uninstalling: %v\n%q\n%q", err, data, after)
	}
	if has, err := agent.Installed(part, removed); err != nil || len(has) > 0 {
		t.Fatalf("uninstalled, and there is %q, %v\n%q", has, err, removed)
	}
	return after, removed
}

// FuzzBlocks checks the same laws of settings in TOML and YAML.
func FuzzBlocks(f *testing.F) {
	seeds(f, "testdata/*/*/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"codex", "kimi", "hermes"} {
			agent, _ := Named(name)
			for _, part := range []Component{MCP, Hooks} {
				form, ok := agent.parts[part].syntax.(block)
				had, err := agent.Installed(part, data)
				if !ok || err != nil || len(had) > 0 {
					continue
				}
				after, removed := laws(t, agent, part, data)
				if after != nil && !bytes.Equal(removed, data) {
					t.Fatalf("uninstalling gives another file:\n%q\n%q\n%q", data, after, removed)
				}
				if after == nil {
					continue
				}
				was, _ := form.read(data)
				if is, err := form.read(after); err != nil || is.others != was.others {
					t.Fatalf("something else has changed: %v\n%s\n%s", err, data, after)
				}
			}
		}
	})
}

// FuzzParse checks that JSON is read as encoding/json reads it.
func FuzzParse(f *testing.F) {
	seeds(f, "testdata/*/*/*.txtar")
	for _, s := range []string{`"\ud800"`, "\"a\x00\"", "[1,-0.5e+7,true,false,null]", "{\"\":{\"\":[[]]}}", `"é\u00e9"`, "// c", "[1,]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = slices.Concat([]byte(`{"a": `), data, []byte("\n}"))
		var want any
		if json.Unmarshal(data, &want) != nil {
			return
		}
		d, err := readJSON(data)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if got := decodeValue(&d.root); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %v, want %v", data, got, want)
		}
	})
}

// FuzzWords checks that a quoted command is split into the same words.
func FuzzWords(f *testing.F) {
	f.Add("memwatchd", "a b", "it's")
	f.Add("", "\"$x\" `y` \\", "\n\t")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := Command{a, b, c}
		if strings.ContainsRune(want.String(), 0) {
			t.Skip() // no argument of a program contains it
		}
		if got := parseCommand(want.String()); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is split into %q", want.String(), got)
		}
	})
}
