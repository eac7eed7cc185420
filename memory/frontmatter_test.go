package memory

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

func TestParseTime(t *testing.T) {
	golden.Table(t, "times", func(t *testing.T, in []string) string {
		at, ok := ParseTime(in[0], testLayout().Location)
		if !ok {
			return "none"
		}
		if at.Location() != time.UTC {
			t.Errorf("%q is the time %v", in[0], at)
		}
		return at.Format(time.RFC3339Nano)
	})
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
	for _, br := range []string{"\r\n", "\r"} {
		src := "---\na: \"x" + br + " y\"\nb: z\n---\n"
		d := new(Layout).Parse("x.md", []byte(src), Meta{})
		f, ok := d.Front.Field("b")
		if !ok || src[f.Span.Start:f.Span.End] != "b: z\n" {
			t.Errorf("with %q, b is %+v", br, f)
		}
	}
	for _, br := range []string{"\u0085", "\u2028", "\u2029"} { // lines of YAML only
		d := new(Layout).Parse("x.md", []byte("---\nvisibility: public_ok\na: \"x"+br+" y\"\n---\n- z\n"), Meta{})
		if !d.Unsound || d.Partition.Visibility != PrivateOnly || len(d.Entries) != 1 {
			t.Errorf("with %q: %+v", br, d)
		}
	}
}

// TestSessionTags checks that tags of a draft are added to those of the file, in
// every form of YAML, and that all other lines stay.
func TestSessionTags(t *testing.T) {
	const rest = "# kept\nstatus: open\n"
	golden.Table(t, "sessiontags", func(t *testing.T, in []string) string {
		parse := func(b []byte) *Document { return testLayout().Parse("2026-02-04/s.md", b, testMeta) }
		r := parse([]byte("---\n" + in[0] + rest + "---\n- x\n")).Revise()
		r.CompleteSession(SessionHead{Now: templateNow, Tags: []string{"B", "c++", "x, y", "#b", " "}})
		out, err := r.Apply(parse)
		front, added, ok := strings.Cut(string(out), rest)
		if err != nil || !ok || !strings.HasSuffix(added, "---\n- x\n") {
			t.Errorf("%q: %v\n%s", in[0], err, out)
		}
		return strings.TrimPrefix(front, "---\n") + regexp.MustCompile(`(?m)^tags:.*\n`).FindString(added)
	})
}

// FuzzListScalar checks that the elements of a written list are read back unchanged, by
// yaml.v3 and as the tags of a file.
func FuzzListScalar(f *testing.F) {
	for _, tag := range []string{"<?php", "?", "? a", "a?", "c++", "C#", "a, b", "[a]", "{a", "a: b", "a:", ":a", "- a", "a #b", "true", "null",
		"~", "", "1", "1.5", "2026-02-04", "&a", "*a", "!a", "'a'", `"a"`, "%a", "@a", "`a`", "|", ">", "a\\b", "证书", "a\nb", "\u2028", "=", "<<", "..."} {
		f.Add(tag, "b")
		f.Add("project:shop", tag)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		change := fieldChange{"tags", []any{a, b}}
		if change.checkValid() != nil || strings.ContainsRune(a+b, 0) {
			return
		}
		line := change.yamlLine()
		var got struct{ Tags []string }
		if err := yaml.Unmarshal([]byte(line+"\n"), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff([]string{a, b}, got.Tags); diff != "" {
			t.Errorf("%s is read as (-want +got):\n%s", line, diff)
		}
		if strings.ContainsAny(line, "\r\n") {
			t.Errorf("%q is more than one line", line)
		}
		doc := testLayout().Parse("2026-02-04/s.md", []byte("---\n"+line+"\n---\n- x\n"), testMeta)
		if field, ok := doc.Front.Field("tags"); !ok || !cmp.Equal(field.Value, change.value) {
			t.Errorf("%s is the field %v", line, field)
		}
	})
}

// TestKeepSummary checks that a summary older than the items is a problem until a
// new one is set.
func TestKeepSummary(t *testing.T) {
	parse := func(b []byte) *Document { return testLayout().Parse("2026-02-04/s.md", b, testMeta) }
	source := []byte("---\nsummary: old\nupdated_at: 2026-02-04T10:00:00Z\n---\n- x\n")
	for _, step := range []struct {
		hour    int
		summary string
		want    bool
	}{{11, "", true}, {12, "", true}, {13, "new", false}, {14, "", true}, {15, "newest", false}} {
		doc := parse(source)
		r := doc.Revise()
		if step.summary == "" {
			r.KeepSummary()
		}
		r.CompleteSession(SessionHead{Now: time.Date(2026, 2, 4, step.hour, 0, 0, 0, time.UTC), Summary: step.summary})
		var err error
		source, err = r.Apply(parse)
		if err != nil {
			t.Fatal(err)
		}
		old := false
		for _, p := range parse(source).Problems {
			old = old || p.Code == "summary_old"
		}
		if old != step.want {
			t.Errorf("at %d: the summary is old: %t\n%s", step.hour, old, source)
		}
	}
}
