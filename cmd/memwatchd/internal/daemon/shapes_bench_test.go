package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shapeSize is the size of the files in shapes, in bytes.
const shapeSize = 4 << 20

// repeated returns text of about shapeSize, made of f(0), f(1) and so on.
func repeated(f func(int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		part := f(i)
		if b.Len()+len(part) > shapeSize-100 {
			return b.String()
		}
		b.WriteString(part)
	}
}

func same(text string) string { return repeated(func(int) string { return text }) }

// nested returns text that begins with depth marks.
func nested(mark string, depth int) string {
	return same(strings.Repeat(mark, depth) + "deep\n\n")
}

// shapes are the shapes of large files that take longest to parse or to index.
var shapes = []struct {
	name string
	text func() string
}{
	{"tags in a line", func() string { return repeated(func(i int) string { return fmt.Sprintf("#t%d ", i) }) }},
	{"words in a line", func() string { return repeated(func(i int) string { return fmt.Sprintf("w%dx ", i) }) }},
	{"tags, each in an item", func() string { return repeated(func(i int) string { return fmt.Sprintf("- #t%d\n", i) }) }},
	{"tags in 100 items", func() string {
		return repeated(func(i int) string {
			if i%3900 == 0 {
				return "\n- "
			}
			return fmt.Sprintf("#t%d ", i)
		})
	}},
	{"reference definitions", func() string { return repeated(func(i int) string { return fmt.Sprintf("[r%d]: /x%d\n", i, i) }) }},
	{"reference uses", func() string {
		return "[r]: /x\n\n" + same("[r] ")
	}},
	{"headings", func() string { return same("# a b c d e\n") }},
	{"headings, nested", func() string {
		return repeated(func(i int) string { return strings.Repeat("#", i%6+1) + fmt.Sprintf(" h%d\n", i) })
	}},
	{"equal items", func() string { return same("- **Fact**: is the same\n") }},
	{"short items", func() string { return same("- a\n") }},
	{"tasks", func() string { return repeated(func(i int) string { return fmt.Sprintf("- [ ] task %d\n", i) }) }},
	{"nested lists", func() string {
		return repeated(func(i int) string { return strings.Repeat("  ", i%90) + "- item\n" })
	}},
	{"nested markers", func() string { return nested("- ", 60) }},
	{"nested quotes", func() string { return nested("> ", 60) }},
	{"one deep quote", func() string { return strings.Repeat(">", shapeSize-100) + "\n" }},
	{"one deep list", func() string { return strings.Repeat("- ", shapeSize/2-100) + "\n" }},
	{"unclosed comments", func() string { return same("<!-- a ") }},
	{"unclosed comments, each in an item", func() string { return same("- <!-- a\n") }},
	{"attributes", func() string {
		return repeated(func(i int) string { return fmt.Sprintf("- a <!-- id=i%d importance=0.5 pin=true -->\n", i) })
	}},
	{"attributes in one comment", func() string {
		return "- a <!-- " + repeated(func(i int) string { return fmt.Sprintf("k%d=v ", i) }) + "-->\n"
	}},
	{"one table", func() string {
		return "|a|b|\n|-|-|\n" + repeated(func(i int) string { return fmt.Sprintf("|x%d|y|\n", i) })
	}},
	{"one wide table", func() string {
		return strings.Repeat("|a", 1<<20) + "|\n" + strings.Repeat("|-", 1<<20-100) + "|\n"
	}},
	{"links in a line", func() string { return repeated(func(i int) string { return fmt.Sprintf("[a](b%d.md) ", i) }) }},
	{"links, each in an item", func() string { return repeated(func(i int) string { return fmt.Sprintf("- [a](b%d.md)\n", i) }) }},
	{"open brackets", func() string { return same("[") }},
	{"open links", func() string { return same("[a](") }},
	{"emphasis", func() string { return same("*a **a ") }},
	{"underscores", func() string { return same("_a__b_") }},
	{"backticks", func() string {
		return repeated(func(i int) string { return strings.Repeat("`", i%500+1) + " " })
	}},
	{"autolinks", func() string { return same("<https://a.b ") }},
	{"entities", func() string { return same("&amp;&#x1F600;") }},
	{"private tags", func() string { return same("<private>a</private> ") }},
	{"open private tags", func() string { return same("<private>\n") }},
	{"Chinese", func() string { return repeated(func(i int) string { return string(rune(0x4e00 + i*7919%20000)) }) }},
	{"Chinese items", func() string {
		return repeated(func(i int) string { return "- " + string(rune(0x4e00+i*7919%20000)) + "面试在星期三\n" })
	}},
	{"one word", func() string { return same("a") }},
	{"emoji", func() string { return same("👩‍👩‍👧‍👦") }},
	{"combining marks", func() string { return "a" + same("\u0301") }},
	{"blank lines", func() string { return same("\n") }},
	{"frontmatter of one value", func() string { return "---\nsummary: " + same("word ") + "\n---\n- a\n" }},
	{"frontmatter of many keys", func() string {
		return "---\n" + repeated(func(i int) string { return fmt.Sprintf("k%d: v\n", i) }) + "---\n- a\n"
	}},
	{"frontmatter of many tags", func() string {
		return "---\ntags: [" + repeated(func(i int) string { return fmt.Sprintf("t%d, ", i) }) + "]\n---\n" + "- a\n- b\n"
	}},
	{"frontmatter of aliases", func() string {
		return "---\na: &a [x]\nb: [" + same("*a, ") + "]\n---\n- a\n"
	}},
	{"frontmatter, unclosed", func() string { return "---\n" + same("a: b\n") }},
	{"frontmatter, nested", func() string { return "---\na: " + same("[") + "\n---\n" }},
}

// BenchmarkShapes measures the time from a save of a file of 4 MiB until a
// search would find it, with the processor time and the peak of the heap
// meanwhile, for each of shapes.
func BenchmarkShapes(b *testing.B) {
	isolateHome(b)
	for _, s := range shapes {
		b.Run(strings.ReplaceAll(s.name, " ", "_"), func(b *testing.B) {
			root := filepath.Join(b.TempDir(), "m")
			writeTree(b, root, map[string]string{"MEMORY.md": "- tea\n"}, time.Now().Add(-time.Hour))
			g := startTarget(b, root, nil)
			c := g.dial("s")
			text := s.text()
			runtime.GC()
			peak, over := watchHeap()
			n, before := 0, cpuTime(b)
			for b.Loop() {
				n++
				if err := os.WriteFile(filepath.Join(root, "notes.md"), fmt.Appendf([]byte(text), "\n\nzorb%d\n", n), 0o600); err != nil {
					b.Fatal(err)
				}
				g.mustSend(b, c, "search", object{"subject": "owner", "context": "private", "query": "tea"})
			}
			b.ReportMetric((cpuTime(b)-before).Seconds()/float64(n), "cpu-s/op")
			close(over)
			b.ReportMetric(float64(<-peak)/1e6, "peak-MB")
		})
	}
}

// cpuTime returns the processor time of this process.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap samples the heap until over is closed, and then sends its peak.
func watchHeap() (peak chan uint64, over chan struct{}) {
	peak, over = make(chan uint64, 1), make(chan struct{})
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			select {
			case <-over:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	}()
	return peak, over
}
