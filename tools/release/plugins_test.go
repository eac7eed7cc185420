package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var pluginsOut = flag.String("plugins", "", "directory to write the archive of TestPlugins to")

// TestPlugins runs the hooks of each plugin without the program: one at the start of a session
// prints a notice for it, and no other prints anything. Each JSON file is valid, and the plugin for
// Claude Code has the files that its directory of plugins requires.
func TestPlugins(t *testing.T) {
	m := &maker{source: "../..", built: t.TempDir(), version: "v1.2.0", when: time.Unix(1, 0)}
	d, err := m.describe()
	if err != nil {
		t.Skip(err) // not in a repository of git
	}
	host := filepath.Join(m.built, platform{runtime.GOOS, runtime.GOARCH}.String(), program)
	if _, err := output(m.source, []string{"CGO_ENABLED=0"}, "go", "build", "-o", host, "./cmd/"+program); err != nil {
		t.Fatal(err)
	}
	packed, err := m.plugins(d)
	if err != nil {
		t.Fatal(err)
	}
	if *pluginsOut != "" {
		write(t, filepath.Join(*pluginsOut, packed.name), packed.data)
	}
	files := untar(t, packed.data)
	for name, data := range files {
		if strings.HasSuffix(name, ".json") && !json.Valid(data) {
			t.Errorf("%s is not valid JSON", name)
		}
	}
	if n := len(strings.Fields(string(files["plugins/claude-code/README.md"]))); n < 40 {
		t.Errorf("README.md has %d words", n)
	}
	if !bytes.HasPrefix(files["plugins/claude-code/.claude-plugin/icon.png"], []byte("\x89PNG\r\n\x1a\n")) {
		t.Error("no icon")
	}
	for _, p := range plugins {
		if p.hooks == "" {
			continue
		}
		commands := hookCommands(t, files["plugins/"+p.agent+"/"+p.hooks])
		for event, command := range commands {
			out, err := output(t.TempDir(), []string{"PATH=/usr/bin:/bin"}, "/bin/sh", "-c", command)
			var notice struct {
				Output struct{ HookEventName string } `json:"hookSpecificOutput"`
			}
			switch {
			case err != nil:
				t.Errorf("%s %s: %v", p.agent, event, err)
			case !strings.EqualFold(event, "SessionStart"):
				if out != "" {
					t.Errorf("%s %s printed %s", p.agent, event, out)
				}
			case json.Unmarshal([]byte(out), &notice) != nil || !strings.Contains(out, "not installed"):
				t.Errorf("%s %s printed %s", p.agent, event, out)
			case p.notice == claudeNotice && notice.Output.HookEventName != event:
				t.Errorf("%s %s printed the event %s", p.agent, event, notice.Output.HookEventName)
			}
		}
		if len(commands) == 0 {
			t.Errorf("%s has no hooks", p.agent)
		}
	}
}

// hookCommands returns the command of each event in settings.
func hookCommands(t *testing.T, data []byte) map[string]string {
	t.Helper()
	var settings struct {
		Hooks map[string][]struct {
			Command string
			Hooks   []struct{ Command string }
		}
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for event, groups := range settings.Hooks {
		for _, g := range groups {
			commands[event] += g.Command + "\n"
			for _, h := range g.Hooks {
				commands[event] += h.Command + "\n"
			}
		}
	}
	return commands
}

// untar returns the files of an archive.
func untar(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
	}
}
