package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// aBuild is one with everything.
var aBuild = build{Version: "v1.2.0", Time: time.Date(2026, 2, 4, 23, 30, 0, 0, time.UTC)}

// There is a page for each command, with each of its flags, and each key of the
// configuration has its place; made again, they are the same.
func TestManual(t *testing.T) {
	root := newRoot(io.Discard, io.Discard)
	pages := manual(root, aBuild)
	if diff := cmp.Diff(pages, manual(newRoot(io.Discard, io.Discard), aBuild), cmp.AllowUnexported(manPage{})); diff != "" {
		t.Errorf("made again, the pages differ: %s", diff)
	}
	text := map[string]string{}
	for _, p := range pages {
		text[p.name] = p.text
		if want := `.TH "` + roffText(strings.ToUpper(p.name)) + `" "` + string(rune('0'+p.section)) + `" "2026\-02\-04" "memwatchd v1.2.0"`; !strings.HasPrefix(p.text, want) {
			t.Errorf("%s begins with %.80s", p.name, p.text)
		}
		if p.section == 1 && strings.Contains(p.text, "..\n") {
			t.Errorf("%s has a sentence that ends twice", p.name)
		}
	}
	untagged := manual(root, build{Version: "v0.0.0-20260204103000-0123456789ab"})[0].text
	if !strings.HasPrefix(untagged, `.TH "MEMWATCHD" "1" "" "memwatchd 0123456789ab"`) {
		t.Errorf("of a commit without a tag: %.80s", untagged)
	}
	var every func(*cobra.Command)
	every = func(c *cobra.Command) {
		page := text[manName(c)]
		if page == "" && !c.Hidden && c.Name() != "help" {
			t.Errorf("%s has no page", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if page != "" && !strings.Contains(page, bold("--"+f.Name)) && f.Name != "help" {
				t.Errorf("%s is not on the page of %s", f.Name, c.CommandPath())
			}
		})
		for _, below := range c.Commands() {
			every(below)
		}
	}
	every(root)
	for _, k := range configKeys {
		if !strings.Contains(text["memwatchd.yaml"], bold(k.name)) {
			t.Errorf("%s is not on the page of the configuration", k.name)
		}
	}
}

// What the pages say stays what it is: no text is taken for a macro.
func TestManualHasOnlyItsMacros(t *testing.T) {
	known := []string{"TH", "SH", "SS", "TP", "IP", "PP", "RS", "RE", "BR", "nf", "fi", "ad", "nh"}
	macro := regexp.MustCompile(`^[.'](\w*)`)
	for _, p := range manual(newRoot(io.Discard, io.Discard), aBuild) {
		for line := range strings.Lines(p.text) {
			if m := macro.FindStringSubmatch(line); m != nil && !slices.Contains(known, m[1]) {
				t.Errorf("%s: %s", p.name, line)
			}
		}
	}
	p := newRoffPage("x", 1, "", "")
	p.prose(".SH no heading\n'or this\n\n  memwatchd x \\fB 'y'\n  .fi\n  term   what `it-is` means\nback\\slash")
	want := `.TH "X" "1" "" "" "memwatchd"
.ad l
.nh
\&.SH no heading
\(aqor this
.IP "" 4
.nf
memwatchd x \efB \(aqy\(aq
\&.fi
.fi
.TP
\fBterm\fR
what \fBit\-is\fR means
back\eslash
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Those who know the format find nothing wrong with it.
func TestManualIsSound(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("there is no mandoc here to look at the manual")
	}
	dir := t.TempDir()
	if code := run(t.Context(), []string{"man", dir}, io.Discard, io.Discard); code != 0 {
		t.Fatalf("man ends with %d", code)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man?", "*"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	out, _ := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "missing date") { // a build from changed sources has none
			t.Error(line)
		}
	}
}
