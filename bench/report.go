package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// report writes the figures as Markdown that can be read as it is.
func report(m machine, c *config, results []*result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Performance\n\nMeasured on %s, on commit %s.\n\n- %s\n\n", m.date.Format(time.DateOnly), m.commit, m)
	for _, r := range results {
		r.report(&b)
	}
	return b.String()
}

// A table is rows of cells, the first of them the heads.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

// String is the table in Markdown, with columns that line up.
func (t table) String() string {
	width := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range t {
		for i, cell := range row {
			fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, w := range width {
				b.WriteString("|" + strings.Repeat("-", w+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// judge is a target and whether it was reached.
func judge(got, most float64, text string) (target, verdict string) {
	switch {
	case got <= most:
		return text, "reached"
	default:
		return text, "**not reached**"
	}
}

func (r *result) report(b *strings.Builder) {
	c := r.census
	fmt.Fprintf(b, "## %s\n\n%s files, %s entries, of which the owner may read %s in private and %s in public; %s of text.\n\n",
		r.name, thousands(c.files), thousands(c.entries), thousands(c.private), thousands(c.public), size(c.bytes))
	t := table{{"figure", "measured", "target", ""}}
	plain := func(name, value string) { t.row(name, value, "", "") }
	judged := func(name, value string, got, most float64, text string) {
		target, verdict := judge(got, most, text)
		t.row(name, value, target, verdict)
	}
	seconds := r.build.Seconds()
	plain("first build of the index", fmt.Sprintf("%s: %s entries/s, %.1f MB/s", span(r.build), thousands(int(float64(c.entries)/seconds)), float64(c.bytes)/1e6/seconds))
	if r.peak > 0 {
		plain("resident memory at most, while building", size(r.peak))
	}
	plain("first question after it", span(r.first))
	if r.rival != nil {
		ratio := seconds / r.rival.Build.Seconds()
		judged("first build beside FTS5's", fmt.Sprintf("%.2f times (%s; %s of it in SQLite)", ratio, span(r.rival.Build), span(r.rival.Inserts)), ratio, 3, "≤ 3 times")
	}
	if r.indexSize > 0 {
		ratio := float64(r.indexSize) / float64(c.bytes)
		judged("index on disk beside the text", fmt.Sprintf("%.2f times (%s)", ratio, size(r.indexSize)), ratio, 1, "≤ 1")
	}
	if r.rival != nil {
		plain("FTS5 on disk, with the text / without", fmt.Sprintf("%s / %s", size(r.rival.Size), size(r.rival.Bare)))
	}
	if r.restart > 0 {
		judged("restart to the first complete answer", span(r.restart), r.restart.Seconds(), 3, "≤ 3 s")
	}
	if r.anonymous > 0 {
		judged("processor time when idle", fmt.Sprintf("%.2f %% of a core", 100*r.idleTime), r.idleTime, 0.002, "< 0.2 %")
		judged("anonymous memory when idle", size(r.anonymous), float64(r.anonymous), 200e6, "< 200 MB")
		plain("file-backed memory when idle", size(r.fileBacked))
	}
	if r.after > 0 {
		judged("anonymous memory after the saves", size(r.after), float64(r.after), 200e6, "< 200 MB")
	}
	for _, s := range r.saves {
		p50, p99 := s.took.quantile(50), s.took.quantile(99)
		value := fmt.Sprintf("p50 %s, p99 %s", span(p50), span(p99))
		name := "save to found, " + saveName(s.loaded, s.synced)
		switch {
		case s.loaded && s.synced:
			plain(name, fmt.Sprintf("%s (%.0f/s)", value, s.rate))
		case s.loaded:
			judged(name, fmt.Sprintf("%s (%.0f/s)", value, s.rate), p99.Seconds(), 0.3, "p99 < 300 ms")
		case s.synced:
			judged(name, value, p99.Seconds(), 0.03, "p99 < 30 ms")
		default:
			judged(name, value, math.Max(p50.Seconds()/0.06, p99.Seconds()/0.1), 1, "p50 < 60 ms, p99 < 100 ms")
		}
	}
	b.WriteString(t.String() + "\n")
	if len(r.quizzes) == 0 {
		return
	}
	p50Limit, p99Limit := 3.0, 12.0
	if c.entries > 200_000 {
		p50Limit, p99Limit = 15, 50
	}
	fmt.Fprintf(b, "Questions: the targets are p50 < %.0f ms and p99 < %.0f ms, and p50 not above FTS5's. Milliseconds.\n\n", p50Limit, p99Limit)
	q := table{{"question", "p50", "p99", "", "FTS5 p50", "p99", "p50 beside FTS5's", "", "FTS5 without scope, p50", "rg p50"}}
	for _, name := range r.quizzes {
		l := r.took[name]
		_, verdict := judge(math.Max(ms(l.quantile(50))/p50Limit, ms(l.quantile(99))/p99Limit), 1, "")
		row := []string{name, msText(l.quantile(50)), msText(l.quantile(99)), verdict, "", "", "", "", "", ""}
		if r.rival != nil && r.rival.Took[name] != nil {
			f := latencies(r.rival.Took[name])
			ratio := ms(l.quantile(50)) / ms(f.quantile(50))
			_, against := judge(ratio, 1, "")
			copy(row[4:], []string{msText(f.quantile(50)), msText(f.quantile(99)), fmt.Sprintf("%.2f times", ratio), against, msText(latencies(r.rival.Free[name]).quantile(50))})
		}
		if s := r.scan[name]; s != nil {
			row[9] = msText(s.quantile(50))
		}
		q.row(row...)
	}
	b.WriteString(q.String() + "\n")
}

func ms(d time.Duration) float64    { return float64(d.Microseconds()) / 1000 }
func msText(d time.Duration) string { return strconv.FormatFloat(ms(d), 'f', 2, 64) }

// span is a duration with three digits or so.
func span(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", ms(d))
}

func size(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return cmp.Or(s, "0")
}
