// Package term formats text for terminals: it escapes control characters, colors text,
// shows progress, and quotes words for shells.
package term

import "os"

// A Style is the meaning of a piece of text, as the parameters of a terminal
// escape sequence. The codes are attributes and the original colors that every
// theme makes readable on its background: no yellow or blue, no bright colors
// and no background colors.
type Style string

const (
	AsText    Style = ""     // ordinary text
	AsTitle   Style = "1"    // heading of a group of lines
	AsMuted   Style = "2"    // secondary information
	AsPath    Style = "35"   // of a file that can be opened
	AsLine    Style = "32"   // line number in a file
	AsMatch   Style = "1;31" // match of a search
	AsGood    Style = "32"   // a good state
	AsChanged Style = "36"   // new, neither good nor bad
	AsBad     Style = "1;31" // an error or a bad state
	AsAdded   Style = "32"   // of differences
	AsRemoved Style = "31"   // of differences
	AsHunk    Style = "36"   // header of a part of differences
)

// Paint returns text in the style, followed by a reset.
func (s Style) Paint(text string) string {
	if s == AsText || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// WantsColor reports whether to color the output: never with a flag or
// NO_COLOR, always with CLICOLOR_FORCE or FORCE_COLOR, otherwise on terminals
// with color support.
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
