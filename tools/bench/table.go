package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A table contains rows of cells; the first row is the header.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

// String returns the table in Markdown with aligned columns. Columns without
// content below the header are omitted.
func (t table) String() string {
	width := make([]int, len(t[0]))
	for n, row := range t {
		for i, cell := range row {
			if n > 0 && cell != "" {
				width[i] = max(width[i], utf8.RuneCountInString(cell), utf8.RuneCountInString(t[0][i]), 3)
			}
		}
	}
	var b strings.Builder
	for n, row := range t {
		for i, cell := range row {
			if width[i] > 0 {
				fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
			}
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range width {
				if w > 0 {
					b.WriteString("|" + strings.Repeat("-", w+2))
				}
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func inMilliseconds(d time.Duration) string {
	return strconv.FormatFloat(milliseconds(d), 'f', 2, 64)
}

// span returns a duration in readable form.
func span(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", milliseconds(d))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func thousands(n int) string { return message.NewPrinter(language.English).Sprint(n) }
