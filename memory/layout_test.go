package memory

import (
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
		{Path: "memory/2026-02-04.MD", Kind: Daily, Owner: "owner", Day: "2026-02-04", Visibility: PublicOK},
		{Path: "memory/2026-02-30.md", Kind: Note, Owner: "owner"},
		{Path: "memory/notes.md", Kind: Note, Owner: "owner"},
		{Path: "memory/memory/2026-02-04.md", Kind: Note, Owner: "owner"},
		{Path: "2026-02-04/cli.md", Kind: Session, Day: "2026-02-04", Session: "cli", Visibility: PublicOK},
		{Path: "memory/2026-02-04/cli.md", Kind: Session, Day: "2026-02-04", Session: "cli", Visibility: PublicOK},
		{Path: "2026-02-04/MEMORY.md", Kind: Session, Day: "2026-02-04", Session: "MEMORY", Visibility: PublicOK},
		{Path: "2026-02-04/x/cli.md", Kind: Note, Owner: "owner"},
		{Path: "2026-2-4/cli.md", Kind: Note, Owner: "owner"},
		{Path: "2026-02-04.md", Kind: Note, Owner: "owner"},
		{Path: "_longterms/acct_42/_index.md", Kind: Longterm, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/_INDEX.md", Kind: Note, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/profile.md", Kind: Items, Owner: "?acct_42", Dir: "acct_42", Namespace: "profile"},
		{Path: "_longterms/acct_42/task_state.md", Kind: Items, Owner: "?acct_42", Dir: "acct_42", Namespace: "task_state"},
		{Path: "_longterms/acct_42/profile.MD", Kind: Note, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/2026-02-04/x.md", Kind: Note, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/_archive/2026-02.md", Kind: Archive, Owner: "?acct_42", Dir: "acct_42"},
		{Path: "_longterms/acct_42/_archive/2026-02-04/s.md", Kind: Archive, Owner: "?acct_42", Dir: "acct_42", Day: "2026-02-04", Session: "s", Visibility: PublicOK},
		{Path: "_longterms/acct_42/_archive/old/2026-02-04/s.md", Kind: Archive, Owner: "?acct_42", Dir: "acct_42"},
		{Path: TranscriptPath("codex", "2026-02-04", "a/b"), Kind: Archive, Owner: "owner"},
		{Path: "sessions/claude-code/2026-02-04-s1.md", Kind: Archive, Owner: "owner"},
		{Path: "sessions/claude-code/2026-02-04.md", Kind: Note, Owner: "owner"},
		{Path: "sessions/therapy/2026-02-04-s1.md", Kind: Note, Owner: "owner"},
		{Path: "sessions/codex/x/2026-02-04-s1.md", Kind: Note, Owner: "owner"},
		{Path: "_longterms/x.md", Kind: Note, Owner: "owner"},
		{Path: "alice/MEMORY.md", Kind: Longterm, Owner: "?alice/", Dir: "alice"},
		{Path: "alice/memory/2026-02-04.md", Kind: Daily, Owner: "?alice/", Dir: "alice", Day: "2026-02-04", Visibility: PublicOK},
		{Path: "alice/memory/x.md", Kind: Note, Owner: "?alice/", Dir: "alice"},
		{Path: "alice/memory/2026-02-04/x.md", Kind: Note, Owner: "owner"},
		{Path: "alice/SOUL.md", Kind: Identity, Owner: "?alice/", Dir: "alice", Visibility: PublicOK},
		{Path: "alice/USER.md", Kind: Identity, Owner: "?alice/", Dir: "alice"},
		{Path: "alice/x.md", Kind: Note, Owner: "owner"},
		{Path: "bob/MEMORY.md", Kind: Note, Owner: "owner"},
		{Path: "users/MEMORY.md", Kind: Note, Owner: "owner"},
		{Path: "", Kind: Note, Owner: "owner"},
		{Path: "/", Kind: Note, Owner: "owner"},
		{Path: "a.txt", Kind: Note, Owner: "owner"},
		{Path: "2026-02-04/x.txt", Kind: Note, Owner: "owner"},
		{Path: "_longterms//_index.md", Kind: Longterm, Owner: "?", Dir: ""},
	} {
		if diff := cmp.Diff(want, l.Place(want.Path)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", want.Path, diff)
		}
	}
}

func TestLayoutOptions(t *testing.T) {
	public := PublicOK
	l := &Layout{Owner: "me", Identity: &public, Tasks: []string{"Aufgaben"}, FollowUps: []string{}}
	if p := l.Place("memory/2026-02-04.md"); p.Visibility != PrivateOnly || p.Owner != "me" {
		t.Errorf("daily note: %+v", p)
	}
	for _, path := range []string{"2026-02-04/s.md", "_longterms/me/_archive/2026-02-04/s.md",
		"_longterms/me/_archive/2026-02-04/2026-02-04.md"} {
		if p := l.Place(path); p.Visibility != PrivateOnly {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if p := l.Place("USER.md"); p.Visibility != PublicOK {
		t.Errorf("identity: %+v", p)
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

func TestSkip(t *testing.T) {
	var l Layout
	for _, path := range []string{
		"a.md", "UPPER.MD", "path traversal..md", "name with spaces #1 & 'quotes' 100%.md", "2026-02-04/a.md", "中文.md", "_x.md", "-.md", "merge_conflict-resolution.md", "a (b).md",
	} {
		if reason := l.Skip(path); reason != "" {
			t.Errorf("%q is skipped: %s", path, reason)
		}
	}
	for _, path := range []string{
		".hidden.md", "a.txt", "md", ".md", "#a.md", "~a.md", ".git/a.md", "x/.obsidian/a.md", "a.md~", "#a.md#", ".#a.md", "._a.md", "", "/a.md", "../a.md", "x//a.md", "./a.md",
		"a.sync-conflict-20260204-123456-ABCDEFG.md", "a (conflicted copy 2026-02-04 123456).md", "a (mac's conflicted copy 2026-02-04).md",
		"a (Conflicted copy mac 202602041234).md", "a_conflict-20260204-123456.md", "a (SFConflict me 2026-02-04-12-34-56).md", "a.md.tmp.123", "a.md.x",
	} {
		if l.Skip(path) == "" {
			t.Errorf("%q is read", path)
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
