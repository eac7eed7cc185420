package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

const repository = "../../../.."

// A docPage is a file of the documentation, split into lines.
type docPage struct {
	path   string // below the repository
	lines  []string
	blocks []block
}

// A block is the text between two fences.
type block struct {
	kind       string // word after the opening fence
	start, end int    // range of the lines within, as indices
}

// fence matches the first or last line of a block. Pages use no other fences.
var fence = regexp.MustCompile("^```([a-z]*)$")

// pages returns the README and all pages of docs, including one level of
// directories.
func pages(t *testing.T) []*docPage {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	below, err := filepath.Glob(filepath.Join(repository, "docs", "*", "*.md"))
	testkit.Must(t, err)
	paths = append(paths, below...)
	var list []*docPage
	for _, path := range append([]string{filepath.Join(repository, "README.md")}, paths...) {
		text, err := os.ReadFile(path)
		testkit.Must(t, err)
		name, err := filepath.Rel(repository, path)
		testkit.Must(t, err)
		p, err := parsePage(filepath.ToSlash(name), text)
		testkit.Must(t, err)
		list = append(list, p)
	}
	return list
}

func parsePage(path string, text []byte) (*docPage, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	p := &docPage{path: path, lines: strings.Split(string(text), "\n")}
	open := false
	for i, line := range p.lines {
		m := fence.FindStringSubmatch(line)
		switch {
		case m == nil && strings.HasPrefix(strings.TrimSpace(line), "```"):
			return nil, fmt.Errorf("%s:%d: a fence that is indented, or has more behind it than a word", path, i+1)
		case m == nil:
		case open && m[1] == "":
			p.blocks[len(p.blocks)-1].end = i
			open = false
		case open:
			return nil, fmt.Errorf("%s:%d: a block begins within a block", path, i+1)
		default:
			p.blocks = append(p.blocks, block{kind: m[1], start: i + 1})
			open = true
		}
	}
	if open {
		return nil, fmt.Errorf("%s: the last block does not end", path)
	}
	return p, nil
}

func (p *docPage) text(b block) string {
	return strings.Join(append(p.lines[b.start:b.end:b.end], ""), "\n")
}

// each calls f for each block of a kind, with the path:line of its start.
func (p *docPage) each(kind string, f func(where, text string)) {
	for _, b := range p.blocks {
		if b.kind == kind {
			f(fmt.Sprintf("%s:%d", p.path, b.start+1), p.text(b))
		}
	}
}

// replaced returns the page with the blocks of a kind replaced by the results
// of f.
func (p *docPage) replaced(kind string, f func(text string) string) []byte {
	var out strings.Builder
	from := 0
	for _, b := range p.blocks {
		if b.kind != kind {
			continue
		}
		out.WriteString(strings.Join(append(p.lines[from:b.start:b.start], ""), "\n") + f(p.text(b)))
		from = b.end
	}
	out.WriteString(strings.Join(p.lines[from:], "\n"))
	return []byte(out.String())
}

// prose calls f for each line outside the blocks, with its number.
func (p *docPage) prose(f func(number int, line string)) {
	from := 0
	for _, b := range append(p.blocks, block{start: len(p.lines) + 1}) {
		for i := from; i < b.start-1; i++ {
			f(i+1, p.lines[i])
		}
		from = b.end + 1
	}
}

var (
	heading  = regexp.MustCompile(`^#{1,6} (.*)$`)
	codeSpan = regexp.MustCompile("`[^`]+`")
	link     = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
)

// anchors returns the link targets of the page's headings.
func (p *docPage) anchors() map[string]bool {
	seen := map[string]bool{}
	p.prose(func(_ int, line string) {
		m := heading.FindStringSubmatch(line)
		if m == nil {
			return
		}
		name := anchor(m[1])
		for i, base := 1, name; seen[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		seen[name] = true
	})
	return seen
}

// anchor returns the link target of a heading: lower case, words joined by
// dashes, no other punctuation.
func anchor(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// links calls f for each link target on the page, with its path:line.
func (p *docPage) links(f func(where, target string)) {
	p.prose(func(number int, line string) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "`"), -1) {
			f(fmt.Sprintf("%s:%d", p.path, number), m[1])
		}
	})
}
