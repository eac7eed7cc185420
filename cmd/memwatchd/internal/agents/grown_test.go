package agents

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A jsonGenerator writes settings in an unusual style: with white space, comments and
// commas anywhere, and with the keys of memwatchd among others.
type jsonGenerator struct {
	*rand.Rand
	b      strings.Builder
	eol    string
	strict bool // without comments and commas behind the last item
	calm   bool // with white space only in the usual places
}

func (g *jsonGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *jsonGenerator) space(depth int) {
	if g.calm {
		g.b.WriteString(g.eol + strings.Repeat("\t", depth))
		return
	}
	for range g.IntN(3) {
		s := g.pick(" ", "\t", g.eol, "  ", g.eol+"  ", "/* c */", "// c"+g.eol, "/*"+g.eol+"*/")
		if g.strict && strings.Contains(s, "/") {
			continue
		}
		g.b.WriteString(s)
	}
}

// value writes a value; keys are the path to the entry of memwatchd.
func (g *jsonGenerator) value(depth int, keys ...string) {
	switch {
	case len(keys) > 0 && keys[0] == "[":
		g.list('[', ']', depth, func() { g.value(depth+1, keys[1:]...) })
	case len(keys) > 0 && g.IntN(20) > 0:
		ours := g.IntN(4) // present three times out of four
		g.list('{', '}', depth, func() {
			ours--
			if ours == 0 {
				g.member(depth, keys[0], keys[1:]...)
				return
			}
			g.member(depth, g.pick("a", "b", "url", "mcp", "command", "args")+strings.Repeat("x", g.b.Len()%97))
		})
	case depth > 4 || g.IntN(3) > 0:
		g.b.WriteString(g.pick(`"s"`, `"// no comment"`, `"{"`, `"\"}"`, "1", "-2e3", "true", "null", "{}", "[]"))
	case g.IntN(2) > 0:
		g.list('[', ']', depth, func() { g.value(depth + 1) })
	default:
		g.list('{', '}', depth, func() { g.member(depth, g.pick("a", "b", "c")) })
	}
}

func (g *jsonGenerator) member(depth int, key string, keys ...string) {
	g.b.WriteString(`"` + key + `"`)
	if !g.calm {
		g.space(depth)
	}
	g.b.WriteByte(':')
	if g.calm {
		g.b.WriteByte(' ')
	} else {
		g.space(depth)
	}
	g.value(depth+1, keys...)
}

func (g *jsonGenerator) list(open, end byte, depth int, item func()) {
	g.b.WriteByte(open)
	n := g.IntN(4)
	for i := range n {
		g.space(depth + 1)
		item()
		if !g.calm {
			g.space(depth + 1)
		}
		if i < n-1 || !g.strict && g.IntN(4) == 0 {
			g.b.WriteByte(',')
		}
	}
	if n > 0 || !g.calm {
		g.space(depth)
	}
	g.b.WriteByte(end)
}

func randomJSON(seed uint64) []byte {
	g := &jsonGenerator{Rand: rand.New(rand.NewPCG(seed, 0)), eol: "\n"}
	if g.IntN(3) == 0 {
		g.eol = "\r\n"
	}
	if g.IntN(9) == 0 {
		g.b.WriteString("\ufeff")
	}
	g.calm, g.strict = g.IntN(2) == 0, g.IntN(2) == 0
	if !g.calm {
		g.space(0)
	}
	hook := []string{"hooks", g.pick("Stop", "SessionEnd", "Other"), "[", "hooks", "["}
	g.value(0, [][]string{{"mcpServers", "memwatchd"}, {"mcp", "memwatchd"}, {"mcp", "servers", "memwatchd"}, hook, {"mcp"}, {"mcpServers"}}[g.IntN(6)]...)
	if !g.calm {
		g.space(0)
	}
	return []byte(g.b.String() + g.pick("", g.eol))
}

func FuzzGrown(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		data := randomJSON(seed)
		for _, agent := range formsJSON {
			for _, part := range []Component{MCP, Hooks} {
				lawsJSON(t, agent, part, data)
			}
		}
	})
}
