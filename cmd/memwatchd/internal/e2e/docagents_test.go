package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
)

// TestPagesAgentSettings checks that the settings in docs/agents.md, below the
// name of each agent, equal those that memwatchd writes.
func TestPagesAgentSettings(t *testing.T) {
	all := pages(t)
	i := slices.IndexFunc(all, func(p *docPage) bool { return p.path == "docs/agents.md" })
	p := all[i]
	seen := map[string]bool{}
	want := func(line int, kind string) (string, bool) {
		title := ""
		for _, above := range p.lines[:line] {
			if m := heading.FindStringSubmatch(above); m != nil {
				title = m[1]
			}
		}
		j := slices.IndexFunc(agents.All, func(a agents.Agent) bool { return a.Title == title })
		if j < 0 || kind != "json" && kind != "toml" {
			return "", false
		}
		seen[title] = true
		text, err := agents.All[j].Install(agents.MCP, nil, agents.Command{"memwatchd", "mcp"})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(text), "\n") + "\n", true
	}
	var out strings.Builder
	from := 0
	for _, b := range p.blocks {
		text, ok := want(b.start, b.kind)
		if !ok {
			continue
		}
		if diff := cmp.Diff(text, p.text(b)); diff != "" && !*update {
			t.Errorf("%s:%d: (-what memwatchd writes +page)\n%s", p.path, b.start, diff)
		}
		out.WriteString(strings.Join(append(p.lines[from:b.start:b.start], ""), "\n") + text)
		from = b.end
	}
	out.WriteString(strings.Join(p.lines[from:], "\n"))
	if *update {
		if err := os.WriteFile(filepath.Join(repository, p.path), []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range agents.All {
		if !seen[a.Title] && a.Supports(agents.MCP, agents.User) {
			t.Errorf("%s shows no settings of %s", p.path, a.Title)
		}
	}
}
