package memory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	loc := time.FixedZone("", 8*60*60)
	for s, want := range map[string]string{
		"2026-02-04T12:34:56Z":       "2026-02-04T12:34:56Z",
		"2026-02-04t12:34:56z":       "2026-02-04T12:34:56Z",
		"2026-02-04T12:34:56.789Z":   "2026-02-04T12:34:56.789Z",
		"2026-02-04T12:34:56+08:00":  "2026-02-04T04:34:56Z",
		"2026-02-04T12:34:56+0800":   "2026-02-04T04:34:56Z",
		"2026-02-04T12:34:56+08":     "2026-02-04T04:34:56Z",
		"2026-02-04 12:34:56 +08:00": "2026-02-04T04:34:56Z",
		"2026-02-04 12:34:56 +0800":  "2026-02-04T04:34:56Z",
		"2026-02-04 12:34:56 UTC":    "2026-02-04T12:34:56Z",
		"2026-02-04 12:34:56":        "2026-02-04T12:34:56Z",
		"2026-02-04  12:34":          "2026-02-04T12:34:00Z",
		"2026-02-04T12:34":           "2026-02-04T12:34:00Z",
		"2026-02-04T12:34Z":          "2026-02-04T12:34:00Z",
		"20260204T123456Z":           "2026-02-04T12:34:56Z",
		"20260204T123456":            "2026-02-04T12:34:56Z",
		"2026-02-04":                 "2026-02-03T16:00:00Z",
		"20260204":                   "2026-02-03T16:00:00Z",
		" 2026/02/04 ":               "2026-02-03T16:00:00Z",
	} {
		got, ok := ParseTime(s, loc)
		if !ok || got.Format(time.RFC3339Nano) != want || got.Location() != time.UTC {
			t.Errorf("%q is %v %v, want %s", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "x", "2026-02-30", "2026-13-01", "12:34", "2026-02-04T25:00:00Z", "2026-02-04 12:34:56 EST", "2026-02-04T12:34:56Z and more", strings.Repeat("2", 100)} {
		if got, ok := ParseTime(s, loc); ok {
			t.Errorf("%q is the time %v", s, got)
		}
	}
}

// TestFrontmatterBombs checks that parsing a maliciously expensive frontmatter
// takes little time and at most 20 MB, and that the body is still parsed and,
// below broken frontmatter, private.
func TestFrontmatterBombs(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	for name, front := range map[string]string{
		"ten megabytes":     strings.Repeat("key: value\n", 1<<20),
		"one long value":    "summary: " + strings.Repeat("word ", 2<<20) + "\n",
		"billion laughs":    laughs.String(),
		"quadratic aliases": "a: &a [" + strings.Repeat("x,", 2000) + "x]\nb: [" + strings.Repeat("*a,", 90) + "x]\n",
		"deep":              "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n",
		"deep, unclosed":    "a: " + strings.Repeat("[", 60000) + "\n",
		"many keys":         manyKeys(6000),
		"many comments":     strings.Repeat("# x\n", 16000),
		"tabs":              strings.Repeat("\t", 60000) + "\n",
		"quotes":            strings.Repeat("\"", 60000) + "\n",
		"question marks":    strings.Repeat("? ", 30000) + "\n",
		"dashes":            strings.Repeat("- ", 30000) + "\n",
	} {
		src := []byte("---\n" + front + "---\n- item\n")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		d := new(Layout).Parse("2026-02-04/x.md", src, Meta{})
		took := time.Since(start) // 50 ms on an idle machine
		runtime.ReadMemStats(&after)
		if took > 5*time.Second*raceFactor {
			t.Errorf("%s: took %v", name, took)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
			t.Errorf("%s: used %d MB", name, used>>20)
		}
		if len(d.Entries) != 1 || d.Entries[0].Text != "- item" {
			t.Errorf("%s: the body is %+v", name, d.Entries)
		}
		if sound := name == "many keys" || name == "many comments"; d.Front.Broken == sound || d.Unsound == sound {
			t.Errorf("%s: broken %v, unsound %v", name, d.Front.Broken, d.Unsound)
		}
		if d.Front.Broken && d.Entries[0].Partition.Visibility != PrivateOnly {
			t.Errorf("%s: the body is public", name)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	return b.String()
}

// TestFieldSpans checks that the spans of the keys are in order and exclude the
// comments between them, so that an edit can change one key without the others.
func TestFieldSpans(t *testing.T) {
	const src = "---\n# top\na: 1 # one\n\"b\": |\n  text\n\n  more\n\n# between\nc:\n- x\n-   y\n'd e': \"quoted\n  over lines\"\nf:\n\n  g: h\n---\n"
	d := new(Layout).Parse("x.md", []byte(src), Meta{})
	want := []string{"a: 1 # one\n", "\"b\": |\n  text\n\n  more\n", "c:\n- x\n-   y\n", "'d e': \"quoted\n  over lines\"\n", "f:\n\n  g: h\n"}
	var got []string
	for _, f := range d.Front.Fields {
		got = append(got, src[f.Span.Start:f.Span.End])
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the fields are\n%q, want\n%q", got, want)
	}
	// YAML has more line breaks than Markdown.
	for _, br := range []string{"\r\n", "\r", "\u0085", "\u2028"} {
		src := "---\na: \"x" + br + " y\"\nb: z\n---\n"
		d := new(Layout).Parse("x.md", []byte(src), Meta{})
		f, ok := d.Front.Field("b")
		if !ok || src[f.Span.Start:f.Span.End] != "b: z\n" {
			t.Errorf("with %q, b is %+v", br, f)
		}
	}
}
