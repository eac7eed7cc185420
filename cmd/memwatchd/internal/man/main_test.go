package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestManual checks that each command has a page with all its flags, that mandoc finds no
// errors, and that a second run writes identical pages.
func TestManual(t *testing.T) {
	b := build.Info{Version: "v1.2.0", Time: time.Date(2026, 2, 4, 23, 30, 0, 0, time.UTC)}
	var runs [2]map[string]string
	var paths []string
	for i := range runs {
		dir := t.TempDir()
		testkit.Must(t, writeManual(app.NewRoot(io.Discard, io.Discard), b, dir))
		runs[i] = map[string]string{}
		paths, _ = filepath.Glob(filepath.Join(dir, "man1", "*"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), `"Feb 2026" "memwatchd v1.2.0"`) {
				t.Errorf("%s begins with %.200s, %v", path, text, err)
			}
			runs[i][filepath.Base(path)] = strings.NewReplacer(`\-`, "-", `\&`, "", `\_`, "_").Replace(string(text))
		}
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
		t.Errorf("made again, the pages differ: %s", diff)
	}
	var every func(*cobra.Command)
	every = func(c *cobra.Command) {
		page := runs[0][strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"]
		if page == "" && !c.Hidden && c.Name() != "help" {
			t.Errorf("%s has no page", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if page != "" && !strings.Contains(page, "--"+f.Name) && f.Name != "help" && !f.Hidden {
				t.Errorf("%s is not on the page of %s", f.Name, c.CommandPath())
			}
		})
		for _, below := range c.Commands() {
			every(below)
		}
	}
	every(app.NewRoot(io.Discard, io.Discard))
	if mandoc, err := exec.LookPath("mandoc"); err == nil {
		if out, err := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "error"}, paths...)...).CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	}
}
