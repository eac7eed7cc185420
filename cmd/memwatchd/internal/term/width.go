package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Width returns the width of a terminal in columns, or 0 if w is not a
// terminal.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return max(width, MinWidth)
	}
	return defaultWidth
}

const (
	defaultWidth = 80 // of a terminal that does not report its width
	MinWidth     = 40 // smallest supported width
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && Width(file) > 0
}
