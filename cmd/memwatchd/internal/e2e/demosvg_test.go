package e2e

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// Layout of the demonstration in pixels.
const (
	svgColumn  = 7.83 // advance of common monospace fonts at 13 pixels
	svgLine    = 18
	svgPadding = 18
	svgTop     = 34 // above the first line, with the buttons of the window
)

// svgStyle has a class for each color and attribute of package term. The
// background is dark on every page, so that the colors stay readable.
const svgStyle = `
text{font:13px ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}
.b{font-weight:700}.d{fill:#8b949e}.r{fill:#ff7b72}.g{fill:#7ee787}.m{fill:#d2a8ff}.c{fill:#76e3ea}
`

type svgRun struct{ class, text string }

// demoSVG draws the output of a terminal. It wraps lines at columns.
func demoSVG(output string, columns int) string {
	lines := svgLines(strings.TrimRight(output, "\n"), columns)
	width := int(svgColumn*float64(columns)) + 2*svgPadding
	height := svgTop + svgLine*len(lines) + svgPadding
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-labelledby="title">`+"\n", width, height)
	b.WriteString("<title id=\"title\">A terminal session with memwatchd</title>\n<style>" + svgStyle + "</style>\n")
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%d" height="%d" rx="8" fill="#161b22" stroke="#484f58"/>`+"\n", width-1, height-1)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="5" fill="%s"/>`, svgPadding+5+16*i, color)
	}
	b.WriteString("\n")
	for i, line := range lines {
		if len(line) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" xml:space="preserve">`, svgPadding, svgTop+svgLine*(i+1))
		for _, run := range line {
			if run.class != "" {
				fmt.Fprintf(&b, `<tspan class="%s">`, run.class)
			}
			xml.EscapeText(&b, []byte(run.text))
			if run.class != "" {
				b.WriteString("</tspan>")
			}
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// svgLines splits output into lines of runs. It interprets the escape sequences
// of [term.Styles] and wraps lines at columns.
func svgLines(output string, columns int) [][]svgRun {
	var lines [][]svgRun
	class := ""
	for line := range strings.SplitSeq(output, "\n") {
		var runs []svgRun
		column := 0
		for text := line; text != ""; {
			if codes, rest, ok := cutSGR(text); ok {
				class, text = svgClass(class, codes), rest
				continue
			}
			plain := text
			if i := strings.IndexByte(text, '\x1b'); i > 0 {
				plain = text[:i]
			}
			if column == columns {
				lines, runs, column = append(lines, runs), nil, 0
			}
			plain = plain[:min(len(plain), columns-column)] // the output is ASCII
			runs = append(runs, svgRun{class, plain})
			column += len(plain)
			text = text[len(plain):]
		}
		lines = append(lines, runs)
	}
	return lines
}

// cutSGR cuts the codes of an escape sequence from the start of text.
func cutSGR(text string) (codes, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "\x1b[")
	if !ok {
		return "", "", false
	}
	return strings.Cut(text, "m")
}

// svgClass returns the classes after an escape sequence.
func svgClass(class, codes string) string {
	for code := range strings.SplitSeq(codes, ";") {
		switch n, _ := strconv.Atoi(code); n {
		case 0:
			class = ""
		case 1, 2, 31, 32, 35, 36:
			name := map[int]string{1: "b", 2: "d", 31: "r", 32: "g", 35: "m", 36: "c"}[n]
			class = strings.TrimSpace(class + " " + name)
		default:
			panic("demo: no class for the escape sequence " + codes)
		}
	}
	return class
}
