package agents

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// restyle changes the style of JSON: it adds white space, comments, and commas behind the
// last item.
func restyle(r *rand.Rand, text string) string {
	eol := []string{"\n", "\r\n"}[r.IntN(2)]
	strict := r.IntN(2) == 0 // without comments and commas behind the last item
	space := []string{"", " ", "\t", eol, eol + "  ", "/* c */", "// c" + eol, "/*" + eol + "*/"}
	if strict {
		space = space[:5]
	}
	var b strings.Builder
	quoted, last := false, rune(0)
	for _, c := range text {
		if c == '"' && last != '\\' {
			quoted = !quoted
		}
		between := !quoted && strings.ContainsRune("{}[],:", c)
		if between && !strict && (c == '}' || c == ']') && strings.ContainsRune(`"]}`, last) && r.IntN(4) == 0 {
			b.WriteByte(',')
		}
		if between {
			b.WriteString(space[r.IntN(len(space))])
		}
		b.WriteRune(c)
		if between {
			b.WriteString(space[r.IntN(len(space))])
		}
		last = c
	}
	return b.String()
}

// FuzzStyles checks the laws of FuzzJSON for settings in unusual styles.
func FuzzStyles(f *testing.F) {
	seeds(f, "testdata/*/*/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		for seed := range uint64(4) {
			text := []byte(restyle(rand.New(rand.NewPCG(seed, 0)), string(data)))
			for _, agent := range formsJSON {
				for _, part := range []Component{MCP, Hooks} {
					lawsJSON(t, agent, part, text)
				}
			}
		}
	})
}
