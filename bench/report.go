package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// report returns the figures as Markdown that is readable without rendering.
func report(m machine, results []*result) string {
	var b strings.Builder
	b.WriteString("# Performance\n\nWhat `make bench` measured; it can be repeated anywhere. What the figures mean stands at the end.\n\n")
	fmt.Fprintf(&b, "- date: %s, commit %s\n- machine: %s\n", m.date.Format(time.DateOnly), m.commit, m)
	fmt.Fprintf(&b, "- versions: %s\n- command: `cd bench && go run -tags sqlite_fts5 . %s`\n\n", versions(results),
		strings.Join(os.Args[1:], " "))
	if m.busy > busyFrom {
		fmt.Fprintf(&b, "**When the run began, others used %.0f %% of the processors: these figures say little.**\n\n",
			100*m.busy)
	}
	var missed []string
	var details strings.Builder
	for _, r := range results {
		v := &verdicts{tree: r.name}
		fmt.Fprintf(&details, "## %s\n\n", r.name)
		r.report(&details, v)
		missed = append(missed, v.missed...)
	}
	switch {
	case len(results) == 0:
	case len(missed) == 0:
		b.WriteString("All targets are reached.\n\n")
	default:
		b.WriteString("Not reached:\n\n- " + strings.Join(missed, "\n- ") + "\n\n")
	}
	return b.String() + details.String() + explanation
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
	missed []string
}

func (v *verdicts) judge(what, value, target string, reached bool) string {
	if reached {
		return "reached"
	}
	v.missed = append(v.missed, fmt.Sprintf("%s: %s: %s (%s)", v.tree, what, value, target))
	return "not reached"
}

func (r *result) report(b *strings.Builder, v *verdicts) {
	c := r.census
	fmt.Fprintf(b, "%s files, %s entries, of which the owner may read %s in private and %s in public; %s of text.\n\n",
		thousands(c.files), thousands(c.entries), thousands(c.private), thousands(c.public), megabytes(c.bytes))
	if !hasProc() {
		b.WriteString("This system has no /proc: what the daemon uses is not known.\n\n")
	}
	if r.incomplete > 0 {
		fmt.Fprintf(b, "%s did not have all that was saved.\n\n", count(r.incomplete, "answer"))
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
		row("first build beside FTS5's", fmt.Sprintf("%.2f times", ratio), "≤ 3 times", ratio <= 3)
		plain("FTS5's first build", "%s, of it in SQLite %s; optimize %s more", span(f.Build), span(f.Inserts),
			span(f.Optimize))
	}
	if r.peak > 0 {
		plain("resident memory at most, while building", "%s", megabytes(r.peak))
	}
	plain("first question after it", "%s", span(r.first))
	if r.indexSize > 0 {
		ratio := float64(r.indexSize) / float64(c.bytes)
		row("index on disk beside the text", fmt.Sprintf("%.2f times (%s)", ratio, megabytes(r.indexSize)), "≤ 1",
			ratio <= 1)
	}
	if f := r.rival; f != nil {
		plain("FTS5 on disk, with the text; without", "%s; %s", megabytes(f.Size), megabytes(f.Bare))
	}
	if r.restart > 0 {
		row("restart to the first complete answer", span(r.restart), "≤ 3 s", r.restart <= 3*time.Second)
	}
	if r.anonymous > 0 {
		row("processor time when idle", fmt.Sprintf("%.2f %% of a core", 100*r.idleTime), "< 0.2 %", r.idleTime < 0.002)
		row("anonymous memory when idle", megabytes(r.anonymous), "< 200 MB", r.anonymous < 200e6)
		plain("file-backed memory when idle", "%s", megabytes(r.fileBacked))
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
	row("save to found, "+saveName(s.loaded, s.synced), value, target, reached)
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
	fmt.Fprintf(b, "Questions over the socket, in milliseconds. Targets: %s", target)
	if r.census.entries > rivalryFrom {
		b.WriteString(", and p50 not above FTS5's")
	}
	b.WriteString(".\n\n")
	t := table{{"question", "p50", "p99", "", "in the daemon, p50", "FTS5 p50", "FTS5 p99", "p50 beside FTS5's", "",
		"FTS5 p50, all entries", "rg p50"}}
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
				against = v.judge(z.Name, fmt.Sprintf("%.2f times FTS5's p50", ratio), "≤ 1", ratio <= 1)
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

const explanation = "## What the figures mean\n\n" +
	`Trees of so many files are made up, the same ones for the same seed: sessions, notes of days, what is remembered for long, and notes,
about ten entries a file, one file in five in Chinese, a fifth of the entries private. How often words occur, and how many there are, follows real notes.
A tree with another name is a copy of real Markdown, all of it private notes.

The daemon is the program itself with its defaults, in a process of its own, on a directory of its own. One client asks, over the socket,
one question at a time, each over a new connection. Times are the client's, with the JSON and the text of ten hits; "in the daemon" is what the answer
says of itself. A question waits until what was saved before it is found, but for those "without waiting". Its words stand together in some
entry; words such as "the" are not among them. No question of a sort is asked twice, and hundreds of others were asked before the first. Files
are in the system's cache, for the daemon as for the others.

- First build: from the start of the process until its status says that the index is whole.
- First question: right after that, and the only one that finds nothing warm.
- Idle: from when it has rested for three seconds.
- Restart: from the start of the process, on an index that is there, until an answer is complete.
- Save to found: from when a save has ended. Every second one is by renaming, the others are in place. "Asked until found" asks again and
  again, without waiting, a millisecond after each answer; "asked once, which waits" is one question.
- FTS5: SQLite's, one row an entry, with path, line, owner, visibility, kind, type, day and tags as columns that are not indexed; scopes and filters
  are conditions in SQL, and "all entries" is the same questions without the scope. It reads and parses the same files with the same parser, on all cores, and writes a
  thousand rows in a transaction (WAL, synchronous=NORMAL). Words are unicode61's, not stemmed; Chinese characters are indexed singly and in
  pairs, as in memwatchd. Before the questions, optimize made its index one piece. They ask for the ten best by bm25 with any of the words, by calls
  of the library in its own process: no socket, no JSON, no snippets, no copies found. Each sort ends after twenty seconds.
- rg: ripgrep counts lines with any of the words in all files.
`
