package memory

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

func TestClockHeading(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 2, 4, hour, minute, 59, 0, time.UTC) }
	for _, c := range []struct {
		file, topic string
		at          time.Time
		want        string
	}{
		{"", "Topic", at(10, 30), "10:30 AM - Topic"},
		{"", "", at(0, 5), "12:05 AM"},
		{"", "", at(12, 5), "12:05 PM"},
		{"# 2026-02-04\n\n## 9:30 - a\nb\n", "选型", at(22, 5), "22:05 - 选型"},
		{"## 22:30\na\n\n## 9:30 PM\nb\n", "", at(21, 31), "9:31 PM"},
		{"## 9:30 pm\na\n\n## **21:30**\nb\n\n## Tasks\n- [ ] c\n", "d", at(6, 7), "06:07 - d"},
		{"", " C \n #  ##", at(10, 30), `10:30 AM - C # \##`},
		{"", "C#", at(10, 30), "10:30 AM - C#"},
	} {
		d := testLayout().Parse("memory/2026-02-04.md", []byte(c.file), testMeta)
		if got := d.ClockHeading(c.at, c.topic); got != c.want {
			t.Errorf("%q: the heading is %q, not %q", c.file, got, c.want)
		}
	}
	if got := (*Document)(nil).ClockHeading(at(15, 0), "x"); got != "3:00 PM - x" {
		t.Errorf("without a document the heading is %q", got)
	}
}

func TestParseClock(t *testing.T) {
	for s, want := range map[string][2]int{
		"10:30 AM": {10, 30}, "10:30pm": {22, 30}, "12:00 a.m.": {0, 0}, "22:30": {22, 30}, "9:05": {9, 5}, "9：05": {9, 5}, "23:59:59": {23, 59},
	} {
		if h, m, ok := ParseClock(s); !ok || h != want[0] || m != want[1] {
			t.Errorf("%q is %d:%d, %v", s, h, m, ok)
		}
	}
	for _, s := range []string{"", "10", "24:00", "13:00 PM", "10:60", "10:30 - Topic", "10:30 ", "at 10:30", "10:30 AM x", "-1:30"} {
		if h, m, ok := ParseClock(s); ok {
			t.Errorf("%q is taken for %d:%d", s, h, m)
		}
	}
}

// FuzzAppendSection checks that AppendSection keeps every byte of any file and
// adds exactly one entry, below its own heading, with the requested readers. A
// private entry must not add text for public readers.
func FuzzAppendSection(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "Topic", "a text", false)
		f.Add("# 2026-02-04\n", s, s, true)
		f.Add("# A\n\na <!-- visibility=private_only -->\n\n"+s, "t", "x", true)
	}
	f.Fuzz(func(t *testing.T, file, topic, text string, public bool) {
		if CheckText(topic) != nil || CheckText(text) != nil || Line(text) == "" {
			return
		}
		l := testLayout()
		parse := func(src []byte) *Document { return l.Parse("memory/2026-02-04.md", src, testMeta) }
		d := parse([]byte(file))
		visibility := PrivateOnly
		if public {
			visibility = PublicOK
		}
		heading := d.ClockHeading(time.Date(2026, 2, 4, 10, 30, 0, 0, time.UTC), topic)
		r := d.Revise()
		r.AppendSection(heading, Line(text)+" "+Comment(map[string]string{"visibility": visibility.String()}, nil))
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
		if e.Heading < 0 || next.Headings[e.Heading].Text != heading || e.Partition.Visibility != visibility && visibility == PrivateOnly || len(e.Tasks) > 0 {
			t.Fatalf("%q is read as %+v", out, e)
		}
		everybody := View{owners: map[string]string{d.publicPartition.Owner: ""}}
		shown := func(d *Document) string {
			d = d.For(everybody)
			if d == nil {
				return ""
			}
			s := d.Shown(everybody)
			return s.Text()
		}
		if a, b := shown(d), shown(next); !public && len(b) > len(a)+1 {
			t.Fatalf("a private note shows %q, before %q", b, a)
		}
	})
}
