package memory

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testLayout returns a root in a time zone other than UTC, with user
// directories, whose daily notes and sessions are public.
func testLayout() *Layout {
	return &Layout{
		Location: time.FixedZone("CST", 8*60*60),
		Users:    func(dir string) bool { return dir == "alice" || strings.HasPrefix(dir, "user-") },
		Daily:    PublicOK, Sessions: PublicOK,
	}
}

var testMeta = Meta{ModTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}

// TestParseGolden compares parsed files with the archives in testdata/parse.
// Each file is followed by a dump of its document. Pictures stand for special
// bytes: ␍ is a carriage return, and the line feed after it is dropped unless ␊
// is in between, ␤ at the end means no final newline, ␀ is a NUL, and ⌧ a byte
// that is not UTF-8.
func TestParseGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/parse/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, f := range a.Files {
				if p, ok := strings.CutSuffix(f.Name, " →"); ok {
					want[p] = string(f.Data)
				}
			}
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				if strings.HasSuffix(f.Name, " →") {
					continue
				}
				d := testLayout().Parse(f.Name, decodePicture(f.Data), testMeta)
				got := dumpDocument(d)
				out.Files = append(out.Files, f, txtar.File{Name: f.Name + " →", Data: []byte(got)})
				if diff := cmp.Diff(want[f.Name], got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(out), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func decodePicture(b []byte) []byte {
	s := strings.NewReplacer("␍␊\n", "\r\n", "␍\n", "\r", "␍", "\r", "␤\n", "", "␀", "\x00", "⌧", "\xff", "␊", "\n").Replace(string(b))
	return []byte(s)
}

// dumpDocument returns all values of a document that are not zero.
func dumpDocument(d *Document) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s=%s", name, value)
		}
	}
	part := func(p Partition) string {
		v := "private"
		if p.Visibility == PublicOK {
			v = "public"
		}
		return p.Owner + "/" + v
	}
	fmt.Fprintf(&b, "%s own=%s", d.Place.Kind, part(d.Own))
	field("claim", d.Claim)
	field("day", d.Place.Day)
	field("session", d.Place.Session)
	field("namespace", d.Place.Namespace)
	if d.Unsound {
		b.WriteString(" unsound")
	}
	b.WriteByte('\n')
	dumpFront(&b, &d.Front)
	for _, h := range d.Headings {
		fmt.Fprintf(&b, "heading %s parent=%d %s %q\n", lineRangeText(h.Line, h.EndLine), h.Parent, strings.Repeat("#", h.Level), h.Text)
	}
	for _, s := range d.Hidden {
		fmt.Fprintf(&b, "hidden %s\n", lineRangeText(d.lines.at(s.Start), d.lines.at(s.End-1)))
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		id := e.ID
		if strings.HasPrefix(id, "~") && !e.Given {
			id = ""
		}
		fmt.Fprintf(&b, "%s %s %s %s", [...]string{"item", "paragraph", "table", "quote", "html", "code", "empty-heading"}[e.Block],
			lineRangeText(e.Line, e.EndLine), part(e.Partition), e.Type)
		field("id", id)
		if e.Title != "" {
			fmt.Fprintf(&b, " title=%q", e.Title)
		}
		if want := (time.Time{}); e.Time != want {
			field("time", e.Time.Format(time.RFC3339))
		}
		field("added", e.Added)
		field("tags", strings.Join(e.Tags, ","))
		if e.Importance != 0 {
			field("importance", fmt.Sprint(e.Importance))
		}
		if e.HasConfidence {
			field("confidence", fmt.Sprint(e.Confidence))
		}
		field("source", e.Source)
		field("evidence", strings.Join(e.Evidence, "|"))
		field("supersedes", e.Supersedes)
		if e.Pin {
			b.WriteString(" pin")
		}
		fmt.Fprintf(&b, "\n  in %s\n", strings.Join(e.Sections, " › "))
		for l := range strings.SplitSeq(e.Text, "\n") {
			fmt.Fprintf(&b, "  | %s\n", l)
		}
		fmt.Fprintf(&b, "  norm %s\n", e.Norm)
		for _, t := range e.Tasks {
			fmt.Fprintf(&b, "  task %s line=%d box=%q %q norm=%q", t.State, t.Line, d.Source[t.Box.Start:t.Box.End], t.Text, t.Norm)
			field("id", t.ID)
			if t.Under != "" {
				fmt.Fprintf(&b, " under=%q parent=%d", t.Under, t.Parent)
			}
			if t.InTasks {
				b.WriteString(" tasks")
			}
			if t.FollowUp {
				b.WriteString(" follow-ups")
			}
			b.WriteByte('\n')
		}
		for _, l := range e.Links {
			fmt.Fprintf(&b, "  link %q → %q", l.Text, l.Target)
			field("anchor", l.Anchor)
			field("paths", strings.Join(l.Paths, " "))
			field("name", l.Name)
			b.WriteByte('\n')
		}
		if key, value, ok := e.Item(); ok && d.Place.Kind == Items {
			fmt.Fprintf(&b, "  value %q = %q\n", key, value)
		}
		if e.IsSummary() && d.Place.Kind == Items {
			b.WriteString("  summary\n")
		}
	}
	for _, p := range d.Problems {
		fmt.Fprintf(&b, "problem %s line=%d\n", p.Code, p.Line)
	}
	return b.String()
}

func lineRangeText(from, to int) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

func dumpFront(b *strings.Builder, f *Front) {
	if !f.Present {
		return
	}
	fmt.Fprintf(b, "front %d-%d", f.Span.Start, f.Span.End)
	if f.Broken {
		b.WriteString(" broken")
	}
	if !f.Updated.IsZero() {
		b.WriteString(" updated=" + f.Updated.Format(time.RFC3339Nano))
	}
	for _, s := range []struct{ name, value string }{
		{"summary", f.Summary}, {"tasks", f.Tasks}, {"follow_ups", f.FollowUps}, {"session", f.SessionID}, {"source", f.Source},
		{"subject", f.SubjectID}, {"contact", f.ContactID}, {"nickname", f.ContactNickname}, {"tags", strings.Join(f.Tags, ",")},
	} {
		if s.value != "" {
			fmt.Fprintf(b, " %s=%q", s.name, s.value)
		}
	}
	if f.HasVisibility {
		fmt.Fprintf(b, " visibility=%s", f.Visibility)
	}
	b.WriteByte('\n')
	for _, field := range f.Fields {
		fmt.Fprintf(b, "  field %s line=%d span=%d-%d %#v\n", field.Key, field.Line, field.Span.Start, field.Span.End, field.Value)
	}
}
