package memory

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

func TestPlace(t *testing.T) {
	l := rootLayout()
	golden.Table(t, "places", func(t *testing.T, in []string) string {
		place := l.Place(in[0])
		if place.Path != in[0] || place.Root != "" && l.Skip(in[0]) == "" {
			t.Errorf("%q has the place %+v and could be a file of the memory directory", in[0], place)
		}
		var b strings.Builder
		dump(&b, "", "", reflect.ValueOf(place), Partition{})
		return strings.TrimSpace(b.String())
	})
}

func TestLayoutOptions(t *testing.T) {
	l := &Layout{Owner: "me", Tasks: []string{"Aufgaben"}}
	if p := l.Place("memory/2026-02-04.md"); p.Visibility != PrivateOnly || p.Owner != "me" {
		t.Errorf("daily note: %+v", p)
	}
	for _, path := range []string{"2026-02-04/s.md", "_longterms/me/_archive/2026-02-04/s.md",
		"_longterms/me/_archive/2026-02-04/2026-02-04.md"} {
		if p := l.Place(path); p.Visibility != PrivateOnly {
			t.Errorf("%s: %+v", path, p)
		}
	}
	d := l.Parse("2026-02-04/s.md", []byte("## AUFGABEN:\n- [x] a\n\n## Tasks\n- [ ] b\n\n## Follow Ups\n- [ ] c\n"), Meta{})
	if tasks, followUps := d.Progress(); tasks != (Progress{1, 1}) || followUps != (Progress{0, 1}) {
		t.Errorf("progress: %v %v", tasks, followUps)
	}
}

// TestDailyDir checks that daily notes have a directory besides memory.
func TestDailyDir(t *testing.T) {
	for _, c := range []struct{ dir, path, today string }{
		{"", "memory/2026-02-04.md", "memory/2026-02-04.md"},
		{"Journal/Daily", "Journal/Daily/2026-02-04.md", "Journal/Daily/2026-02-04.md"},
		{"Journal", "memory/2026-02-04.md", "Journal/2026-02-04.md"},
		{".", "2026-02-04.md", "2026-02-04.md"},
	} {
		l := &Layout{DailyDir: c.dir, Owner: "me", Daily: PublicOK}
		want := Place{Path: c.path, Kind: Daily, Owner: "me", Day: "2026-02-04", Visibility: PublicOK}
		if p := l.Place(c.path); p != want {
			t.Errorf("%q: %s is %+v", c.dir, c.path, p)
		}
		if got := l.DailyPath("2026-02-04"); got != c.today {
			t.Errorf("%q: the note of the day is %s", c.dir, got)
		}
	}
	for _, path := range []string{"2026-02-04.md", "Journal/notes.md", "x/Journal/2026-02-04.md"} {
		if p := (&Layout{DailyDir: "Journal"}).Place(path); p.Kind != Note {
			t.Errorf("%s is %+v", path, p)
		}
	}
}

func TestDayFormat(t *testing.T) {
	golden.Table(t, "dayformats", func(t *testing.T, in []string) string {
		f, err := dates.ParseFormat(in[0], in[1])
		if err != nil {
			return "error: " + err.Error()
		}
		l := &Layout{Days: f.Day, Daily: PublicOK, Sessions: PublicOK}
		name, _ := CutMarkdown(in[2])
		day, ok := f.Day(name)
		if p := l.Place(in[2]); p.ByFormat && (p.Kind != Daily || p.Day != day || p.Visibility != PrivateOnly || l.Archived(p, "") != "") {
			t.Errorf("%s: %+v", in[2], p)
		} else if ok && !p.ByFormat {
			return day + ", of the layout" // paths of the layout keep their meaning
		}
		return day
	})
}

func TestSkip(t *testing.T) {
	golden.Table(t, "names", func(t *testing.T, in []string) string {
		reason := new(Layout).Skip(in[0])
		switch of, ok := CopyOf(in[0]); {
		case ok:
			return reason + ", copy of " + of
		case of != in[0]:
			t.Errorf("%q is no copy, but of %q", in[0], of)
		}
		if reason == "" {
			return "read"
		}
		return reason
	})
}

// TestLabels checks which names machines and folders can have.
func TestLabels(t *testing.T) {
	golden.Table(t, "labels", func(_ *testing.T, in []string) string {
		return golden.Result("machine", ValidHost(in[0])) + "; " + golden.Result("folder", ValidRoot(in[0]))
	})
	l := &Layout{Host: "desk"}
	if p := l.Place(l.DailyPath("2026-02-04")); p.Path != "memory/2026-02-04.desk.md" || p.Kind != Daily {
		t.Errorf("the daily note of a machine is %+v", p)
	}
}

// TestParseCopy checks which entries of a conflict copy are read, and by whom.
func TestParseCopy(t *testing.T) {
	l := new(Layout)
	golden.Table(t, "copies", func(t *testing.T, in []string) string {
		var original *Document
		if in[1] != "" {
			original = l.Parse("notes/a.md", []byte(in[1]), Meta{})
		}
		d := l.ParseCopy("notes/a.sync-conflict-20260204-123456-ABCDEFG.md", []byte(in[2]), Meta{}, original)
		var got []string
		for _, e := range d.Entries {
			if e.Partition != d.Partition || e.Tasks != nil {
				t.Errorf("%s: the entry is in %v with %d tasks, the file in %v", in[0], e.Partition, len(e.Tasks), d.Partition)
			}
			got = append(got, fmt.Sprintf("%s %s: %s", e.Partition.Owner, e.Partition.Visibility, e.Text))
		}
		if d.Claim != "" || d.Front.SubjectID != "" || d.Place.Kind != Note {
			t.Errorf("%s: %+v", in[0], d.Front)
		}
		return strings.Join(got, "; ")
	})
}

func TestNames(t *testing.T) {
	golden.Table(t, "subjects", func(_ *testing.T, in []string) string {
		return golden.Result(strings.Join([]string{SubjectDir(in[0]), UserDir(in[0]), SessionFile(in[0])}, " "), ValidSubject(in[0]))
	})
}

func TestArchived(t *testing.T) {
	l := rootLayout()
	golden.Table(t, "archived", func(_ *testing.T, in []string) string { return l.Archived(l.Place(in[0]), in[1]) })
}

// TestInboxesDiffer checks that different listeners and subjects have different inboxes,
// whose names stay readable where that is possible.
func TestInboxesDiffer(t *testing.T) {
	if dir := Inbox("groupbot", "acct:42"); dir != "inbox/groupbot.acct_42" {
		t.Errorf("the usual name is %s", dir)
	}
	for _, names := range [][2]string{{"../x", "a/b"}, {"..", ".."}, {strings.Repeat("x", 300), "owner"}} {
		if dir := Inbox(names[0], names[1]); strings.Count(dir, "/") != 1 || new(Layout).Skip(dir+"/a.md") != "" {
			t.Errorf("the inbox of %.20q is %s", names, dir)
		}
	}
	seen := map[string]string{}
	for _, listener := range []string{"", "a", "a.b", "a.b.c", "a:b", "a_b", "..", "127.0.0.1:80"} {
		for _, subject := range []string{"acct:b", "acct:b:c", "acct:b_c", "acct_b:c", "b.c", "c", "b", "c.d", "d", "acct:b.c"} {
			dir, of := Inbox(listener, subject), listener+" "+subject
			if other, taken := seen[dir]; taken {
				t.Errorf("%q and %q have the inbox %s", other, of, dir)
			}
			if InboxOf(dir+"/x.md") != dir {
				t.Errorf("%q: %s is no inbox", of, dir)
			}
			seen[dir] = of
		}
	}
}

func rootLayout() *Layout {
	l := testLayout()
	l.Roots = []*Root{
		{Name: "vault", Owner: "bob"},
		{Name: "site", Owner: "owner", Visibility: PublicOK, Project: func(path string) string { return "p-" + path }},
	}
	return l
}

func TestSkipDir(t *testing.T) {
	l := rootLayout()
	for dir, want := range map[string]bool{"vault:": true, "vault:notes": true, "vault": false, ".git": true, "notes/.x": true, "notes/vault:x": false} {
		if got := l.SkipDir(dir) != ""; got != want {
			t.Errorf("SkipDir %q: %v", dir, got)
		}
	}
}

// TestRootReaders checks that the text of a root is read by its owner only, on
// request only, whatever the files contain.
func TestRootReaders(t *testing.T) {
	l := rootLayout()
	dirs := Directories{Owner: "owner", Roots: l.Roots}
	src := "---\nsubject_id: eve\ntasks: 9/9\n---\n- private\n- public <!-- visibility=public_ok -->\n- [ ] task\n"
	private := l.Parse("vault:_longterms/eve/_index.md", []byte(src), Meta{})
	public := l.Parse("site:a.md", []byte("- public\n- also\n"), Meta{})
	marked := l.Parse("site:b.md", []byte("- public\n- private <!-- visibility=private_only -->\n"), Meta{})
	if private.Claim != "" || private.Partition.Visibility != PrivateOnly || marked.Partition.Visibility != PrivateOnly {
		t.Errorf("claim %q, problems %v", private.Claim, private.Problems)
	}
	for _, s := range []Scope{
		{}, {Context: Private}, {Subject: "owner", Context: Private}, {Subject: "owner"}, {Subject: "bob", Context: Private}, {Subject: "bob"},
		{Subject: "eve", Context: Private}, {Subject: "/vault", Context: Private}, {Subject: "ext:x", Aliases: []string{"bob"}, Context: Private},
	} {
		v, err := dirs.View(s)
		if err != nil {
			t.Fatal(err)
		}
		count := func(v View, d *Document) (n int) {
			for i := range d.Entries {
				if d.Entries[i].Readable(v) {
					n++
				}
			}
			if n == 0 && d.For(v) != nil {
				t.Errorf("%+v: a document without readable entries", s)
			}
			return n
		}
		if n := count(v, private) + count(v, public); n > 0 {
			t.Errorf("%+v reads %d entries without asking for them", s, n)
		}
		bob := s.Subject == "bob" || slices.Contains(s.Aliases, "bob")
		want := map[bool]int{true: 3}[s.Context == Private]
		if !bob {
			want = 0
		}
		all := v.WithRoots("vault", "site", "nowhere")
		if n := count(all, private); n != want {
			t.Errorf("%+v reads %d entries of vault, want %d", s, n, want)
		}
		want = 2
		if s.Subject != "owner" {
			want = 0
		}
		if n := count(all, public); n != want {
			t.Errorf("%+v reads %d entries of site, want %d", s, n, want)
		}
		only := all.OnlyRoots()
		for _, p := range append(only.Partitions(), Partition{}, Partition{"owner", PublicOK}, Partition{"", PublicOK}, Partition{"bob", PublicOK}) {
			if only.Readable(p) && !IsRootKey(p.Owner) {
				t.Errorf("%+v reads %v among the roots", s, p)
			}
		}
		if count(only, private) != count(all, private) || count(only, public) != count(all, public) || len(all.Closed().Partitions()) > 0 {
			t.Errorf("%+v reads other entries of the roots alone", s)
		}
		if bob && all.SubjectOf(private.Partition) != "bob" || dirs.Subject("?/vault") != "bob" {
			t.Errorf("%+v: vault belongs to %q", s, all.SubjectOf(private.Partition))
		}
	}
}

// TestRootLinks checks that links in a root lead to files of the root only, and the tag of
// the project of a file.
func TestRootLinks(t *testing.T) {
	if l := rootLayout().Parse("site:x/a.md", []byte("An entry.\n"), Meta{}); !slices.Equal(l.Entries[0].Tags, []string{"project:p-x/a.md"}) {
		t.Errorf("tags %q", l.Entries[0].Tags)
	}
	d := rootLayout().Parse("vault:notes/a.md", []byte("- [[b]] [c](../c.md) [d](/d.md) [e](../../e.md) [[vault:x]] [[site:y]]\n"), Meta{})
	var got [][]string
	for _, l := range d.Entries[0].Links {
		got = append(got, l.Paths)
	}
	want := [][]string{{"vault:b.md", "vault:notes/b.md"}, {"vault:c.md"}, {"vault:d.md"}, nil, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
