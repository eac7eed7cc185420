package compactor

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

var layout = &memory.Layout{Mask: secrets.Mask, Users: func(dir string) bool { return dir == "alice" || dir == "bob" }}

// oldTime is the default modification time of test files.
var oldTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func parse(f vault.File) *memory.Document {
	return layout.Parse(f.Path, f.Data, memory.Meta{ModTime: f.ModTime})
}

// TestPlanGolden checks the archives in testdata/plan, which contain files,
// each followed by its plan. Their comments set the terms: items, characters,
// loss, now, since, explain, and "use <id> <count>" and "link <id> <count>",
// one per line.
func TestPlanGolden(t *testing.T) {
	golden.Run(t, "plan", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		terms := termsOf(t, string(a.Comment))
		c := &Compactor{Root: Root{Parse: parse}, MaxLoss: terms.MaxLoss, Uses: &Uses{since: terms.Since}}
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			used := &usedFile{Entries: map[string]*usedEntry{}}
			for id, n := range terms.Uses {
				used.Entries[id] = &usedEntry{Count: n, Last: terms.Now}
			}
			c.Uses.files = map[string]*usedFile{f.Name: used}
			doc := parse(vault.File{Path: f.Name, Data: f.Data, ModTime: oldTime})
			plan := dump(c.planFile(doc, terms.Limit, terms.Links, terms.Now, terms.Explain))
			out.Files = append(out.Files, f, txtar.File{Name: f.Name + " →", Data: []byte(plan)})
		}
		return out
	})
}

type terms struct {
	Limit      api.CompactLimit
	MaxLoss    float64
	Now, Since time.Time
	Uses       map[string]float64
	Links      map[string]int
	Explain    bool
}

func termsOf(t *testing.T, comment string) terms {
	t.Helper()
	terms := terms{MaxLoss: 0.25, Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Uses: map[string]float64{},
		Links: map[string]int{}}
	terms.Since = terms.Now.AddDate(0, -1, 0)
	number := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	when := func(s string) time.Time {
		if s == "never" {
			return time.Time{}
		}
		v, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for line := range strings.Lines(comment) {
		word := strings.Fields(line)
		if len(word) < 2 {
			continue
		}
		switch word[0] {
		case "items":
			terms.Limit.Items = int(number(word[1]))
		case "characters":
			terms.Limit.Characters = int(number(word[1]))
		case "loss":
			terms.MaxLoss = number(word[1])
		case "now":
			terms.Now = when(word[1])
		case "since":
			terms.Since = when(word[1])
		case "explain":
			terms.Explain = word[1] == "true"
		case "use":
			terms.Uses[word[1]] = number(word[2])
		case "link":
			terms.Links[word[1]] = int(number(word[2]))
		}
	}
	return terms
}

func dump(p *filePlan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d items, %d characters → %d items, %d characters\n", p.State, p.Before.Items, p.Before.Characters, p.After.Items, p.After.Characters)
	if p.Problem != "" {
		fmt.Fprintf(&b, "problem: %s\n", p.Problem)
	}
	for _, s := range append(p.Steps[:len(p.Steps):len(p.Steps)], p.Kept...) {
		first, _, _ := strings.Cut(s.Text, "\n")
		fmt.Fprintf(&b, "%s %d-%d (%s) %s", s.Action, s.Line, s.EndLine, s.Reason, first)
		if s.Score != nil {
			fmt.Fprintf(&b, " [uses %.2f links %d age %.1f: %.3f + %.3f = %.3f]", s.Score.Uses, s.Score.Links, s.Score.AgeDays, s.Score.Use, s.Score.Recency, s.Score.Total)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
