package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlace(t *testing.T) {
	l := testLayout()
	for _, want := range []Place{
		{Path: "MEMORY.md", Kind: Longterm, Owner: "owner"},
		{Path: "memory.md", Kind: Note, Owner: "owner"},
		{Path: "SOUL.md", Kind: Identity, Owner: "owner", Visibility: PublicOK},
		{Path: "USER.md", Kind: Identity, Owner: "owner"},
		{Path: "memory/2026-02-04.md", Kind: Daily, Owner: "owner", Day: "2026-02-04", Visibility: PublicOK},
		{Path: "memory/2026-02-04.desk-2.md", Kind: Daily, Owner: "owner", Day: "2026-02-04", Visibility: PublicOK},
		{Path: "memory/2026-02-04.two words.md", Kind: Note, Owner: "owner"},
		{Path: "memory/2026-02-04.MD", Kind: Daily, Owner: "owner", Day: "2026-02-04", Visibility: PublicOK},
		{Path: "memory/2026-02-30.md", Kind: Note, Owner: "owner"},
		{Path: "memory/notes.md", Kind: Note, Owner: "owner"},
		{Path: "2026-02-04/cli.md", Kind: Session, Day: "2026-02-04", Session: "cli", Visibility: PublicOK},
		{Path: "memory/2026-02-04/cli.md", Kind: Session, Day: "2026-02-04", Session: "cli", Visibility: PublicOK},
		{Path: "2026-02-04/x/cli.md", Kind: Note, Owner: "owner"},
		{Path: "2026-02-04.md", Kind: Note, Owner: "owner"},
		{Path: "_longterms/acct_42/_index.md", Kind: Longterm, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/profile.md", Kind: Items, Owner: "?acct_42", Dir: "acct_42", Namespace: "profile"},
		{Path: "_longterms/acct_42/task_state.md", Kind: Items, Owner: "?acct_42", Dir: "acct_42", Namespace: "task_state"},
		{Path: "_longterms/acct_42/2026-02-04/x.md", Kind: Note, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/_archive/2026-02.md", Kind: Archive, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/_archive/2026-02-04/s.md", Kind: Archive, Owner: "?acct_42", Dir: "acct_42", Day: "2026-02-04", Session: "s", Visibility: PublicOK},
		{Path: "_longterms/acct_42/_archive/old/2026-02-04/s.md", Kind: Archive, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/x.md", Kind: Note, Owner: "owner"},
		{Path: "alice/MEMORY.md", Kind: Longterm, Owner: "?alice/", Dir: "alice"},
		{Path: "alice/memory/2026-02-04.md", Kind: Daily, Owner: "?alice/", Dir: "alice", Day: "2026-02-04", Visibility: PublicOK},
		{Path: "alice/memory/x.md", Kind: Note, Owner: "?alice/", Dir: "alice"},
		{Path: "alice/SOUL.md", Kind: Identity, Owner: "?alice/", Dir: "alice", Visibility: PublicOK},
		{Path: "alice/USER.md", Kind: Identity, Owner: "?alice/", Dir: "alice"},
		{Path: "alice/x.md", Kind: Note, Owner: "owner"},
		{Path: "bob/MEMORY.md", Kind: Note, Owner: "owner"},
		{Path: "", Kind: Note, Owner: "owner"},
		{Path: "a.txt", Kind: Note, Owner: "owner"},
		{Path: "_longterms//_index.md", Kind: Longterm, Owner: "?", Dir: ""},
	} {
		if diff := cmp.Diff(want, l.Place(want.Path)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", want.Path, diff)
		}
	}
}

func TestLayoutOptions(t *testing.T) {
	l := &Layout{Owner: "me", Tasks: []string{"Aufgaben"}, FollowUps: []string{}}
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
	dirs := Directories{Owner: "me"}
	v, _ := dirs.View(Scope{Subject: "me", Context: Private})
	if tasks, followUps := d.Progress(v); tasks != (Progress{1, 1}) || followUps != (Progress{}) {
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
	for _, c := range []struct{ folder, format, path, want string }{
		{"", "", "2026-02-05.md", "2026-02-05"},
		{"", "", "2026-02-05.MARKDOWN", "2026-02-05"},
		{"", "", "a/2026-02-05.md", ""},
		{"", "", "2026-02-30.md", ""},
		{"Journal", "", "Journal/2026-02-05.md", "2026-02-05"},
		{"Journal", "", "Journal/2026-02-05 draft.md", ""},
		{"J", "YYYY/MM/YYYY-MM-DD", "J/2026/02/2026-02-05.md", "2026-02-05"},
		{"J", "YYYY/MM/YYYY-MM-DD", "J/2025/02/2026-02-05.md", ""},
		{"J", "DD.MM.YYYY", "J/05.02.2026.md", "2026-02-05"},
		{"J", "dddd, MMMM Do, YYYY", "J/Thursday, February 5th, 2026.md", "2026-02-05"},
		{"J", "MMM D YYYY", "J/Feb 31 2026.md", ""},
		{"J", "gggg-[W]ww/YYYY-MM-DD ddd", "J/2026-W06/2026-02-05 Thu.md", "2026-02-05"},
		{"J", "[day] YYYY-MM-DD", "J/day 2026-02-05.md", "2026-02-05"},
		{"J", "\\DYYYY-MM-DD", "J/D2026-02-05.md", "2026-02-05"},
		{"J", "YYYY.MM+DD", "J/2026x02+05.md", ""},
		{"", "YYYY-MM-DD/[Journal]", "2026-02-05/Journal.md", "2026-02-05"},
		{"memory", "YYYY-MM-DD/[Journal]", "memory/2026-02-05/Journal.md", "2026-02-05"},
		{"J", "YYYY-MM", "", "error"},
		{"J", "YYYY-MM-DD HH", "", "error"},
		{"J", "YYYYY-MM-DD", "", "error"},
		{"J", strings.Repeat("YYYY-MM-DD", 30), "", "error"},
	} {
		f, err := ParseDayFormat(c.folder, c.format)
		got := "error"
		if err == nil {
			got, _ = f.Day(c.path)
			if p := (&Layout{Days: f}).Place(c.path); got != "" && (p.Kind != Daily || p.Day != got || p.Visibility != PrivateOnly) {
				t.Errorf("%s: %+v", c.path, p)
			} else if to := (&Layout{Days: f}).Archived(p, ""); got != "" && to != "" {
				t.Errorf("%s would move to %s", c.path, to)
			}
		}
		if (got == "error") != (c.want == "error") || err == nil && got != c.want {
			t.Errorf("%q, %q: day of %s: %q, want %q (%v)", c.folder, c.format, c.path, got, c.want, err)
		}
	}
	// Paths of the layout keep their meaning.
	f, err := ParseDayFormat("memory", "")
	if err != nil {
		t.Fatal(err)
	}
	if p := (&Layout{Days: f, Daily: PublicOK}).Place("memory/2026-02-05.md"); p.ByFormat || p.Visibility != PublicOK {
		t.Errorf("%+v", p)
	}
	f, err = ParseDayFormat("", "YYYY-MM-DD/[Journal]")
	if err != nil {
		t.Fatal(err)
	}
	if p := (&Layout{Days: f, Sessions: PublicOK}).Place("2026-02-05/other.md"); p.Kind != Session || p.Visibility != PublicOK {
		t.Errorf("%+v", p)
	}
}

func TestSkip(t *testing.T) {
	var l Layout
	for _, path := range []string{
		"a.md", "UPPER.MD", "path traversal..md", "name with spaces #1 & 'quotes' 100%.md", "2026-02-04/a.md", "中文.md", "_x.md", "-.md", "merge_conflict-resolution.md", "a (b).md", "#1 ideas.md", "~draft.md",
	} {
		if reason := l.Skip(path); reason != "" {
			t.Errorf("%q is skipped: %s", path, reason)
		}
	}
	for _, path := range []string{
		".hidden.md", "a.txt", "md", ".md", "~$a.md", ".git/a.md", "x/.obsidian/a.md", "a.md~", "#a.md#", ".#a.md", "._a.md", "", "/a.md", "../a.md", "x//a.md", "./a.md",
		"a.sync-conflict-20260204-123456-ABCDEFG.md", "a (conflicted copy 2026-02-04 123456).md", "a (mac's conflicted copy 2026-02-04).md",
		"a (Conflicted copy mac 202602041234).md", "a_conflict-20260204-123456.md", "a (SFConflict me 2026-02-04-12-34-56).md", "a.md.tmp.123", "a.md.x",
	} {
		if l.Skip(path) == "" {
			t.Errorf("%q is read", path)
		}
	}
}

func TestHosts(t *testing.T) {
	for host, ok := range map[string]bool{
		"desk": true, "desk-2": true, "a_b": true, "": false, "Desk": false, "a.b": false, "-a": false, "a b": false, "../x": false,
		"sync-conflict": false, "conflict-copy": false,
	} {
		if err := ValidHost(host); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
	l := &Layout{Host: "desk"}
	for _, path := range []string{l.DailyPath("2026-02-04"), (&Layout{}).DailyPath("2026-02-04")} {
		p := l.Place(path)
		if p.Kind != Daily || p.Day != "2026-02-04" {
			t.Errorf("%s is %+v", path, p)
		}
		archived := l.Archived(p, "")
		if q := l.Place(archived); q.Kind != Archive || q.Day != "2026-02-04" || !q.isDailyNote() {
			t.Errorf("%s is %+v", archived, q)
		}
	}
}

func TestCopyOf(t *testing.T) {
	for path, want := range map[string]string{
		"x/a.sync-conflict-20260204-123456-ABCDEFG.md":                    "x/a.md",
		"memory/2026-02-04.sync-conflict-20260204-123456-A.MD":            "memory/2026-02-04.MD",
		"memory/2026-02-04.box.sync-conflict-20260204-123456-A.md":        "memory/2026-02-04.box.md",
		"a.sync-conflict-20260204-1-A.sync-conflict-20260204-123456-A.md": "a.md",
		"a (conflicted copy 2026-02-04 123456).md":                        "a.md",
		"a b (Mira's conflicted copy 2026-02-04).md":                      "a b.md",
		"中文 (Conflicted Copy mac 202602041234).md":                        "中文.md",
		"a_conflict-20260204-123456.md":                                   "a.md",
		"a (SFConflict me 2026-02-04-12-34-56).md":                        "a.md",
		"x/a.md.orig": "x/a.md",
		"x/a.sync-conflict-20260204-123456-ABCDEFG.md.orig": "x/a.md",
	} {
		if got, ok := CopyOf(path); got != want || !ok {
			t.Errorf("%q is a copy of %q, %t; want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"a.md", "a.orig", ".orig", "a.sync-conflict.md", "a.txt.orig", "x.sync-conflict-1/a.md", "merge_conflict-resolution.md", "a 2.md",
		"MEMORY 2.md", "MEMORY-DESKTOP-1A2B3C4.md"} {
		if got, ok := CopyOf(path); ok || got != path {
			t.Errorf("%q is a copy of %q", path, got)
		}
	}
}

// TestParseCopy checks which entries of a conflict copy are read, and by whom.
func TestParseCopy(t *testing.T) {
	const path = "notes/a.sync-conflict-20260204-123456-ABCDEFG.md"
	front := func(visibility string) string { return "---\nvisibility: " + visibility + "\n---\n" }
	both := "- both have this\n"
	for _, c := range []struct{ name, original, copied, want string }{
		{"private", both, both + "- only here\n", "owner private_only: - only here"},
		{"public", front("public_ok") + both, front("public_ok") + both + "- only here\n", "owner public_ok: - only here"},
		{"of a private file", front("private_only") + both, front("public_ok") + both + "- only here\n", "owner private_only: - only here"},
		{"private copy", front("public_ok") + both, front("private_only") + "- only here\n", "owner private_only: - only here"},
		{"of a mixed file", front("public_ok") + both + "- p <!-- visibility=private_only -->\n", front("public_ok") + "- only here\n", "owner private_only: - only here"},
		{"entry publishes itself", both, "- only here <!-- visibility=public_ok -->\n", "owner private_only: - only here"},
		{"subject", "---\nsubject_id: acct:42\n---\n" + both, "---\nsubject_id: acct:42\n---\n- only here\n", "acct:42 private_only: - only here"},
		{"another subject", "---\nsubject_id: acct:42\n---\n" + both, "---\nsubject_id: acct:7\n---\n- only here\n", ""},
		{"without the subject", "---\nsubject_id: acct:42\n---\n" + both, front("public_ok") + "- only here\n", ""},
		{"broken original", front("public_ok") + "<private>\n" + both, front("public_ok") + "- only here\n", "owner private_only: - only here"},
		{"twice", both, both + both, "owner private_only: - both have this"},
		{"tasks", both, "- [ ] only here\n", "owner private_only: - [ ] only here"},
		{"missing original", "", front("public_ok") + "- only here\n", "owner private_only: - only here"},
	} {
		l := &Layout{}
		var original *Document
		if c.original != "" {
			original = l.Parse("notes/a.md", []byte(c.original), Meta{})
		}
		d := l.ParseCopy(path, []byte(c.copied), Meta{}, original)
		var got []string
		for _, e := range d.Entries {
			if e.Partition != d.Partition || e.Tasks != nil {
				t.Errorf("%s: the entry is in %v with %d tasks, the file in %v", c.name, e.Partition, len(e.Tasks), d.Partition)
			}
			got = append(got, fmt.Sprintf("%s %s: %s", e.Partition.Owner, e.Partition.Visibility, e.Text))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if d.Excerpt() != nil || d.Claim != "" || d.Front.SubjectID != "" || d.Place.Kind != Note {
			t.Errorf("%s: %+v", c.name, d.Front)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ of, dir, user, session string }{
		{"acct:42", "acct_42", "acct_42", "acct_42.md"},
		{"ext:telegram:1", "ext_telegram_1", "ext_telegram_1", "ext_telegram_1.md"},
		{"memory", "memory-c064fbca", "user-memory", "memory.md"},
		{"user-memory", "user-memory", "user-memory-800e6369", "user-memory.md"}, // not the directory of memory
		{"user-alice", "user-alice", "user-alice", "user-alice.md"},
		{"2026-02-04", "2026-02-04-59fd1123", "user-2026-02-04", "2026-02-04.md"},
		{"a/b", "a_b-c14cddc0", "a_b-c14cddc0", "a_b-c14cddc0.md"},
		{"张三", "__-1d841bc0", "__-1d841bc0", "__-1d841bc0.md"},
		{".git", "_git-4d0a4dff", "user-.git", "_git-4d0a4dff.md"},
		{"..", "_.-5ec1f7e7", "user-..", "_.-5ec1f7e7.md"},
		{"ext:x:1.Private", "ext_x_1.Private", "ext_x_1.Private", "ext_x_1.Private-06e781b6.md"}, // not the file beside that of ext:x:1
	} {
		if dir, user, session := SubjectDir(c.of), UserDir(c.of), SessionFile(c.of); dir != c.dir || user != c.user || session != c.session {
			t.Errorf("%q has the names %q %q %q, want %q %q %q", c.of, dir, user, session, c.dir, c.user, c.session)
		}
	}
}

func TestValidSubject(t *testing.T) {
	for _, s := range []string{"a", "acct:42", "张三", "a b"} {
		if err := ValidSubject(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", "?acct_42", "a\nb", "a\x00", "a\u0085", "\xff", string(make([]byte, 257))} {
		if ValidSubject(s) == nil {
			t.Errorf("%q is a subject", s)
		}
	}
}

// TestInboxPlaces checks the kinds of files in inboxes and beside the usual ones, and
// that those in inboxes are private and the owner's unless they say otherwise.
func TestInboxPlaces(t *testing.T) {
	l := &Layout{Daily: PublicOK, Sessions: PublicOK, Host: "desk"}
	for path, want := range map[string]Kind{
		"inbox/bot.a/2026-02-05/s.md": Session, "inbox/bot.a/2026-02-05/s.public.md": Session, "inbox/bot.a/fact.md": Items, "inbox/bot.a/fact.private.md": Items,
		"inbox/bot.a/2026-02-05.md": Note, "inbox/bot.a/x/fact.md": Note, "inbox/fact.md": Note, "Inbox/bot.a/fact.md": Note,
		"memory/2026-02-05.public.md": Daily, "memory/2026-02-05.desk.public.md": Daily, "memory/2026-02-05.desk.private.md": Daily, "memory/2026-02-05-public.md": Note,
		"_longterms/a/fact.public.md": Items, "_longterms/a/fact-public.md": Note, "_longterms/a/fact.public-1.md": Note,
	} {
		doc := l.Parse(path, []byte("- x\n"), Meta{})
		if doc.Place.Kind != want {
			t.Errorf("%s is a %v, want %v", path, doc.Place.Kind, want)
		}
		if InInbox(path) && doc.Entries[0].Partition != (Partition{Owner: "owner"}) {
			t.Errorf("%s has the readers %v", path, doc.Entries[0].Partition)
		}
	}
	for path, want := range map[string]string{
		"inbox/bot.a/2026-02-05/s.md": "_longterms/a/_archive/2026-02-05/bot.a-s.md", "2026-02-05/s.public.md": "_longterms/a/_archive/2026-02-05/s.public.md",
		"inbox/bot.a/fact.md": "", "memory/2026-02-05.private.md": "_longterms/a/_archive/2026-02-05/2026-02-05.private.md",
	} {
		if got := l.Archived(l.Place(path), "a"); got != want {
			t.Errorf("%s is archived as %q, want %q", path, got, want)
		}
	}
	for _, names := range [][2]string{{"bot", "acct:42"}, {"", "acct:42"}, {"../x", "a/b"}, {"..", ".."}, {strings.Repeat("x", 300), "owner"}} {
		if dir := Inbox(names[0], names[1]); strings.Count(dir, "/") != 1 || l.Skip(dir+"/a.md") != "" || InboxOf(dir+"/a.md") != dir {
			t.Errorf("the inbox of %.20q is %s", names, dir)
		}
	}
}

// TestInboxesDiffer checks that different listeners and subjects have different inboxes,
// whose names stay readable where that is possible.
func TestInboxesDiffer(t *testing.T) {
	if dir := Inbox("groupbot", "acct:42"); dir != "inbox/groupbot.acct_42" {
		t.Errorf("the usual name is %s", dir)
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

func TestRootPlace(t *testing.T) {
	l := rootLayout()
	for _, want := range []Place{
		{Path: "vault:MEMORY.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:memory/2026-02-04.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:2026-02-04/cli.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:_longterms/owner/_index.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:alice/MEMORY.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:a:b.md", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "vault:", Kind: Note, Owner: "?/vault", Root: "vault"},
		{Path: "site:a.md", Kind: Note, Owner: "?/site", Root: "site", Visibility: PublicOK},
		{Path: "vault:a.sync-conflict-20260205-111000-ABCDEFG.md", Kind: Note, Owner: "?/vault", Root: "vault", Copy: "vault:a.md"},
		{Path: "other:a.md", Kind: Note, Owner: "owner"},
		{Path: "notes/vault:a.md", Kind: Note, Owner: "owner"},
		{Path: "vault", Kind: Note, Owner: "owner"},
	} {
		if diff := cmp.Diff(want, l.Place(want.Path)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", want.Path, diff)
		}
		if skipped := l.Skip(want.Path); want.Root != "" && skipped == "" {
			t.Errorf("%s could be a file of the memory directory", want.Path)
		}
	}
	for dir, want := range map[string]bool{"vault:": true, "vault:notes": true, "vault": false, ".git": true, "notes/.x": true, "notes/vault:x": false} {
		if got := l.SkipDir(dir) != ""; got != want {
			t.Errorf("SkipDir %q: %v", dir, got)
		}
	}
	for name, want := range map[string]bool{"vault": true, "my-vault_2": true, "": false, "memory": false, "Vault": false, "a:b": false, "a/b": false, "-a": false, "ü": false} {
		if got := ValidRoot(name) == nil; got != want {
			t.Errorf("ValidRoot %q: %v", name, got)
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
	public := l.Parse("site:a.md", []byte("- public\n- private <!-- visibility=private_only -->\n"), Meta{})
	if private.Claim != "" || len(private.Problems) > 0 {
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
		want := map[bool]int{true: 3, false: 1}[s.Context == Private]
		if !bob {
			want = 0
		}
		all := v.WithRoots("vault", "site", "nowhere")
		if n := count(all, private); n != want {
			t.Errorf("%+v reads %d entries of vault, want %d", s, n, want)
		}
		want = map[bool]int{true: 2, false: 1}[s.Context == Private]
		if s.Subject != "owner" {
			want = 0
		}
		if n := count(all, public); n != want {
			t.Errorf("%+v reads %d entries of site, want %d", s, n, want)
		}
		only := all.OnlyRoots()
		for _, p := range append(only.Partitions(), Partition{}, Partition{"owner", PublicOK, false}, Partition{"", PublicOK, true}, Partition{"bob", PublicOK, false}) {
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
