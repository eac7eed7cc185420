package memory

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

func TestClockHeading(t *testing.T) {
	golden.Table(t, "clockheadings", func(t *testing.T, in []string) string {
		at, err := time.Parse("15:04", in[0])
		if err != nil {
			t.Fatal(err)
		}
		heading := testLayout().Parse("memory/2026-02-04.md", []byte(in[2]), testMeta).ClockHeading(at, in[1])
		if none := (*Document)(nil).ClockHeading(at, in[1]); in[2] == "" && none != heading {
			t.Errorf("without a document the heading is %q", none)
		}
		return heading
	})
}

func TestParseClock(t *testing.T) {
	golden.Table(t, "clocks", func(_ *testing.T, in []string) string {
		hour, minute, ok := ParseClock(in[0])
		if !ok {
			return "none"
		}
		return fmt.Sprintf("%02d:%02d", hour, minute)
	})
}

// FuzzAppendSection checks that AppendSection keeps every byte of any file and
// adds exactly one entry, below its own heading.
func FuzzAppendSection(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "Topic", "a text")
		f.Add("# 2026-02-04\n", s, s)
		f.Add("# A\n\na <!-- visibility=private_only -->\n\n"+s, "t", "x")
	}
	f.Fuzz(func(t *testing.T, file, topic, text string) {
		if CheckText(topic) != nil || CheckText(text) != nil || lineOf(text) == "" {
			return
		}
		l := testLayout()
		parse := func(src []byte) *Document { return l.Parse("memory/2026-02-04.md", src, testMeta) }
		d := parse([]byte(file))
		heading := d.ClockHeading(time.Date(2026, 2, 4, 10, 30, 0, 0, time.UTC), topic)
		r := d.Revise()
		r.AppendSection(heading, verbatim(lineOf(text)+" <!-- importance=0.5 -->"))
		out, err := r.Apply(parse)
		if err != nil {
			if file == "" || file == "# 2026-02-04\n" {
				t.Fatalf("%q below %q: %v", text, heading, err)
			}
			return
		}
		if !bytes.HasPrefix(out, []byte(file)) {
			t.Fatalf("%q becomes %q", file, out)
		}
		next := parse(out)
		empty := func(e Entry) bool { return e.Block == EmptyHeading }
		before, after := slices.DeleteFunc(slices.Clone(d.Entries), empty), slices.DeleteFunc(slices.Clone(next.Entries), empty)
		if len(after) != len(before)+1 {
			t.Fatalf("%q has %d entries, after %d", out, len(after), len(before))
		}
		e := &after[len(before)]
		if e.Heading < 0 || next.Headings[e.Heading].Text != heading || next.Partition != d.Partition || len(e.Tasks) > 0 {
			t.Fatalf("%q is read as %+v", out, e)
		}
	})
}

// TestNoteTime checks from where the entries of ordinary notes take their time: none is that of
// the file.
func TestNoteTime(t *testing.T) {
	golden.Table(t, "notetimes", func(_ *testing.T, in []string) string {
		at := new(Layout).Parse(in[0], []byte(in[1]), testMeta).Entries[0].Time
		if at.Equal(testMeta.ModTime) {
			return "none"
		}
		return at.Format(time.RFC3339)
	})
}
