package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestJudgements compares findings for states that not every machine can produce. A wanted
// finding is the mark, and parts of the text, advice or command.
func TestJudgements(t *testing.T) {
	agent := func(name, program string, parts ...agents.Component) agents.Finding {
		a, _ := agents.Named(name)
		f := agents.Finding{Agent: a}
		for _, p := range parts {
			f.Installations = append(f.Installations,
				agents.Installation{Component: p, File: "/h/s", Command: agents.Command{program}})
		}
		return f
	}
	broken := agent("zed", "")
	broken.Faults = []agents.Fault{{File: "/h/s", Err: errors.New("3:1: no value")}}
	exposed := config.Default()
	exposed.Embed.Endpoint, exposed.File = "http://models.example.org/v1", os.DevNull
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
		{"process: error", inspectProcess(&examination{statusErr: errors.New("connection reset")}),
			[]string{"problem|failed: connection reset"}},
		{"config", inspectConfig(&examination{config: exposed}),
			[]string{"warning|Other users can write|chmod go-w", "warning|models.example.org are not encrypted|embed.endpoint"}},
		{"agent: has nothing", agentFindings(agent("claude-code", ""), typed),
			[]string{"note|Claude Code does not have the tools|memwatchd mcp install --agent claude-code",
				"note|hooks|memwatchd hook install --agent claude-code"}},
		{"agent: has both", agentFindings(agent("claude-code", "sh", agents.MCP, agents.Hooks), typed),
			[]string{"ok|Claude Code has the tools", "ok|Claude Code has the hooks"}},
		{"agent: no program", agentFindings(agent("zed", "/none/memwatchd", agents.MCP), typed),
			[]string{"warning|starts /none/memwatchd, which does not exist|memwatchd mcp install --agent zed"}},
		{"agent: broken settings", agentFindings(broken, typed), []string{"warning|/h/s: 3:1: no value|Correct the file"}},
	} {
		t.Run(c.name, func(t *testing.T) { compareFindings(t, c.got, c.want) })
	}
}

// TestPermissions checks that the permissions of the directories above count, too.
func TestPermissions(t *testing.T) {
	above := t.TempDir()
	if !isReachable(filepath.Dir(above)) {
		t.Skip("temporary directories are private")
	}
	e := &examination{config: config.Default()}
	e.config.Memory.Dir = filepath.Join(above, "memory")
	testkit.Must(t, os.Mkdir(e.config.Memory.Dir, 0o755))
	testkit.Must(t, os.Chmod(above, 0o755))
	compareFindings(t, inspectDirectory(e), []string{"warning|All users|read|chmod go-rwx"})
	testkit.Must(t, os.Chmod(above, 0o700))
	compareFindings(t, inspectDirectory(e), []string{"ok|is private"})
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
		if string(f.Severity) != parts[0] {
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
		{"parts", func(s *api.Status) {
			s.Write.Refused = []api.Skipped{{Path: "a.md", Reason: "read-only"}}
			s.Todosync, s.Compactor = &api.TodosyncStatus{Problem: "damaged"}, &api.CompactorStatus{Problem: "too full"}
			s.LLM, s.Embed = &api.ModelStatus{Failure: "too slow"}, &api.EmbedStatus{LastError: "refused"}
			s.Topic, s.Share = &api.TopicStatus{Server: "ntfy.sh"}, &api.ShareStatus{Refused: 2}
		}, []string{"warning|1 file|status", "warning|damaged", "warning|too full|compact --dry-run",
			"warning|too slow|rules", "warning|refused|search.md", "warning|no connection to ntfy.sh", "warning|refuses 2 entries"}},
		{"parts work", func(s *api.Status) {
			s.LLM, s.Embed = &api.ModelStatus{Requests: 3}, &api.EmbedStatus{Dimensions: 768}
			s.Topic, s.Share = &api.TopicStatus{Connected: true}, &api.ShareStatus{State: "publishing"}
		}, []string{"ok|"}},
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

// TestPrint prints findings by group.
func TestPrint(t *testing.T) {
	list := findings{
		{Group: "Daemon", Name: "process", Severity: passed, Text: "process 7 answers"},
		{Group: "Daemon", Name: "health", Severity: problem,
			Text: "the disk is full", Advice: "make room", Command: "rm -r /tmp/a"},
		{Group: "Files", Name: "check", Severity: note, Text: "a\x1b[31m.md"},
	}
	var b bytes.Buffer
	testkit.Must(t, printFindings(&b, new(cli.Printer), list))
	want := `Daemon
  ok       process 7 answers
  problem  the disk is full
           make room
           rm -r /tmp/a

Files
  note     a\x1b[31m.md

1 problem, 0 warnings, 1 note, 1 ok
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
