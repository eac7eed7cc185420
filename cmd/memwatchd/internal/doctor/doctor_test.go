package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// typed returns a command as doctor prints it.
func typed(words string) string { return "memwatchd " + words }

// TestJudgements compares findings for figures and states that not every machine can
// produce. A wanted finding is the mark, and parts of the text, advice or command.
func TestJudgements(t *testing.T) {
	modes := func(m fs.FileMode, above ...fs.FileMode) findings {
		return modeFindings("/m", append(append([]fs.FileMode{m}, above...), 0o755))
	}
	exists := func(string) (string, error) { return "", nil }
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
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
	broken := agents.Finding{Agent: agent("zed").Agent,
		Faults: []agents.Fault{{File: "/h/s", Err: errors.New("3:1: no value")}}}
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
		{"process: none", inspectProcess(&examination{socket: "/s", statusErr: client.ErrNoDaemon}),
			[]string{"problem|No daemon answers at /s|memwatchd serve"}},
		{"process: none yet", inspectProcess(&examination{socket: "/s", statusErr: client.ErrNoDaemon, starts: true}),
			[]string{"note|No daemon answers at /s|starts one"}},
		{"process: error", inspectProcess(&examination{statusErr: errors.New("connection reset")}),
			[]string{"problem|failed: connection reset"}},
		{"process: slow", inspectProcess(&examination{socket: "/s", statusErr: context.DeadlineExceeded}),
			[]string{"problem|/s and does not answer within 10s"}},
		{"config: defaults", inspectConfig(&examination{config: defaults}),
			[]string{"note|no configuration file|init", "note|zone of the machine"}},
		{"config: model",
			inspectConfig(&examination{config: model, environ: []string{"MEMWATCHD_A=1", "HOME=/h"}}),
			[]string{"warning|Other users can write|chmod go-w", "note|sets keys: MEMWATCHD_A.",
				"warning|models.example.org are not encrypted"}},
		{"config: embeddings", inspectConfig(&examination{config: embedding}),
			[]string{"warning|Other users can write|chmod go-w",
				"warning|models.example.org are not encrypted|embed.endpoint"}},
		{"modes: private", modes(0o700), nil},
		{"modes: private above", modes(0o777, 0o700), nil},
		{"modes: open", modes(0o755), []string{"warning|All users|read|chmod go-rwx /m"}},
		{"modes: search only", modes(0o711), []string{"warning|All users|read"}},
		{"modes: writable", modes(0o777), []string{"warning|can write|chmod go-rwx"}},
		{"modes: group writes", modes(0o770), []string{"note|group"}},
		{"modes: group reads", modes(0o750), nil},
		{"agent: has nothing", agentFindings(agent("claude-code"), exists, typed),
			[]string{"note|Claude Code does not have the tools|memwatchd mcp install --agent claude-code",
				"note|hooks|memwatchd hook install --agent claude-code"}},
		{"agent: has both", agentFindings(agent("claude-code", agents.MCP, agents.Hooks), exists, typed),
			[]string{"ok|Claude Code has the tools", "ok|Claude Code has the hooks"}},
		{"agent: has no hooks", agentFindings(agent("zed", agents.MCP), exists, typed),
			[]string{"ok|Zed"}},
		{"agent: no program", agentFindings(agent("zed", agents.MCP), missing, typed),
			[]string{"warning|starts /b/memwatchd, which does not exist|/h/s|memwatchd mcp install --agent zed"}},
		{"agent: broken settings", agentFindings(broken, exists, typed),
			[]string{"warning|/h/s: 3:1: no value|Correct the file"}},
	} {
		t.Run(c.name, func(t *testing.T) { compareFindings(t, c.got, c.want) })
	}
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
		{"index", func(s *api.Status) { s.Healthy, s.Index.Problem, s.Index.Degraded = false, "no room", true },
			[]string{"problem|no room|memwatchd rebuild"}},
		{"index building", func(s *api.Status) { s.Index = api.IndexStatus{Degraded: true, Done: 3, Total: 9} },
			[]string{"note|3 of 9 files"}},
		{"no journal", func(s *api.Status) { s.Healthy, s.Write.Problem = false, "no journal" },
			[]string{"problem|cannot write to any file: no journal|Restart"}},
		{"cannot write", func(s *api.Status) { s.Write.Problem = "disk full" }, []string{"warning|disk full"}},
		{"polled", func(s *api.Status) { s.Watch.Problem = "too few" }, []string{"warning|too few|polls"}},
		{"files", func(s *api.Status) {
			s.Write.Refused = []api.Skipped{{Path: "a.md", Reason: "read-only"}}
		}, []string{"warning|a.md (read-only)|status --verbose"}},
		{"tasks", func(s *api.Status) { s.Todosync = &api.TodosyncStatus{Problem: "damaged", Unclear: 2} },
			[]string{"warning|damaged"}},
		{"compactor", func(s *api.Status) {
			s.Compactor = &api.CompactorStatus{Passive: true, Host: "attic", Problem: "disk full",
				NearLimit: []api.NearLimit{{Path: "x.md", Share: 0.9}, {Path: "y.md", Share: 1.2}}}
		}, []string{"warning|disk full|compact --dry-run", "warning|: y.md (120 %)"}},
		{"model", func(s *api.Status) { s.LLM = &api.ModelStatus{Requests: 3, Failed: 2, Failure: "too slow"} },
			[]string{"warning|2 of 3, the last with: too slow|rules"}},
		{"model works", func(s *api.Status) { s.LLM = &api.ModelStatus{Requests: 3} }, []string{"ok|"}},
		{"endpoint fails", func(s *api.Status) { s.Embed = &api.EmbedStatus{LastError: "connection refused"} },
			[]string{"warning|connection refused|search.md"}},
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
			at("d.md", 4, "frontmatter_broken"), at("x", 0, "subject_conflict"), at("", 0, "journal_damaged"), at("f", 0, "conflict_copies")},
		Skipped: []api.Skipped{{Path: ".e.md", Reason: "hidden file"}},
	}, typed)
	compareFindings(t, list, []string{
		"problem|in 1 place: f|conflicts merge",
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
	slow := &examination{status: &api.Status{}, checkErr: context.DeadlineExceeded}
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

// TestTimeLimit runs an inspection that hangs beside another.
func TestTimeLimit(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	got := new(examination).runInspections(ctx, []inspection{
		{memoryGroup, "directory", false, func(*examination) findings { <-hung; return nil }},
		{memoryGroup, "other", true,
			func(*examination) findings { panic("it needs a configuration") }},
	})
	compareFindings(t, got, []string{`warning|"directory" did not finish|Run the command again`})
	if got[0].Group != memoryGroup || got[0].Name != "directory" {
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

// TestPrint prints findings by group.
func TestPrint(t *testing.T) {
	list := findings{
		{Group: "Daemon", Name: "process", Text: "process 7 answers"},
		{Group: "Daemon", Name: "health", Severity: problem,
			Text:    "the disk is full, and the daemon cannot write files there until there is room again",
			Advice:  "make room",
			Command: "rm -r /tmp/a-file-with-a-name-that-is-longer-than-a-line-of-the-terminal"},
		{Group: "Files", Name: "check", Severity: note, Text: "a\x1b[31m.md"},
	}
	var b bytes.Buffer
	testkit.Must(t, printFindings(&b, 60, new(cli.Printer), list))
	want := `Daemon
  ok       process 7 answers
  problem  the disk is full, and the daemon cannot write
           files there until there is room again
           make room
           rm -r /tmp/a-file-with-a-name-that-is-longer-than-a-line-of-the-terminal

Files
  note     a\x1b[31m.md

1 problem, 0 warnings, 1 note, 1 ok
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
