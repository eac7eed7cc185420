package memory

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// TestParsePeriod checks periods on a Sunday on which the clocks change.
func TestParsePeriod(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 12, 30, 0, 0, berlin) // a Sunday of 23 hours
	for s, want := range map[string][2]string{
		"2026":                 {"2026-01-01T00:00:00+01:00", "2026-12-31T23:59:59+01:00"},
		"2026-03-29":           {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"today":                {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"Sunday":               {"2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00"},
		"yesterday":            {"2026-03-28T00:00:00+01:00", "2026-03-28T23:59:59+01:00"},
		"7d":                   {"2026-03-22T12:30:00+01:00", "2026-03-22T12:30:00+01:00"},
		"36h":                  {"2026-03-27T23:30:00+01:00", "2026-03-27T23:30:00+01:00"},
		"2026-03-29T10:00:00Z": {"2026-03-29T12:00:00+02:00", "2026-03-29T12:00:00+02:00"},
		"4 February 2026":      {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"feb 4th":              {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"March 30":             {"2025-03-30T00:00:00+01:00", "2025-03-30T23:59:59+02:00"}, // 2026-03-30 is tomorrow
		"Feb. 29":              {"2024-02-29T00:00:00+01:00", "2024-02-29T23:59:59+01:00"},
		"Sept 2025":            {"2025-09-01T00:00:00+02:00", "2025-09-30T23:59:59+02:00"},
		"May":                  {"2025-05-01T00:00:00+02:00", "2025-05-31T23:59:59+02:00"},
		"2026年2月4日":            {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"2月4号":                 {"2026-02-04T00:00:00+01:00", "2026-02-04T23:59:59+01:00"},
		"last week":            {"2026-03-16T00:00:00+01:00", "2026-03-22T23:59:59+01:00"},
		"last month":           {"2026-02-01T00:00:00+01:00", "2026-02-28T23:59:59+01:00"},
		"last Sunday":          {"2026-03-22T00:00:00+01:00", "2026-03-22T23:59:59+01:00"},
		"3 days ago":           {"2026-03-26T00:00:00+01:00", "2026-03-26T23:59:59+01:00"},
		"a  week ago":          {"2026-03-22T00:00:00+01:00", "2026-03-22T23:59:59+01:00"},
		"2 months ago":         {"2026-01-29T00:00:00+01:00", "2026-01-29T23:59:59+01:00"},
		"an hour ago":          {"2026-03-29T11:30:00+02:00", "2026-03-29T11:30:00+02:00"},
		"前天":                   {"2026-03-27T00:00:00+01:00", "2026-03-27T23:59:59+01:00"},
		"上周":                   {"2026-03-16T00:00:00+01:00", "2026-03-22T23:59:59+01:00"},
		"上个月":                  {"2026-02-01T00:00:00+01:00", "2026-02-28T23:59:59+01:00"},
		"3天前":                  {"2026-03-26T00:00:00+01:00", "2026-03-26T23:59:59+01:00"},
	} {
		first, last, ok := ParsePeriod(s, now)
		if got := [2]string{first.In(berlin).Format(time.RFC3339), last.In(berlin).Format(time.RFC3339)}; !ok || got != want {
			t.Errorf("%s: %v %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "now", "2026-02-30", "-3h", "d", "7 d", "-7d", "99999999d", "2026-3", "tomorrow", "mon", "\xff",
		"30 February", "February 30, 2026", "0 May", "May 0", "in May", "mayor", "13月", "5月0日", "4 February 20266", "last", "last time", "3 days", "days ago", "99999 days ago", "next week", "last may day", "last today"} {
		if first, _, ok := ParsePeriod(s, now); ok {
			t.Errorf("%q: %v", s, first)
		}
	}
}

func TestNamedPeriods(t *testing.T) {
	now := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC) // a Friday
	for text, want := range map[string][]string{
		"what did Maria donate in December 2025?":      {"2025-12-01/2025-12-31"},
		"the plan of 4 May, 2025 and of May 5th, 2025": {"2025-05-04/2025-05-04", "2025-05-05/2025-05-05"},
		"2026-02-01, 2026-01":                          {"2026-02-01/2026-02-01", "2026-01-01/2026-01-31"},
		"the trip in late June":                        {"2025-06-01/2025-06-30"},
		"what may have changed, and who is April":      nil,
		"what did we decide yesterday":                 {"2026-02-05/2026-02-05"},
		"on Monday":                                    {"2026-02-02/2026-02-02"},
		"the Friday before 23 January, 2026":           {"2026-01-23/2026-01-23"},
		"1月3日和去年12月做了什么":                               {"2026-01-03/2026-01-03", "2025-12-01/2025-12-31"},
		"在2026-01-03做了什么":                              {"2026-01-03/2026-01-03"},
		"3个月 and 2026-13-01":                           nil,
		"昨天吃了什么":                                       {"2026-02-05/2026-02-05"},
		"what did I do last week, and 3 days ago":      {"2026-01-26/2026-02-01", "2026-02-03/2026-02-03"},
		"last Friday, a week and a year":               {"2026-01-30/2026-01-30"},
		"上周和去年":                                        {"2026-01-26/2026-02-01", "2025-01-01/2025-12-31"},
		"9.2.2025 and 2025/2/9":                        {"2025-02-09/2025-02-09", "2025-02-09/2025-02-09"},
		"in 2025.02.09, version 1.2.3, 31.2.2025":      {"2025-02-09/2025-02-09"},
		"": nil,
	} {
		var got []string
		for _, p := range NamedPeriods(text, now) {
			got = append(got, p.First.Format(time.DateOnly)+"/"+p.Last.Format(time.DateOnly))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

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

// TestNoteTime checks from where the entries of ordinary notes take their time.
func TestNoteTime(t *testing.T) {
	const modified = "2026-02-06T12:00:00Z"
	at, err := time.Parse(time.RFC3339, modified)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ path, text, want string }{
		{"notes/tea.md", "- tea\n", modified},
		{"notes/tea.md", "---\ndate: 2023-05-17\n---\n- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/tea.md", "---\ncreated: 2023-05-17 10:30\nmodified: 2024-01-02T03:04:05+02:00\n---\n- tea\n", "2024-01-02T01:04:05Z"},
		{"notes/tea.md", "---\ndate: [soon]\ncreated: 2023-05-17\n---\n- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/tea.md", "---\ndate: 2023-05-17\nupdated_at: 2025-01-01T00:00:00Z\n---\n- tea\n", "2025-01-01T00:00:00Z"},
		{"notes/tea.md", "---\ndate: 2023-05-17\n---\n- tea (added 2026-02-01)\n", "2026-02-01T00:00:00Z"},
		{"notes/tea.md", "---\ndate: 2023-05-17\nvisibility: private_only\n---\n- tea <!-- visibility=public_ok -->\n", modified},
		{"posts/2023-05-17-tea.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"posts/2023-05-17-tea.md", "---\ndate: 2024-01-01\n---\n- tea\n", "2024-01-01T00:00:00Z"},
		{"notes/tea with Ann 2023_05_17.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/20230517 tea.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/202305171230.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/12023-05-17.md", "- tea\n", modified},
		{"notes/2023-13-17.md", "- tea\n", modified},
		{"notes/80230517.md", "- tea\n", modified},
		{"notes/2023051.md", "- tea\n", modified},
		{"MEMORY.md", "---\ndate: 2023-05-17\n---\n- tea\n", modified},
		{"2026-02-04/s.md", "---\ndate: 2023-05-17\n---\n- tea\n", "2026-02-04T00:00:00Z"},
	} {
		d := new(Layout).Parse(tc.path, []byte(tc.text), Meta{ModTime: at})
		if got := d.Entries[0].Time.Format(time.RFC3339); got != tc.want {
			t.Errorf("%s, %q: %s, want %s", tc.path, tc.text, got, tc.want)
		}
	}
}
