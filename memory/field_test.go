package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestSessionTags checks that tags of a draft are added to those of the file, in
// every form of YAML, and that all other lines stay.
func TestSessionTags(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"none", "", "tags: [B, c++, \"x, y\"]\n"},
		{"a list", "tags: [a, b]\n", "tags: [a, b, c++, \"x, y\"]\n"},
		{"a block", "tags:\n  - a\n  - b\n", "tags: [a, b, c++, \"x, y\"]\n"},
		{"a block before a comment", "tags:\n  - a\n  - b\n  # kept\n", "tags: [a, b, c++, \"x, y\"]\n  # kept\n"},
		{"a text", "tags: a, b\n", "tags: [a, b, c++, \"x, y\"]\n"},
		{"all of them", "tags: [\"x, y\", b, C++] # mine\n", "tags: [\"x, y\", b, C++] # mine\n"},
	} {
		const rest = "# kept\nstatus: open\n---\n- x\n"
		doc := testLayout().Parse("2026-02-04/s.md", []byte("---\n"+c.before+rest), testMeta)
		r := doc.Revise()
		r.CompleteSession(SessionHead{Now: time.Date(2026, 2, 4, 12, 0, 0, 0, time.UTC), Tags: []string{"B", "c++", "x, y", "#b", " "}})
		out, err := r.Apply(func(b []byte) *Document { return testLayout().Parse(doc.Place.Path, b, testMeta) })
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !strings.Contains(string(out), c.after) || strings.Count(string(out), "tags:") != 1 || !strings.HasSuffix(string(out), "\n- x\n") ||
			!strings.Contains(string(out), "# kept\nstatus: open\n"):
			t.Errorf("%s:\n%s", c.name, out)
		}
	}
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
