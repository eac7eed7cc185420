package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report returns the figures as Markdown that is readable without rendering: the
// page for readers, and the tables of each tree.
func report(m machine, results []*result) (page, details string) {
	var targets verdicts
	var tables strings.Builder
	for _, r := range results {
		targets.tree = r.name
		fmt.Fprintf(&tables, "## %s\n\n", r.name)
		r.report(&tables, &targets)
	}
	if len(targets.missed) > 0 {
		fmt.Fprintf(&tables, "Missed targets, with the target in parentheses:\n\n- %s\n", strings.Join(targets.missed, "\n- "))
	}
	var b strings.Builder
	b.WriteString(introduction)
	if m.busy > busyFrom {
		fmt.Fprintf(&b, "**Other processes used %.0f %% of the processors at the start of the run. Do not rely on "+
			"these figures.**\n\n",
			100*m.busy)
	}
	if len(results) > 0 {
		summarize(&b, results, &targets)
	}
	fmt.Fprintf(&b, "## Conditions\n\n- Date: %s, commit %s\n- Machine: %s\n", m.date.Format(time.DateOnly), m.commit,
		m)
	fmt.Fprintf(&b, "- Versions: %s\n- Command: `cd tools/bench && go run -tags sqlite_fts5 . %s`\n\n", versions(results),
		strings.Join(os.Args[1:], " "))
	return b.String() + method, tables.String()
}

const introduction = `# Performance

Times, memory and disk space of memwatchd, beside SQLite FTS5 and ripgrep on the same files. ` + "`make bench`" + ` repeats the
measurements on your machine and prints the tables of all searches and the missed targets.

`

// typical is the quiz of the summary.
const typical = "3 words"

// summarize writes one row for each tree, the comparison with the rivals, and
// the number of met targets.
func summarize(b *strings.Builder, results []*result, targets *verdicts) {
	b.WriteString("## Summary\n\n")
	t := table{{"memory", "first build", "search of 3 words, p50", "p99", "FTS5 p50", "ripgrep p50",
		"save until found, p50",
		"idle memory", "index size", "restart"}}
	var search, scan, command, build []string // ratios
	var commands []string                     // times
	ratio := func(list *[]string, r *result, a, b time.Duration) {
		if a > 0 && b > 0 {
			*list = append(*list, fmt.Sprintf("%.2f (%s)", milliseconds(a)/milliseconds(b), r.name))
		}
	}
	for _, r := range results {
		took := r.took[typical]
		row := []string{r.name, span(r.build), "", "", "", "", "", "", "", ""}
		if len(took) > 0 {
			row[2], row[3] = span(took.quantile(50)), span(took.quantile(99))
		}
		if r.rival != nil {
			ratio(&build, r, r.build, r.rival.Build)
			if l := r.rival.Took[typical]; len(l) > 0 {
				row[4] = span(l.quantile(50))
				ratio(&search, r, took.quantile(50), l.quantile(50))
			}
		}
		if l := r.scan[typical]; len(l) > 0 {
			row[5] = span(l.quantile(50))
			ratio(&scan, r, took.quantile(50), l.quantile(50))
			ratio(&command, r, r.commands[typical].quantile(50), l.quantile(50))
		}
		if l := r.commands[typical]; len(l) > 0 {
			commands = append(commands, fmt.Sprintf("%s (%s)", span(l.quantile(50)), r.name))
		}
		for _, s := range r.saves {
			if s.synced && !s.loaded {
				row[6] = span(s.took.quantile(50))
			}
		}
		if r.anonymous > 0 {
			row[7] = megabytes(r.anonymous)
		}
		if r.indexSize > 0 {
			row[8] = megabytes(r.indexSize)
		}
		if r.restart > 0 {
			row[9] = span(r.restart)
		}
		t.row(row...)
	}
	fmt.Fprintln(b, t)
	compare := func(format string, ratios []string) {
		if len(ratios) > 0 {
			fmt.Fprintf(b, format, strings.Join(ratios, ", "))
		}
	}
	compare("- Search of 3 words, time relative to FTS5: %s.\n", search)
	compare("- Search of 3 words, time relative to ripgrep: %s.\n", scan)
	compare("- `memwatchd search` with 3 words, from the start of the command to its end, p50: %s.\n", commands)
	compare("- The same, time relative to ripgrep: %s.\n", command)
	compare("- First build, time relative to FTS5: %s.\n", build)
	fmt.Fprintf(b, "- Targets: %d of %d are met. [Method](#method) explains the figures.\n\n",
		targets.judged-len(targets.missed), targets.judged)
}

func versions(results []*result) string {
	list := []string{runtime.Version()}
	for _, r := range results {
		if r.rival != nil {
			list = append(list, "SQLite "+r.rival.Version)
			break
		}
	}
	for _, r := range results {
		if r.scanner != "" {
			list = append(list, r.scanner)
			break
		}
	}
	return strings.Join(list, ", ")
}

// verdicts compares figures with targets and collects the missed targets.
type verdicts struct {
	tree   string
	judged int
	missed []string
}

func (v *verdicts) judge(what, value, target string, reached bool) string {
	v.judged++
	if reached {
		return "met"
	}
	v.missed = append(v.missed, fmt.Sprintf("%s: %s: %s (%s)", v.tree, what, value, target))
	return "missed"
}

func (r *result) report(b *strings.Builder, v *verdicts) {
	c := r.census
	fmt.Fprintf(b, "%s files with %s entries and %s of text. The owner can read %s entries in a private context "+
		"and %s in a public one.\n\n",
		thousands(c.files), thousands(c.entries), megabytes(c.bytes), thousands(c.private), thousands(c.public))
	if !hasProc() {
		b.WriteString("This system has no /proc, so the memory and processor time of the daemon are unknown.\n\n")
	}
	if r.incomplete > 0 {
		fmt.Fprintf(b, "%s lacked some saved changes.\n\n", count(r.incomplete, "answer"))
	}
	t := table{{"figure", "measured", "target", ""}}
	r.figures(func(name, value, target string, reached bool) {
		verdict := ""
		if target != "" {
			verdict = v.judge(name, value, target, reached)
		}
		t.row(name, value, target, verdict)
	})
	fmt.Fprintln(b, t)
	if len(r.quizzes) > 0 {
		r.questions(b, v)
	}
}

// figures calls row for all figures except those of the questions.
func (r *result) figures(row func(name, value, target string, reached bool)) {
	c := r.census
	plain := func(name, format string, args ...any) { row(name, fmt.Sprintf(format, args...), "", false) }
	seconds := r.build.Seconds()
	plain("first build", "%s: %s entries/s, %.1f MB/s", span(r.build), thousands(int(float64(c.entries)/seconds)),
		float64(c.bytes)/1e6/seconds)
	if f := r.rival; f != nil {
		ratio := seconds / f.Build.Seconds()
		row("first build, relative to FTS5", fmt.Sprintf("%.2f times", ratio), "≤ 3 times", ratio <= 3)
		plain("first build of FTS5", "%s, of which SQLite %s; optimize another %s", span(f.Build), span(f.Inserts),
			span(f.Optimize))
	}
	if r.peak > 0 {
		plain("peak resident memory during the build", "%s", megabytes(r.peak))
	}
	plain("first search after the build", "%s", span(r.first))
	if r.indexSize > 0 {
		ratio := float64(r.indexSize) / float64(c.bytes)
		row("index size, relative to the text", fmt.Sprintf("%.2f times (%s)", ratio, megabytes(r.indexSize)), "≤ 1",
			ratio <= 1)
	}
	if f := r.rival; f != nil {
		plain("FTS5 database with text; without text", "%s; %s", megabytes(f.Size), megabytes(f.Bare))
	}
	if r.restart > 0 {
		row("restart until the first complete answer", span(r.restart), "≤ 3 s", r.restart <= 3*time.Second)
	}
	if r.anonymous > 0 {
		row("idle processor time", fmt.Sprintf("%.2f %% of a core", 100*r.idleTime), "< 0.2 %", r.idleTime < 0.002)
		row("idle anonymous memory", megabytes(r.anonymous), "< 200 MB", r.anonymous < 200e6)
		plain("idle file-backed memory", "%s", megabytes(r.fileBacked))
	}
	for _, s := range r.saves {
		s.figure(row)
	}
	if r.after > 0 {
		row("anonymous memory after the saves", megabytes(r.after), "< 200 MB", r.after < 200e6)
	}
}

// figure calls row for the time from a save to its being found, with the target
// of this case.
func (s *savesResult) figure(row func(name, value, target string, reached bool)) {
	p50, p99 := s.took.quantile(50), s.took.quantile(99)
	value := fmt.Sprintf("p50 %s, p99 %s", span(p50), span(p99))
	if s.loaded {
		value += fmt.Sprintf(" (%.0f/s)", s.rate)
	}
	target, reached := "", false
	switch {
	case s.loaded && s.synced:
	case s.loaded:
		target, reached = "p99 < 300 ms", p99 < 300*time.Millisecond && s.rate > 0.95*changesPerSecond
	case s.synced:
		target, reached = "p99 < 30 ms", p99 < 30*time.Millisecond
	default:
		target, reached = "p50 < 60 ms, p99 < 100 ms", p50 < 60*time.Millisecond && p99 < 100*time.Millisecond
	}
	row("save until found, "+saveName(s.loaded, s.synced), value, target, reached)
}

// rivalryFrom is the number of entries above which the answers of a tree are
// compared with FTS5. For smaller trees, a request over a socket takes longer
// than a library call, regardless of the index.
const rivalryFrom = 50_000

// questions writes the latencies of answers.
func (r *result) questions(b *strings.Builder, v *verdicts) {
	most50, most99 := 3*time.Millisecond, 12*time.Millisecond
	if r.census.entries > 200_000 {
		most50, most99 = 15*time.Millisecond, 50*time.Millisecond
	}
	target := fmt.Sprintf("p50 < %d ms, p99 < %d ms", most50.Milliseconds(), most99.Milliseconds())
	fmt.Fprintf(b, "Search latency over the socket, in milliseconds. Targets: %s", target)
	if r.census.entries > rivalryFrom {
		b.WriteString(", and p50 not above that of FTS5")
	}
	b.WriteString(".\n\n")
	t := table{{"search", "p50", "p99", "", "p50 in the daemon", "FTS5 p50", "FTS5 p99", "p50 relative to FTS5", "",
		"FTS5 p50 without scope", "ripgrep p50"}}
	for _, z := range r.quizzes {
		took := r.took[z.Name]
		p50, p99 := took.quantile(50), took.quantile(99)
		verdict := v.judge(z.Name, fmt.Sprintf("p50 %s, p99 %s", span(p50), span(p99)), target,
			p50 < most50 && p99 < most99)
		row := []string{z.Name, inMilliseconds(p50), inMilliseconds(p99), verdict,
			inMilliseconds(r.inside[z.Name].quantile(50)), "", "", "", "", "", ""}
		if r.rival != nil && z.Like != "" {
			rival := r.rival.Took[z.Like]
			ratio := milliseconds(p50) / milliseconds(rival.quantile(50))
			against := ""
			if r.census.entries > rivalryFrom {
				against = v.judge(z.Name, fmt.Sprintf("%.2f times the p50 of FTS5", ratio), "≤ 1", ratio <= 1)
			}
			copy(row[5:], []string{inMilliseconds(rival.quantile(50)), inMilliseconds(rival.quantile(99)),
				fmt.Sprintf("%.2f times", ratio), against})
			if free := r.rival.Free[z.Name]; free != nil {
				row[9] = inMilliseconds(free.quantile(50))
			}
		}
		if s := r.scan[z.Name]; s != nil {
			row[10] = inMilliseconds(s.quantile(50))
		}
		t.row(row...)
	}
	fmt.Fprintln(b, t)
}

const method = "## Method\n\n" +
	`A memory named by its number of files is generated from a seed, with about ten entries per file, one file in five in Chinese and
a fifth of the entries private; another name is a copy of real Markdown. The daemon is a process of its own with the default
configuration. One client sends one search at a time, each over a new connection, and measures the time including the JSON and the
text of ten hits. No search repeats; files are in the page cache.

- **First build** ends when the status reports a complete index, **restart** with the first complete answer.
- **Save until found** starts at the end of the save: one search that waits, or searches with sync=false that repeat after 1 ms.
- **FTS5** has one row per entry, parses the same files with the same parser on all cores, and answers with the ten best rows by bm25
  through library calls in its process: no socket, no JSON, no snippets. Scopes and filters are SQL conditions.
- **ripgrep** counts the lines with any of the words in all files.
`
