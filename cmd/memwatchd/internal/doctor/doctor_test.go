package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/agents"
	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/vault"
)

// typed is a command as a doctor names it.
func typed(words string) string { return "memwatchd " + words }

// withStatus is an examination of a daemon that says this of itself.
func withStatus(s *api.Status) *examination {
	c := config.Default()
	c.Location = time.UTC
	c.LLM.Endpoint, c.LLM.Model, c.Capture.Ntfy.Topic = "https://models.example.org/v1", "small", "t"
	s.Healthy = true
	return &examination{config: c, status: s, answered: true}
}

// What cannot be provoked on every machine is judged by the figures alone. The
// outcome is the marks, and parts of what is said with each.
func TestJudgements(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 2, 5, 10, 30, 0, 0, time.UTC)
	root := []fs.FileMode{0o755, 0o755}
	modes := func(m ...fs.FileMode) []finding { return permissionsOf("/m", append(m, root...)) }
	room := func(free, total, files, need uint64) []finding {
		return roomFor("the index", "/i", vault.FileSystem{Free: free, Total: total, Files: files}, need)
	}
	const plenty = 1 << 40
	runs := func(program string) bool { return program == "/bin/memwatchd" }
	found := func(name string, parts ...agents.Part) agents.Finding {
		a, ok := agents.Named(name)
		if !ok {
			t.Fatalf("there is no agent %s", name)
		}
		f := agents.Finding{Agent: a}
		for _, p := range parts {
			f.Has = append(f.Has, agents.Installation{Part: p, Scope: agents.User, File: "/h/settings", Command: agents.Command{"/bin/memwatchd"}})
		}
		return f
	}
	for _, c := range []struct {
		name string
		got  []finding
		want []string // mark, then parts of the text, the advice or the command
	}{

		{"same version", versionOf("v1", "v1", false, 7, "s"), []string{"ok|v1"}},
		{"another version", versionOf("v1", "v2", false, 7, "memwatchd serve"), []string{"warning|v1|v2|kill 7; memwatchd serve"}},
		{"replaced", versionOf("v1", "v1", true, 7, "memwatchd serve"), []string{"warning|replaced|kill 7"}},

		{"modes: private", modes(0o700), []string{"ok|0700"}},
		{"modes: private above", permissionsOf("/m", []fs.FileMode{0o777, 0o700, 0o755}), []string{"ok|"}},
		{"modes: open", modes(0o755), []string{"warning|everybody|read|chmod go-rwx /m"}},
		{"modes: names are guessed", modes(0o711), []string{"warning|everybody|read"}},
		{"modes: writable", modes(0o777), []string{"warning|can write|chmod go-rwx"}},
		{"modes: a group's", modes(0o770), []string{"note|group"}},
		{"modes: a group may look", modes(0o750), []string{"ok|"}},

		{"exchange", exchangeOf("ext4", vault.Able, "", ""), []string{"ok|ext4"}},
		{"no exchange", exchangeOf("NFS", vault.Unable, "", ""), []string{"warning|NFS|nothing is written"}},
		{"was tried", exchangeOf("FUSE", vault.Unable, "it said no", ""), []string{"warning|it said no"}},
		{"not known", exchangeOf("FUSE", vault.MaybeAble, "", "memwatchd doctor --try-write"), []string{"note|FUSE|removed again|--try-write"}},

		{"no copies", copiesOf(nil, ""), nil},
		{"copies", copiesOf([]string{"Dropbox", "Syncthing"}, ""), []string{"note|Dropbox, Syncthing|compactor.host"}},
		{"copies, and who tidies up", copiesOf([]string{"Dropbox"}, "here"), []string{"note|Dropbox"}},

		{"watches", watches{limit: 8192, used: 10, instances: 128, instUsed: 2, queue: 16384, needed: 10}.findings(), []string{"ok|10 of 8192"}},
		{"watches: not known", watches{needed: 10}.findings(), nil},
		{"watches: too few", watches{limit: 8192, used: 8000, needed: 500}.findings(), []string{"warning|500|8192|8000|max_user_watches=524288"}},
		{"watches: ours are no others'", watches{limit: 8192, used: 4000, watched: 4000, needed: 4000, running: true}.findings(), []string{"ok|"}},
		{"watches: just enough", watches{limit: 8192, used: 100, needed: 8000}.findings(), []string{"note|8000|max_user_watches"}},
		{"watches: very many", watches{limit: 524288, needed: 600000}.findings(), []string{"warning|max_user_watches=2097152"}},
		{"watches: polled", watches{limit: 8192, used: 8192, watched: 100, needed: 200, running: true, polled: 1, problem: "no space"}.findings(), []string{"warning|1 directory cannot be watched: no space|max_user_watches"}},
		{"watches: polled for another reason", watches{limit: 8192, used: 100, watched: 100, needed: 200, running: true, polled: 1, problem: "on NFS"}.findings(), []string{"warning|on NFS"}},
		{"instances: none left", watches{limit: 8192, instances: 128, instUsed: 128, needed: 1}.findings(), []string{"problem|128 instances|max_user_instances=256"}},
		{"instances: none left for others", watches{limit: 8192, instances: 128, instUsed: 128, needed: 1, running: true}.findings(), []string{"note|128 are in use"}},
		{"queue", watches{limit: 8192, needed: 1, queue: 64}.findings(), []string{"note|only 64 events|max_queued_events=16384"}},

		{"open files", openFilesOf(30, 1024), []string{"ok|30 of 1024"}},
		{"open files: no daemon", openFilesOf(0, 1024), []string{"ok|1024"}},
		{"open files: few", openFilesOf(30, 256), []string{"warning|256|LimitNOFILE"}},
		{"open files: half", openFilesOf(600, 1024), []string{"warning|1024|600"}},
		{"open files: all", openFilesOf(1000, 1024), []string{"problem|1000 of 1024"}},

		{"disk", room(plenty, plenty, math.MaxUint64, 1<<30), []string{"ok|"}},
		{"disk: not told", room(0, 0, 0, 0), nil},
		{"disk: full", room(1<<20, plenty, plenty, 0), []string{"problem|is full|1.0 MiB|/i"}},
		{"disk: no more files", room(plenty, plenty, 3, 0), []string{"problem|3 more files"}},
		{"disk: nearly full", room(100<<20, plenty, plenty, 0), []string{"warning|nearly full|100.0 MiB"}},
		{"disk: no second index", room(5<<30, plenty, plenty, 4<<30), []string{"warning|nearly full"}},

		{"journal", journalOf(1<<20, 30, "90d"), []string{"ok|1.0 MiB|90d"}},
		{"journal: large", journalOf(1<<30, 30000, "90d"), []string{"warning|1.0 GiB|30000 files|journal.keep, 90d"}},

		{"zone", zoneOf("Europe/Berlin", "Europe/Berlin", now), []string{"ok|Europe/Berlin"}},
		{"zone: as late", zoneOf("Europe/Berlin", "Europe/Paris", now), []string{"ok|"}},
		{"zone: another", zoneOf("Asia/Shanghai", "Europe/Berlin", now), []string{"note|Asia/Shanghai, where it is Thu 18:30|Thu 11:30|memory.timezone"}},
		{"zone: the machine's", zoneOf("Local", "Europe/Berlin", now), []string{"note|memory.timezone: Europe/Berlin"}},
		{"zone: nobody knows", zoneOf("Local", "Local", now), []string{"note|cannot be told"}},

		{"clock", clockOf(now, now.AddDate(0, -1, 0), now), []string{"ok|2026-02-05 10:30:00"}},
		{"clock: before it was made", clockOf(now, now.AddDate(0, 1, 0), now), []string{"warning|before this program was made|timedatectl"}},
		{"clock: never set", clockOf(time.Unix(0, 0), time.Time{}, time.Time{}), []string{"warning|before this program was made"}},
		{"clock: a file of tomorrow", clockOf(now, time.Time{}, now.AddDate(0, 0, 1)), []string{"warning|2026-02-06 10:30:00"}},

		{"model", lookAtModel(ctx, withStatus(&api.Status{LLM: &api.ModelStatus{Asked: 3}})), []string{"ok|small"}},

		{"agent: has nothing", agentOf(found("claude-code"), nil, typed),
			[]string{"note|Claude Code does not have the tools|memwatchd mcp install --agent claude-code", "note|hooks|memwatchd hook install --agent claude-code"}},
		{"agent: has all", agentOf(found("claude-code", agents.MCP, agents.Hooks), runs, typed), []string{"ok|Claude Code has the tools of memwatchd and the hooks"}},
		{"agent: has no hooks", agentOf(found("codex", agents.MCP), runs, typed), []string{"ok|Codex"}},
		{"agent: program is gone", agentOf(found("codex", agents.MCP), func(string) bool { return false }, typed),
			[]string{"warning|starts /bin/memwatchd|no such program|/h/settings|memwatchd mcp install --agent codex"}},
		{"agent: broken settings", agentOf(agents.Finding{Agent: found("codex").Agent, Faults: []agents.Fault{{File: "/h/s", Err: errors.New("3:1: no value")}}}, nil, typed),
			[]string{"warning|/h/s: 3:1: no value|correct the file"}},

		{"service: no manager", serviceHere{}.findings(typed), nil},
		{"service: none", serviceHere{managed: true, answers: true}.findings(typed), []string{"note|each time|memwatchd service install"}},
		{"service: does not answer", serviceHere{managed: true, file: "/u"}.findings(typed), []string{"warning|/u is there|service status"}},
		{"service: another daemon", serviceHere{managed: true, file: "/u", answers: true}.findings(typed), []string{"note|not started by the system|/u"}},
		{"service", serviceHere{managed: true, file: "/u", answers: true, started: true}.findings(typed), []string{"ok|/u"}},

		{"forbidden", lookAtProcess(ctx, &examination{asked: fmt.Errorf("%w: %w", client.ErrNoDaemon, fs.ErrPermission)}), []string{"problem|permission|--socket"}},
		{"broken off", lookAtProcess(ctx, &examination{asked: errors.New("connection reset")}), []string{"problem|as it should: connection reset"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			compareFindings(t, c.got, c.want)
		})
	}
}

// compareFindings compares findings with marks, and with parts of their texts, advice
// and commands.
func compareFindings(t *testing.T, got []finding, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d findings, want %d: %+v", len(got), len(want), got)
	}
	for i, f := range got {
		parts := strings.Split(want[i], "|")
		all := strings.Join([]string{f.Text, f.Advice, f.Command}, "\n")
		for _, part := range parts[1:] {
			if !strings.Contains(all, part) {
				t.Errorf("%q is not in:\n%s", part, all)
			}
		}
		if f.Mark.String() != parts[0] {
			t.Errorf("the mark is %s, want %s: %s", f.Mark, parts[0], all)
		}
		if f.Mark == fine && f.Advice+f.Command != "" {
			t.Errorf("a finding without a fault has advice: %s", all)
		}
	}
}

// TestStatus changes one field of the status of a healthy daemon in each case. The
// outcome is the marks, and parts of the texts, advice and commands.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*api.Status)
		want   []string
	}{
		{"healthy", func(*api.Status) {}, []string{"ok|healthy: 3 files, 9 entries"}},
		{"starting", func(s *api.Status) { s.RootState = "starting" }, []string{"ok|healthy"}},
		{"root missing", func(s *api.Status) {
			s.Healthy, s.RootState, s.Index.Problem, s.Watch.Problem = false, api.RootMissing, "no root", "no root"
		}, []string{"problem|/m is missing|mount the disk"}},
		{"root emptied", func(s *api.Status) { s.Healthy, s.RootState = false, api.RootHolding }, []string{"problem|/m|next scan"}},
		{"another state", func(s *api.Status) { s.RootState = "odd" }, []string{"problem|odd|memwatchd status"}},
		{"index", func(s *api.Status) { s.Healthy, s.Index.Problem, s.Index.Degraded = false, "no room", true },
			[]string{"problem|no room|memwatchd rebuild"}},
		{"index building", func(s *api.Status) { s.Index = api.IndexStatus{Degraded: true, Done: 3, Total: 9} },
			[]string{"note|3 of 9 files"}},
		{"no journal", func(s *api.Status) { s.Healthy, s.Write.Problem = false, "no journal" },
			[]string{"problem|writes to no file: no journal|Restart"}},
		{"cannot write", func(s *api.Status) { s.Write.Problem = "disk full" }, []string{"warning|disk full"}},
		{"polled", func(s *api.Status) { s.Watch.Problem = "too few" }, []string{"warning|too few|polls"}},
		{"overflow", func(s *api.Status) { s.Watch.Overflows = 2 }, []string{"note|lost 2 times|max_queued_events"}},
		{"files", func(s *api.Status) {
			s.Write.Refused = []api.Skipped{{Path: "a.md", Reason: "read-only"}}
			s.Write.Waiting = []api.Skipped{{Path: "b.md", Reason: "open"}, {Path: "c.md", Reason: "new"}}
			s.Write.Kept = []string{".d.tmp", "e.md.kept-0a"}
		}, []string{"warning|a.md (read-only)|status --verbose", "note|b.md (open), c.md (new)", "warning|crash: .d.tmp.|Compare"}},
		{"tasks", func(s *api.Status) {
			s.Todosync = &api.TodosyncStatus{Problem: "damaged", Unclear: 2, Waiting: []api.Skipped{{Path: "a.md", Reason: "open"}}}
		}, []string{"warning|damaged", "note|a.md (open)", "note|2 tasks|todo plan"}},
		{"compactor", func(s *api.Status) {
			s.Compactor = &api.CompactorStatus{Passive: true, Host: "attic", Problem: "disk full",
				NearLimit: []api.NearLimit{{Path: "x.md", Share: 0.9}, {Path: "y.md", Share: 1.2}}}
		}, []string{"warning|disk full|compact --dry-run", "note|attic|compactor.host", "warning|y.md (120 %)", "note|x.md (90 %)"}},
		{"model", func(s *api.Status) { s.LLM = &api.ModelStatus{Asked: 3, Failed: 2, Failure: "too slow"} },
			[]string{"warning|2 of 3, the last with: too slow|rules"}},
		{"model works", func(s *api.Status) { s.LLM = &api.ModelStatus{Asked: 3} }, []string{"ok|"}},
		{"topic", func(s *api.Status) { s.Topic = &api.TopicStatus{Connected: true} }, []string{"ok|"}},
		{"topic fails", func(s *api.Status) { s.Topic = &api.TopicStatus{Connected: true, Problem: "401"} }, []string{"warning|401"}},
		{"topic is away", func(s *api.Status) { s.Topic = &api.TopicStatus{Server: "ntfy.sh"} },
			[]string{"warning|no connection to ntfy.sh"}},
		{"problems", func(s *api.Status) {
			s.Problems = []api.FileProblem{{Problem: api.Problem{Code: "journal_damaged", Message: "journal: x"}},
				{Path: "a.md", Problem: api.Problem{Code: "c", Message: "of a file"}}}
		}, []string{"warning|journal: x"}},
		{"no reason", func(s *api.Status) { s.Healthy = false }, []string{"problem|/m is not healthy|memwatchd status"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &api.Status{Healthy: true, Root: "/m", RootState: "watched", Files: 3, Entries: 9}
			c.change(s)
			compareFindings(t, statusFindings(s, typed), c.want)
		})
	}
}

// TestCheck compares counts and places. No message may be shown, since a message may
// quote the text of a file.
func TestCheck(t *testing.T) {
	at := func(path string, line int, code string) api.FileProblem {
		return api.FileProblem{Path: path, Problem: api.Problem{Code: code, Line: line, Message: "the text of a file"}}
	}
	list := checkFindings(&api.CheckAnswer{
		Differing: []api.Skipped{{Path: "a.md"}, {Path: "b.md"}, {Path: "c.md"}, {Path: "d.md"}},
		Problems: []api.FileProblem{at("a.md", 2, "counter_wrong"), at("b.md", 3, "time_unreadable"), at("c.md", 0, "unreadable"),
			at("d.md", 4, "frontmatter_broken"), at("x", 0, "subject_conflict"), at("", 0, "journal_damaged")},
		Skipped: []api.Skipped{{Path: ".e.md", Reason: "hidden file"}, {Path: "f.md", Reason: "conflict copy of e.md"}},
	}, typed)
	compareFindings(t, list, []string{
		"note|in 1 place: a.md:2|memwatchd check --fix",
		"warning|differs from the files in 4 places: a.md, b.md, c.md and 1 more|memwatchd check --fix",
		"note|format in 2 places: b.md:3, d.md:4|memwatchd check",
		"note|skips files in 1 place: .e.md",
		"warning|claims a directory in 1 place: x|subject_id",
		"warning|1 place: c.md",
	})
	for _, f := range list {
		if strings.Contains(fmt.Sprint(f), "the text of a file") {
			t.Errorf("it quotes a file: %+v", f)
		}
	}
	compareFindings(t, checkFindings(&api.CheckAnswer{Files: 3}, typed), []string{"ok|3 files"})
	slow := &examination{status: &api.Status{}, checkErr: errSlow}
	compareFindings(t, inspectCheck(t.Context(), slow), []string{"warning|did not compare|memwatchd check"})
}

// TestRemedies compares the table with the verbs that describe needs.
func TestRemedies(t *testing.T) {
	for code, r := range remedies {
		if strings.Count(r.format, "%s") != 1 || strings.Count(r.format, "%") != 1 {
			t.Errorf("%s: %q has not exactly one verb", code, r.format)
		}
	}
}

func TestSyncTools(t *testing.T) {
	for _, c := range []struct {
		dir   string
		marks []string
		want  []string
	}{
		{"/home/x/memory", []string{".git", ".obsidian"}, nil},
		{"/home/x/memory", []string{".stignore", ".stfolder"}, []string{"Syncthing"}},
		{"/home/x/Dropbox (Work)/memory", []string{".dropbox"}, []string{"Dropbox"}},
		{"/Users/x/Library/Mobile Documents/com~apple~CloudDocs/memory", []string{".a.md.icloud"}, []string{"iCloud"}},
		{"/home/x/Nextcloud", []string{".sync_0123.db"}, []string{"Nextcloud"}},
		{"/home/x/OneDrive/memory", []string{".stfolder"}, []string{"OneDrive", "Syncthing"}},
		{"/home/x/dropbox-notes", nil, nil},
	} {
		if diff := cmp.Diff(c.want, syncTools(c.dir, c.marks)); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.dir, c.marks, diff)
		}
	}
}

// What hangs is left alone, and the others are asked all the same.
func TestDoctorGivesUp(t *testing.T) {
	e := &examination{}
	hung := make(chan struct{})
	defer close(hung)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := timely(ctx, time.Hour, func(context.Context) (int, error) { <-hung; return 1, nil })
	if !errors.Is(err, errSlow) {
		t.Errorf("what hangs ends with %v", err)
	}
	found := e.findings(ctx, []inspection{
		{ofMachine, "disk", false, func(context.Context, *examination) []finding { <-hung; return nil }},
		{ofMachine, "zone", true, func(context.Context, *examination) []finding { panic("there is no configuration") }},
	})
	want := []finding{{Group: ofMachine, Name: "disk", Mark: warning, Text: "disk: given up: it does not answer in time", Advice: "a disk or a service does not answer; look at it, and ask again"}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// All groups are shown in one piece, and every inspection has a name of its own.
func TestInspections(t *testing.T) {
	names, groups, last := map[string]bool{}, map[string]bool{}, ""
	for _, i := range inspections {
		if names[i.name] || i.group != last && groups[i.group] {
			t.Errorf("%s: %s is there twice", i.group, i.name)
		}
		names[i.name], groups[i.group], last = true, true, i.group
	}
}

func TestDiagnosis(t *testing.T) {
	findings := []finding{
		{Group: "Daemon", Name: "process", Text: "process 7 answers"},
		{Group: "Daemon", Name: "socket", Text: "/run/s"},
		{Group: "Daemon", Name: "socket", Text: "/run/t"},
		{Group: "Daemon", Name: "health", Mark: problem, Text: "the disk is full, and nothing can be written there until there is room again", Advice: "make room", Command: "rm -r /tmp/a-file-with-a-name-that-is-longer-than-a-line-of-the-terminal"},
		{Group: "Files", Name: "check", Mark: note, Text: "a\x1b[31m.md"},
	}
	var b bytes.Buffer
	p := new(cli.Printer)
	if err := printDiagnosis(&b, 60, p, findings, false); err != nil {
		t.Fatal(err)
	}
	want := `Daemon
  ok       process, socket
  problem  the disk is full, and nothing can be written
           there until there is room again
           make room
           rm -r /tmp/a-file-with-a-name-that-is-longer-than-a-line-of-the-terminal

Files
  note     a\x1b[31m.md

1 problem, 0 warnings, 1 note, 3 ok
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	if err := printDiagnosis(&b, 60, p, findings[:3], true); err != nil {
		t.Fatal(err)
	}
	want = "Daemon\n  ok       process 7 answers\n  ok       /run/s\n  ok       /run/t\n\n0 problems, 0 warnings, 0 notes, 3 ok\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("in full (-want +got):\n%s", diff)
	}
}

// What is to be pasted names the file that is meant, and nothing else.
func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b-c_d.md": "/a/b-c_d.md", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "~x": "'~x'", "记忆": "'记忆'",
		"a\nb": `$'a\nb'`, "a'\x1b\\": `$'a\'\x1b\\'`,
	} {
		if got := term.QuoteWord(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}

// A survey sees what is there, and stops when it has to.
func TestSurvey(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a.md", "sub/b.md", "sub/c.txt", ".hidden/d.md", "_longterms/x/_index.md.kept-0a"} {
		name := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("- x\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 2, 4, 12, 0, 0, 0, time.UTC)
	s, err := surveyOf(context.Background(), dir, now)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.directories, s.markdown, s.bytes, s.kept.first), "4 2 8 [_longterms/x/_index.md.kept-0a]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := surveyOf(context.Background(), filepath.Join(dir, "none"), now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := surveyOf(ctx, dir, now); !errors.Is(err, context.Canceled) {
		t.Errorf("when it has to stop: %v", err)
	}
}
