package index

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

var benchFiles = flag.Int("files", 2000, "files of the benchmarks, of ten entries each")

// A generator writes memory files similar to real ones: ten entries of about
// fifty words whose frequencies follow Zipf's law, one in five files in
// Chinese.
type generator struct {
	r     *rand.Rand
	words *rand.Zipf
}

func newGenerator(seed uint64) *generator {
	r := rand.New(rand.NewPCG(seed, 1))
	return &generator{r, rand.NewZipf(r, 1.07, 8, 60_000)}
}

// word returns a pronounceable word for a random number. Frequent words are
// short.
func (g *generator) word() string { return wordNo(g.words.Uint64()) }

func wordNo(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b []byte
	for n += 3; n > 0; n /= 70 {
		b = append(b, consonants[n%14], vowels[n/14%5])
	}
	return string(b)
}

func (g *generator) han() rune { return rune(0x4E00 + g.words.Uint64()%3000) }

func (g *generator) sentence(chinese bool, n int) string {
	var b strings.Builder
	for i := range n {
		if chinese {
			b.WriteRune(g.han())
			if i%17 == 16 {
				b.WriteString("，")
			}
			continue
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(g.word())
	}
	return b.String()
}

// benchFile returns the i-th file, which is always the same.
func benchFile(i int) (path, text string) {
	g := newGenerator(uint64(i))
	chinese := i%5 == 4
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i/100)
	path = fmt.Sprintf("%s/s%d.md", day.Format(time.DateOnly), i)
	var b strings.Builder
	fmt.Fprintf(&b, "---\nsummary: %q\nsession_id: s%d\n---\n\n# %s\n\n## Session Summary\n", g.sentence(chinese, 12), i, day.Format(time.DateOnly))
	for k := range 10 {
		if k == 6 {
			b.WriteString("\n## Tasks\n")
		}
		n := 30 + g.r.IntN(40)
		switch {
		case k >= 6:
			fmt.Fprintf(&b, "- [%c] %s\n", " x"[g.r.IntN(2)], g.sentence(chinese, n/2))
		default:
			fmt.Fprintf(&b, "- **%s**: %s\n", g.sentence(chinese, 2), g.sentence(chinese, n))
		}
	}
	return path, b.String()
}

func (g *generator) query(n int) string {
	var w []string
	for range n {
		w = append(w, g.word())
	}
	return strings.Join(w, " ")
}

// A genSource holds all texts in memory, so the cost of a hit is the cost of
// parsing its file.
type genSource struct {
	layout *memory.Layout
	texts  map[string]string
}

func newGenSource(files int) *genSource {
	s := &genSource{&memory.Layout{}, make(map[string]string, files)}
	for i := range files {
		path, text := benchFile(i)
		s.texts[path] = text
	}
	return s
}

func (s *genSource) Load(path string) (*memory.Document, error) {
	return s.layout.Parse(path, []byte(s.texts[path]), memory.Meta{ModTime: time.Unix(1, 0)}), nil
}

// docs parses every file, ordered by path.
func (s *genSource) docs(yield func(*memory.Document) bool) {
	for _, path := range slices.Sorted(maps.Keys(s.texts)) {
		if doc, _ := s.Load(path); !yield(doc) {
			return
		}
	}
}

// openBench returns a complete index of the benchmark's files. It calls use, if that
// is not nil, with each text of them.
func openBench(b *testing.B, use func(Text)) *Index {
	b.Helper()
	src := newGenSource(*benchFiles)
	x, err := Open(b.TempDir(), Options{Source: src, Texts: use != nil})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close() })
	var batch []Update
	flush := func() {
		if err := x.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		batch = nil
	}
	for d := range src.docs {
		batch = append(batch, Update{Path: d.Place.Path, Doc: d})
		if len(batch) == 256 {
			flush()
		}
		if use != nil {
			for t := range Texts(d) {
				use(t)
			}
		}
	}
	flush()
	if err := x.Confirm(x.Status().Epoch); err != nil {
		b.Fatal(err)
	}
	return x
}

// BenchmarkSearch measures queries whose words are as frequent as in the texts,
// on a complete index without pending writes.
func BenchmarkSearch(b *testing.B) {
	x := openBench(b, nil)
	now, view := time.Now(), ownerView(b)
	for mode, name := range []string{Relevance: "relevance", Overlap: "overlap"} {
		mode := Mode(mode)
		for _, n := range []int{1, 3, 8} {
			b.Run(fmt.Sprintf("%s/%dwords", name, n), func(b *testing.B) {
				g := newGenerator(3)
				for b.Loop() {
					res, err := x.Search(b.Context(), view, Query{Text: g.query(n), Mode: mode, Limit: 10, AsOf: now})
					if err != nil {
						b.Fatal(err)
					}
					if res.Degraded {
						b.Fatal("the index is not whole")
					}
				}
			})
		}
	}
}
