package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// newLargeSession returns a session with n items and a draft of m items, half of
// which update items of the session.
func newLargeSession(n, m int) (file string, draft *Draft) {
	var b strings.Builder
	b.WriteString("---\nsession_id: s1\n---\n\n# 2026-02-05 Short-Term Memory\n\n## Temporary Facts\n")
	for i := range n {
		fmt.Fprintf(&b, "- **Fact %d**: the value of fact %d is %d\n", i, i, i*7)
	}
	draft = &Draft{}
	for i := range m {
		at := i * (2 * n / max(m, 1))
		draft.Facts = append(draft.Facts, DraftItem{Title: fmt.Sprintf("Fact %d", at), Text: fmt.Sprintf("another value of fact %d", at)})
	}
	return b.String(), draft
}

// BenchmarkMergeLarge merges 500 items into a file of 20,000.
func BenchmarkMergeLarge(b *testing.B) {
	l := &Layout{Location: time.UTC}
	file, draft := newLargeSession(20_000, 500)
	parse := func(source []byte) *Document { return l.Parse("memory/2026-02-05/s1.md", source, Meta{}) }
	doc := parse([]byte(file))
	parts, err := draft.Entries()
	if err != nil {
		b.Fatal(err)
	}
	now := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		m, err := l.Merge(doc, parts, func(*Entry) bool { return true })
		if err != nil {
			b.Fatal(err)
		}
		if err := m.ByRules(b.Context()); err != nil {
			b.Fatal(err)
		}
		r := doc.Revise()
		m.Revise(r, Author{}, now)
		if _, err := r.Apply(parse); err != nil {
			b.Fatal(err)
		}
	}
}
