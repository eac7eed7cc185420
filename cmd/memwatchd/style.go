package main

import (
	"os"
	"regexp"
)

// A style is what a piece of text means, as far as a terminal can show that. The
// codes are attributes and the old colours that every theme makes readable on
// its background: no yellow and blue, no bright ones, and never a background.
type style string

const (
	asText    style = ""
	asTitle   style = "1"    // what a group of lines is about
	asMuted   style = "2"    // what is there for who looks for it
	asPath    style = "35"   // of a file that can be opened
	asLine    style = "32"   // and the line in it
	asMatch   style = "1;31" // what was looked for
	asGood    style = "32"
	asChanged style = "36" // neither good nor bad, but new
	asBad     style = "1;31"
	asAdded   style = "32" // of differences
	asRemoved style = "31"
	asHunk    style = "36"
)

// paint is text in a style, which ends with it.
func (s style) paint(text string) string {
	if s == asText || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// styles are the codes that paint writes, which have no width.
var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wantsColor decides whether text is painted: never when NO_COLOR or a flag says
// so, always when CLICOLOR_FORCE or FORCE_COLOR does, else on terminals that can.
func wantsColor(terminal, noColor bool) bool {
	forced := func(name string) bool { v := os.Getenv(name); return v != "" && v != "0" }
	switch {
	case noColor, os.Getenv("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE"), forced("FORCE_COLOR"):
		return true
	}
	able := os.Getenv("TERM") != "" && os.Getenv("TERM") != "dumb" && os.Getenv("CLICOLOR") != "0"
	return terminal && able
}
