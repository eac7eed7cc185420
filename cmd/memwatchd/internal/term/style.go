package term

import (
	"os"
	"regexp"
)

// A style is what a piece of text means, as far as a terminal can show that. The
// codes are attributes and the old colours that every theme makes readable on
// its background: no yellow and blue, no bright ones, and never a background.
type Style string

const (
	AsText    Style = ""
	AsTitle   Style = "1"    // what a group of lines is about
	AsMuted   Style = "2"    // what is there for who looks for it
	AsPath    Style = "35"   // of a file that can be opened
	AsLine    Style = "32"   // and the line in it
	AsMatch   Style = "1;31" // what was looked for
	AsGood    Style = "32"
	AsChanged Style = "36" // neither good nor bad, but new
	AsBad     Style = "1;31"
	AsAdded   Style = "32" // of differences
	AsRemoved Style = "31"
	AsHunk    Style = "36"
)

// Paint is text in a style, which ends with it.
func (s Style) Paint(text string) string {
	if s == AsText || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Styles are the codes that paint writes, which have no width.
var Styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// WantsColor decides whether text is painted: never when NO_COLOR or a flag says
// so, always when CLICOLOR_FORCE or FORCE_COLOR does, else on terminals that can.
func WantsColor(terminal, noColor bool) bool {
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
