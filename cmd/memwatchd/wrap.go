package main

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// styleCode is what makes text bold or coloured; no other control characters
// are in a text that is printed.
var styleCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wrap breaks a line that is wider than the terminal where lines may be broken,
// which in Chinese is nearly anywhere, and begins the lines that this makes with
// an indent, as the first one has it already. A width of zero is that of a file:
// nothing is broken.
func wrap(line string, width int, indent string) string {
	if width -= len(indent); width < 16 {
		return line
	}
	var b []byte
	at := 0 // bytes of the line that are in b
	put := func(n int) {
		for n > 0 {
			code := styleCode.FindStringIndex(line[at:])
			if code == nil || code[0] > n {
				code = []int{n, n}
			}
			b = append(b, line[at:at+code[1]]...)
			n -= code[0]
			at += code[1]
		}
	}
	column, state := 0, -1
	for rest := styleCode.ReplaceAllString(line, ""); rest != ""; {
		var segment string
		segment, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
		if column > 0 && column+uniseg.StringWidth(strings.TrimRight(segment, " ")) > width {
			// A space at the very end would be a line of its own.
			b = append(bytes.TrimRight(b, " "), "\n"+indent...)
			column = 0
		}
		put(len(segment))
		column += uniseg.StringWidth(segment)
	}
	return string(append(b, line[at:]...))
}
