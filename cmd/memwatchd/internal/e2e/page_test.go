package e2e

import (
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

// A docPage is a file of the documentation. Its path is relative to the repository.
type docPage struct{ path, text string }

// fenced matches a block, with the word after its opening fence and its text.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// pages returns the README and all pages of docs, including one level of
// directories.
func pages(t *testing.T) (list []*docPage) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("there are no pages %s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			testkit.Must(t, err)
			name, err := filepath.Rel(repository, path)
			testkit.Must(t, err)
			p := &docPage{name, string(text)}
			p.prose(func(where, line string) {
				if strings.HasPrefix(strings.TrimSpace(line), "```") {
					t.Fatalf("%s: a fence without another one, that is indented, or has more behind it than a word", where)
				}
			})
			list = append(list, p)
		}
	}
	return list
}

// each calls f for each block of a kind, with the path:line of its start.
func (p *docPage) each(kind string, f func(where, text string)) {
	for _, m := range fenced.FindAllStringSubmatchIndex(p.text, -1) {
		if p.text[m[2]:m[3]] == kind {
			f(fmt.Sprintf("%s:%d", p.path, strings.Count(p.text[:m[4]], "\n")+1), p.text[m[4]:m[5]])
		}
	}
}

// replaced returns the page with the blocks of a kind replaced by the results
// of f.
func (p *docPage) replaced(kind string, f func(text string) string) string {
	return fenced.ReplaceAllStringFunc(p.text, func(block string) string {
		if m := fenced.FindStringSubmatch(block); m[1] == kind {
			return "```" + kind + "\n" + f(m[2]) + "```"
		}
		return block
	})
}

// prose calls f for each line outside the blocks, with its path:line.
func (p *docPage) prose(f func(where, line string)) {
	text := fenced.ReplaceAllStringFunc(p.text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	for i, line := range strings.Split(text, "\n") {
		f(fmt.Sprintf("%s:%d", p.path, i+1), line)
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
	p.prose(func(_, line string) {
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
	p.prose(func(where, line string) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "`"), -1) {
			f(where, m[1])
		}
	})
}
