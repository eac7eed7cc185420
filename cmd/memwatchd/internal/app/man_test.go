package app

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

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// manualOf returns the pages of a build by name.
func manualOf(t *testing.T, b build.Info) map[string]string {
	t.Helper()
	dir := t.TempDir()
	testkit.Must(t, writeManual(NewRoot(io.Discard, io.Discard), b, dir))
	paths, err := filepath.Glob(filepath.Join(dir, "man?", "*"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(path)] = string(text)
	}
	return pages
}

// TestManual checks that each command has a page with all its flags, and that a second
// run writes identical pages.
func TestManual(t *testing.T) {
	b := build.Info{Version: "v1.2.0", Time: time.Date(2026, 2, 4, 23, 30, 0, 0, time.UTC)}
	pages := manualOf(t, b)
	if diff := cmp.Diff(pages, manualOf(t, b)); diff != "" {
		t.Errorf("made again, the pages differ: %s", diff)
	}
	plain := map[string]string{}
	for name, text := range pages {
		if !strings.Contains(text, `"Feb 2026" "memwatchd v1.2.0"`) {
			t.Errorf("%s begins with %.200s", name, text)
		}
		plain[name] = strings.NewReplacer(`\-`, "-", `\&`, "", `\_`, "_").Replace(text)
	}
	var every func(*cobra.Command)
	every = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page := plain[name]
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
	every(NewRoot(io.Discard, io.Discard))
}

// TestManualIsSound checks that mandoc finds no errors in the pages.
func TestManualIsSound(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("there is no mandoc here to look at the manual")
	}
	dir := t.TempDir()
	if code := Run(t.Context(), []string{"man", dir}, nil, io.Discard, io.Discard); code != 0 {
		t.Fatalf("man ends with %d", code)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man?", "*"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	if out, err := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "error"}, pages...)...).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
