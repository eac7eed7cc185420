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

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/vault"
)

// typed returns a command as doctor prints it.
func typed(words string) string { return "memwatchd " + words }

// TestJudgements compares findings for figures and states that not every machine can
// produce. A wanted finding is the mark, and parts of the text, advice or command.
func TestJudgements(t *testing.T) {
	modes := func(m fs.FileMode, above ...fs.FileMode) findings {
		return modeFindings("/m", append(append([]fs.FileMode{m}, above...), 0o755))
	}
	space := func(free, total, files, need uint64) findings {
		return spaceFindings("/i", vault.FileSystem{Free: free, Total: total, Files: files}, need)
	}
	const plenty = 1 << 40
	exchange := func(able vault.Ability) findings {
		return exchangeFindings(vault.FileSystem{Name: "FUSE", Exchange: able}, "memwatchd doctor --try-write")
	}
	is := func(state programState) func(string) programState { return func(string) programState { return state } }
	agent := func(name string, parts ...agents.Component) agents.Finding {
		a, ok := agents.Named(name)
		if !ok {
			t.Fatalf("there is no agent %s", name)
		}
		f := agents.Finding{Agent: a}
		for _, p := range parts {
			f.Installations = append(f.Installations,
				agents.Installation{Component: p, File: "/h/s",
					Command: agents.Command{"/b/memwatchd"}})
		}
		return f
	}
	broken := agents.Finding{Agent: agent("cursor").Agent,
		Faults: []agents.Fault{{File: "/h/s", Err: errors.New("3:1: no value")}}}
	other := agent("cursor", agents.MCP)
	other.Installations[0].Command = agents.Command{"npx", "memwatchd"}
	defaults := config.Default()
	defaults.Location = time.UTC
	model := config.Default()
	embedding := config.Default()
	embedding.Embed.Endpoint, embedding.Memory.Timezone, embedding.File = "http://models.example.org/v1", "UTC", os.DevNull
	model.LLM.Endpoint, model.Memory.Timezone, model.File = "http://models.example.org/v1", "UTC", os.DevNull
	for _, c := range []struct {
		name string
		got  findings
		want []string
	}{
		{"process: forbidden",
			inspectProcess(&examination{statusErr: fmt.Errorf("%w: %w", client.ErrNoDaemon, fs.ErrPermission)}),
			[]string{"problem|permission|--socket"}},
		{"process: error", inspectProcess(&examination{statusErr: errors.New("connection reset")}),
			[]string{"problem|failed: connection reset"}},
		{"process: slow", inspectProcess(&examination{socket: "/s", statusErr: errTimeout}),
			[]string{"problem|/s and does not answer within 10s"}},

		{"config: defaults", inspectConfig(&examination{config: defaults}),
			[]string{"note|no configuration file|init", "note|zone of the machine"}},
		{"config: model",
			inspectConfig(&examination{config: model, environ: []string{"MEMWATCHD_A=1", "HOME=/h"}}),
			[]string{"warning|Other users can write|chmod go-w", "note|sets keys: MEMWATCHD_A.",
				"warning|models.example.org are not encrypted"}},
		{"config: embeddings", inspectConfig(&examination{config: embedding}),
			[]string{"warning|Other users can write|chmod go-w",
				"warning|models.example.org are not encrypted|embed.endpoint", "note|embed.private is false"}},

		{"modes: private", modes(0o700), nil},
		{"modes: private above", modes(0o777, 0o700), nil},
		{"modes: open", modes(0o755), []string{"warning|All users|read|chmod go-rwx /m"}},
		{"modes: search only", modes(0o711), []string{"warning|All users|read"}},
		{"modes: writable", modes(0o777), []string{"warning|can write|chmod go-rwx"}},
		{"modes: group writes", modes(0o770), []string{"note|group"}},
		{"modes: group reads", modes(0o750), nil},

		{"exchange", exchange(vault.Able), []string{"ok|FUSE"}},
		{"exchange: no", exchange(vault.Unable), []string{"warning|FUSE|writes no files"}},
		{"exchange: unknown", exchange(vault.MaybeAble), []string{"note|FUSE|removes|--try-write"}},

		{"disk", space(plenty, plenty, math.MaxUint64, 1<<30), []string{"ok|"}},
		{"disk: unknown", space(0, 0, 0, 0), nil},
		{"disk: full", space(1<<20, plenty, plenty, 0), []string{"problem|/i has 1.0 MiB free"}},
		{"disk: no more files", space(plenty, plenty, 3, 0), []string{"problem|3 files"}},
		{"disk: nearly full", space(100<<20, plenty, plenty, 0), []string{"warning|100.0 MiB"}},
		{"disk: no second index", space(5<<30, plenty, plenty, 4<<30), []string{"warning|5.0 GiB"}},

		{"version", versionFindings("v1", "v1", false, "kill 7"), nil},
		{"version: other", versionFindings("v1", "v2", false, "kill 7"), []string{"warning|v1|v2|kill 7"}},
		{"version: replaced", versionFindings("v1", "v1", true, "kill 7"), []string{"warning|replaced|kill 7"}},

		{"agent: has nothing", agentFindings(agent("claude-code"), nil, typed),
			[]string{"note|Claude Code does not have the tools|memwatchd mcp install --agent claude-code",
				"note|hooks|memwatchd hook install --agent claude-code"}},
		{"agent: has both", agentFindings(agent("claude-code", agents.MCP, agents.Hooks), is(sameProgram), typed),
			[]string{"ok|Claude Code has the tools", "ok|Claude Code has the hooks"}},
		{"agent: has no hooks", agentFindings(agent("cursor", agents.MCP), is(sameProgram), typed),
			[]string{"ok|Cursor"}},
		{"agent: no program", agentFindings(agent("cursor", agents.MCP), is(noProgram), typed),
			[]string{"warning|starts /b/memwatchd, which does not exist|/h/s|memwatchd mcp install --agent cursor"}},
		{"agent: other program", agentFindings(agent("cursor", agents.MCP), is(otherProgram), typed),
			[]string{"note|a different program|/h/s|mcp install"}},
		{"agent: a starter", agentFindings(other, is(otherProgram), typed), []string{"ok|Cursor"}},
		{"agent: broken settings", agentFindings(broken, nil, typed),
			[]string{"warning|/h/s: 3:1: no value|Correct the file"}},

		{"service: no manager", serviceState{}.findings(typed), nil},
		{"service: none", serviceState{managed: true, answers: true}.findings(typed),
			[]string{"note|No service|memwatchd service install"}},
		{"service: no program", serviceState{file: "/u", program: noProgram}.findings(typed),
			[]string{"warning|/u starts a program that does not exist"}},
		{"service: no answer", serviceState{managed: true, file: "/u"}.findings(typed),
			[]string{"warning|/u is installed|service status"}},
		{"service: not started by it", serviceState{managed: true, file: "/u", answers: true}.findings(typed),
			[]string{"note|/u|did not start"}},
		{"service: other program",
			serviceState{file: "/u", answers: true, started: true,
				program: otherProgram}.findings(typed), []string{"note|a different program"}},
		{"service", serviceState{managed: true, file: "/u", answers: true, started: true}.findings(typed),
			[]string{"ok|/u"}},
	} {
		t.Run(c.name, func(t *testing.T) { compareFindings(t, c.got, c.want) })
	}
}

// TestProgram compares programs with the one of the test.
func TestProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]programState{self: sameProgram, "sh": otherProgram,
		filepath.Join(t.TempDir(), "none"): noProgram} {
		if got := compareProgram(program); got != want {
			t.Errorf("%s: got %d, want %d", program, got, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	compareFindings(t, inspectProgram(&examination{}), []string{"note|PATH does not contain memwatchd"})
}

// compareFindings compares findings with marks, and with parts of their texts, advice
// and commands.
func compareFindings(t *testing.T, got findings, want []string) {
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
		if f.Severity.String() != parts[0] {
			t.Errorf("the mark is %s, want %s: %s", f.Severity, parts[0], all)
		}
		if f.Severity == passed && f.Advice+f.Command != "" {
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
		{"starting", func(s *api.Status) { s.RootState = "starting" }, []string{"ok|The daemon is indexing: 3 files"}},
		{"indexing", func(s *api.Status) { s.Index.Pending = 6948 }, []string{"ok|indexing, 6,948 files to go"}},
		{"root missing", func(s *api.Status) {
			s.Healthy, s.RootState, s.Index.Problem, s.Watch.Problem = false, api.RootMissing, "no root", "no root"
		}, []string{"problem|/m is missing|mount the disk"}},
		{"root emptied", func(s *api.Status) { s.Healthy, s.RootState = false, api.RootHolding },
			[]string{"problem|/m|next scan"}},
		{"another state", func(s *api.Status) { s.RootState = "odd" }, []string{"problem|odd|memwatchd status"}},
		{"index", func(s *api.Status) { s.Healthy, s.Index.Problem, s.Index.Degraded = false, "no room", true },
			[]string{"problem|no room|memwatchd rebuild"}},
		{"index building", func(s *api.Status) { s.Index = api.IndexStatus{Degraded: true, Done: 3, Total: 9} },
			[]string{"note|3 of 9 files"}},
		{"no journal", func(s *api.Status) { s.Healthy, s.Write.Problem = false, "no journal" },
			[]string{"problem|cannot write to any file: no journal|Restart"}},
		{"cannot write", func(s *api.Status) { s.Write.Problem = "disk full" }, []string{"warning|disk full"}},
		{"polled", func(s *api.Status) { s.Watch.Problem = "too few" }, []string{"warning|too few|polls"}},
		{"overflow", func(s *api.Status) { s.Watch.Overflows = 2 }, []string{"note|lost 2 times|max_queued_events"}},
		{"files", func(s *api.Status) {
			s.Write.Refused = []api.Skipped{{Path: "a.md", Reason: "read-only"}}
			s.Write.Waiting = []api.Skipped{{Path: "b.md", Reason: "open"}, {Path: "c.md", Reason: "new"}}
			s.Write.ConflictCopies = []string{".d.tmp", "e.md.kept-0a"}
		}, []string{"warning|a.md (read-only)|status --verbose", "note|b.md (open), c.md (new)", "warning|.d.tmp|Compare"}},
		{"tasks", func(s *api.Status) {
			s.Todosync = &api.TodosyncStatus{Problem: "damaged", Unclear: 2,
				Waiting: []api.Skipped{{Path: "a.md", Reason: "open"}}}
		}, []string{"warning|damaged", "note|a.md (open)", "note|2 tasks|todo plan"}},
		{"compactor", func(s *api.Status) {
			s.Compactor = &api.CompactorStatus{Passive: true, Host: "attic", Problem: "disk full",
				NearLimit: []api.NearLimit{{Path: "x.md", Share: 0.9}, {Path: "y.md", Share: 1.2}}}
		}, []string{"warning|disk full|compact --dry-run", "note|attic|compactor.host",
			"warning|y.md (120 %)", "note|x.md (90 %)"}},
		{"model", func(s *api.Status) { s.LLM = &api.ModelStatus{Requests: 3, Failed: 2, Failure: "too slow"} },
			[]string{"warning|2 of 3, the last with: too slow|rules"}},
		{"model works", func(s *api.Status) { s.LLM = &api.ModelStatus{Requests: 3} }, []string{"ok|"}},
		{"endpoint fails", func(s *api.Status) { s.Embed = &api.EmbedStatus{LastError: "connection refused", Rejected: 2} },
			[]string{"warning|connection refused|search.md", "note|2 texts"}},
		{"endpoint is silent", func(s *api.Status) { s.Embed = &api.EmbedStatus{Endpoint: "http://e"} },
			[]string{"warning|no response of http://e"}},
		{"endpoint works", func(s *api.Status) { s.Embed = &api.EmbedStatus{Dimensions: 768} }, []string{"ok|"}},
		{"share", func(s *api.Status) { s.Share = &api.ShareStatus{State: "publishing"} }, []string{"ok|"}},
		{"share is away", func(s *api.Status) { s.Share = &api.ShareStatus{State: "waiting", LastError: "no response"} },
			[]string{"warning|no response"}},
		{"share refuses", func(s *api.Status) { s.Share = &api.ShareStatus{State: "publishing", Refused: 2} },
			[]string{"warning|refuses 2 entries"}},
		{"topic", func(s *api.Status) { s.Topic = &api.TopicStatus{Connected: true} }, []string{"ok|"}},
		{"topic fails", func(s *api.Status) { s.Topic = &api.TopicStatus{Connected: true, Problem: "401"} },
			[]string{"warning|401"}},
		{"topic is away", func(s *api.Status) { s.Topic = &api.TopicStatus{Server: "ntfy.sh"} },
			[]string{"warning|no connection to ntfy.sh"}},
		{"problems", func(s *api.Status) {
			s.Problems = []api.FileProblem{{Problem: api.Problem{Code: "journal_damaged", Message: "journal: x"}},
				{Path: "a.md", Problem: api.Problem{Code: "c", Message: "of a file"}}}
		}, []string{"warning|journal: x"}},
		{"no reason", func(s *api.Status) { s.Healthy = false },
			[]string{"problem|/m is not healthy|memwatchd status"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &api.Status{Healthy: true, Root: "/m", RootState: "watched", Files: 3, Entries: 9}
			c.change(s)
			s.Explain()
			compareFindings(t, statusFindings(s, typed), c.want)
		})
	}
}

// TestCheck compares counts and places. No message may be shown, since a message may
// quote the text of a file.
func TestCheck(t *testing.T) {
	at := func(path string, line int, code string) api.FileProblem {
		return api.FileProblem{Path: path,
			Problem: api.Problem{Code: code, Line: line, Message: "the text of a file"}}
	}
	list := checkFindings(&api.CheckAnswer{
		Differing: []api.Skipped{{Path: "a.md"}, {Path: "b.md"}, {Path: "c.md"}, {Path: "d.md"}},
		Problems: []api.FileProblem{at("a.md", 2, "counter_wrong"), at("b.md", 3, "time_unreadable"),
			at("c.md", 0, "unreadable"),
			at("d.md", 4, "frontmatter_broken"), at("x", 0, "subject_conflict"), at("", 0, "journal_damaged")},
		Skipped: []api.Skipped{{Path: ".e.md", Reason: "hidden file"}},
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
	slow := &examination{status: &api.Status{}, checkErr: errTimeout}
	compareFindings(t, inspectCheck(slow), []string{"warning|did not compare|memwatchd check"})
}

// TestRemedies compares the table with the verbs that describe needs.
func TestRemedies(t *testing.T) {
	for code, r := range remedies {
		if strings.Count(r.format, "%s") != 1 || strings.Count(r.format, "%") != 1 {
			t.Errorf("%s: %q has not exactly one verb", code, r.format)
		}
	}
}

// TestSyncTools finds tools by hidden names and by parts of a path.
func TestSyncTools(t *testing.T) {
	for _, c := range []struct {
		dir    string
		hidden []string
		want   []string
	}{
		{"/home/x/memory", []string{".git", ".obsidian"}, nil},
		{"/home/x/memory", []string{".stignore", ".stfolder"}, []string{"Syncthing"}},
		{"/home/x/Dropbox (Work)/memory", []string{".dropbox"}, []string{"Dropbox"}},
		{"/Users/x/Library/Mobile Documents/com~apple~CloudDocs/memory", []string{".a.md.icloud"},
			[]string{"iCloud"}},
		{"/home/x/Nextcloud", []string{".sync_0123.db"}, []string{"Nextcloud"}},
		{"/home/x/OneDrive/memory", []string{".stfolder"}, []string{"Syncthing", "OneDrive"}},
		{"/home/x/dropbox-notes", nil, nil},
	} {
		if diff := cmp.Diff(c.want, findSyncTools(c.dir, c.hidden)); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.dir, c.hidden, diff)
		}
	}
}

// TestTimeLimit runs an inspection that hangs beside another.
func TestTimeLimit(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := callWithTimeout(ctx, time.Hour, func(context.Context) (int, error) { <-hung; return 1, nil })
	if !errors.Is(err, errTimeout) {
		t.Errorf("a call that hangs returns the error %v", err)
	}
	got := new(examination).runInspections(ctx, []inspection{
		{memoryGroup, "disk", false, func(*examination) findings { <-hung; return nil }},
		{memoryGroup, "sync", true,
			func(*examination) findings { panic("it needs a configuration") }},
	})
	compareFindings(t, got, []string{`warning|"disk" did not finish: time limit exceeded|Run the command again`})
	if got[0].Group != memoryGroup || got[0].Name != "disk" {
		t.Errorf("got %+v", got[0])
	}
}

// TestInspections compares names, which are unique, and groups, which are contiguous.
func TestInspections(t *testing.T) {
	names, groups, last := map[string]bool{}, map[string]bool{}, ""
	for _, i := range inspections {
		if names[i.name] || i.group != last && groups[i.group] {
			t.Errorf("%s: %s is not unique", i.group, i.name)
		}
		names[i.name], groups[i.group], last = true, true, i.group
	}
}

// TestPrint prints findings with and without those that have no fault.
func TestPrint(t *testing.T) {
	list := findings{
		{Group: "Daemon", Name: "process", Text: "process 7 answers"},
		{Group: "Daemon", Name: "socket", Text: "/run/s"},
		{Group: "Daemon", Name: "socket", Text: "/run/t"},
		{Group: "Daemon", Name: "health", Severity: problem,
			Text:    "the disk is full, and the daemon cannot write files there until there is room again",
			Advice:  "make room",
			Command: "rm -r /tmp/a-file-with-a-name-that-is-longer-than-a-line-of-the-terminal"},
		{Group: "Files", Name: "check", Severity: note, Text: "a\x1b[31m.md"},
	}
	var b bytes.Buffer
	p := new(cli.Printer)
	if err := printFindings(&b, 60, p, list, false); err != nil {
		t.Fatal(err)
	}
	want := `Daemon
  ok       process, socket
  problem  the disk is full, and the daemon cannot write
           files there until there is room again
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
	if err := printFindings(&b, 60, p, list[:3], true); err != nil {
		t.Fatal(err)
	}
	want = "Daemon\n  ok       process 7 answers\n  ok       /run/s\n  ok       /run/t\n\n" +
		"0 problems, 0 warnings, 0 notes, 3 ok\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("in full (-want +got):\n%s", diff)
	}
}

// TestSurvey counts files of each kind, and cancels a survey.
func TestSurvey(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a.md", "sub/b.md", "sub/c.txt", ".hidden/d.md", "_longterms/x/_index.md.kept-0a"} {
		name := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
			os.WriteFile(name, []byte("- x\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := surveyTree(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.directories, s.markdown,
		s.savedCopies.listed), "4 2 [_longterms/x/_index.md.kept-0a]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := surveyTree(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := surveyTree(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled survey: %v", err)
	}
}
