// Package doctor implements the command doctor. It shows the results of status
// and check with advice, and inspects the configuration, the memory directory
// and the installation, which the daemon does not report. It changes nothing, and
// prints no text of memory.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// A severity ranks a finding.
type severity int

const (
	passed  severity = iota
	note             // for information
	warning          // may lead to a problem
	problem          // keeps the memory from working
)

var severityNames = [...]string{"ok", "note", "warning", "problem"}

func (m severity) String() string { return severityNames[m] }

// MarshalText implements [encoding.TextMarshaler].
func (m severity) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// A finding is one result of an inspection. It contains no text of memory.
type finding struct {
	Group    string   `json:"group"` // of the inspection
	Name     string   `json:"name"`  // of the inspection
	Severity severity `json:"mark"`
	Text     string   `json:"text"`
	Advice   string   `json:"advice,omitempty"`  // the suggested action
	Command  string   `json:"command,omitempty"` // for a shell
}

// findings are the results of an inspection. The caller of the inspection sets
// group and name.
type findings []finding

func (l *findings) add(m severity, advice, command, format string, args ...any) {
	*l = append(*l, finding{Severity: m, Text: fmt.Sprintf(format, args...), Advice: advice, Command: command})
}

// orPassed returns l, or one finding without a fault if l is empty.
func (l findings) orPassed(format string, args ...any) findings {
	if len(l) == 0 {
		l.add(passed, "", "", format, args...)
	}
	return l
}

// An inspection examines one subject. It may run longer than the caller waits.
type inspection struct {
	group, name string
	configured  bool // it needs a valid configuration
	inspect     func(*examination) findings
}

// The groups in the order of the output.
const (
	daemonGroup  = "Daemon"
	configGroup  = "Configuration"
	memoryGroup  = "Memory directory"
	installGroup = "Installation"
)

// inspections lists all inspections in the order of the output.
var inspections = []inspection{
	{daemonGroup, "process", false, inspectProcess},
	{daemonGroup, "status", false, inspectStatus},
	{daemonGroup, "check", false, inspectCheck},
	{daemonGroup, "locks", true, inspectLocks},
	{configGroup, "configuration", false, inspectConfig},
	{configGroup, "in effect", true, inspectLoadedConfig},
	{memoryGroup, "directory", true, inspectDirectory},
	{installGroup, "program", false, inspectProgram},
	{installGroup, "service", true, inspectService},
	{installGroup, "agents", false, inspectAgents},
}

// Time limits of requests to the daemon and of each inspection.
const (
	statusTime     = 10 * time.Second
	checkTime      = 30 * time.Second
	inspectionTime = 5 * time.Second
)

// An examination contains the input of the inspections. They only read it,
// since an inspection may still run after its time limit.
type examination struct {
	flags     config.Flags
	environ   []string
	config    *config.Config // nil if it is not valid
	configErr error
	socket    string
	starts    bool // other commands start a daemon

	answered  bool        // the daemon answered
	status    *api.Status // nil if it did not, or on the socket of an agent
	statusErr error
	check     *api.CheckAnswer
	checkErr  error
}

// NewCommand returns the command doctor.
func NewCommand(g *cli.Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems of the daemon and the machine, with advice",
		Long: "Inspect the daemon, the configuration, the memory directory, the machine and the installation, " +
			"and print findings with advice. The command changes nothing and prints no text of memory. " +
			"Without a daemon it omits the reports of the daemon.\n\n" +
			"A problem keeps the memory from working, a warning may lead to a problem, and a note is for " +
			"information. " +
			"The exit code is 3 if there is a problem.",
		Example: "  memwatchd doctor\n  memwatchd doctor --json | jq '.findings[] | select(.mark == \"problem\")'",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := newExamination(cmd.Context(), g)
			list := e.runInspections(cmd.Context(), inspections)
			healthy := !slices.ContainsFunc(list, func(f finding) bool { return f.Severity == problem })
			var err error
			if g.JSON {
				_, err = g.Stdout.Write(cli.AsJSON(struct {
					Findings findings `json:"findings"`
					Healthy  bool     `json:"healthy"`
				}{list, healthy}))
			} else {
				c := cmp.Or(e.config, config.Default())
				err = printFindings(g.Stdout, term.Width(g.Stdout), cli.NewPrinter(g.Stdout, g.Stderr, c, g.NoColor), list)
			}
			if err == nil && !healthy {
				err = cli.ErrUnhealthy
			}
			return err
		},
	}
	return cli.AcceptGlobals(c, cli.DaemonFlags, cli.OutputFlags)
}

// newExamination loads the configuration, and requests status and check from the
// daemon.
func newExamination(ctx context.Context, g *cli.Globals) *examination {
	e := &examination{flags: g.Config, environ: os.Environ()}
	e.config, e.configErr = config.Load(g.Config, e.environ)
	e.socket = cmp.Or(g.Socket, client.DefaultSocket(g.Config.Name))
	if e.config != nil {
		e.socket, e.starts = g.SocketOf(e.config), g.StartsDaemon(e.config)
	}
	e.requestReports(ctx)
	return e
}

// requestReports requests status and check from the daemon.
func (e *examination) requestReports(ctx context.Context) {
	daemon := &client.Client{Socket: e.socket, AsOwner: true}
	if e.config != nil {
		daemon.ServerUIDs = e.config.IPC.ServerUIDs
	}
	limited, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	answer, err := client.Call(limited, daemon, api.StatusRequest{})
	if err != nil {
		e.statusErr = err
		return
	}
	e.answered, e.status = true, answer.Status
	if e.status == nil {
		return // the socket of an agent, which refuses check as well
	}
	e.status.Healthy = answer.Healthy
	limited, cancel = context.WithTimeout(ctx, checkTime)
	defer cancel()
	e.check, e.checkErr = client.Call(limited, daemon, api.CheckRequest{})
}

// runInspections runs inspections concurrently and returns their findings in order.
// It abandons an inspection that hangs, for example on a dead disk.
func (e *examination) runInspections(ctx context.Context, inspections []inspection) (list findings) {
	ctx, cancel := context.WithTimeout(ctx, inspectionTime)
	defer cancel()
	done := make([]chan findings, len(inspections))
	for i, p := range inspections {
		done[i] = make(chan findings, 1)
		if p.configured && e.config == nil {
			done[i] <- nil // inspectConfig reports it
			continue
		}
		go func() { done[i] <- p.inspect(e) }()
	}
	for i, p := range inspections {
		var found findings
		select {
		case found = <-done[i]:
		case <-ctx.Done():
			select {
			case found = <-done[i]:
			default:
				found.add(warning, "A disk or a service does not answer. Run the command again.", "",
					"The inspection %q did not finish.", p.name)
			}
		}
		for j := range found {
			found[j].Group, found[j].Name = p.group, p.name
		}
		list = append(list, found...)
	}
	return list
}

// printFindings prints findings by group, and their numbers.
func printFindings(w io.Writer, width int, p *cli.Printer, list findings) error {
	var b strings.Builder
	var counts [len(severityNames)]int
	for i, f := range list {
		if i == 0 || f.Group != list[i-1].Group {
			fmt.Fprintln(&b, strings.Repeat("\n", min(i, 1))+p.Style(term.AsTitle, f.Group))
		}
		counts[f.Severity]++
		printFinding(&b, p, width, f)
	}
	fmt.Fprintf(&b, "\n%s, %s, %s, %d ok\n", api.Plural(counts[problem], "problem"),
		api.Plural(counts[warning], "warning"), api.Plural(counts[note], "note"), counts[passed])
	_, err := io.WriteString(w, b.String())
	return err
}

const findingIndent = "           "

func printFinding(b *strings.Builder, p *cli.Printer, width int, f finding) {
	style := [...]term.Style{passed: term.AsGood, note: term.AsMuted, warning: term.AsChanged,
		problem: term.AsBad}[f.Severity]
	fmt.Fprintf(b, "  %s  %s\n", p.Style(style, fmt.Sprintf("%-7s", f.Severity)),
		term.Wrap(term.EscapeLine(f.Text), width, findingIndent))
	if f.Advice != "" {
		fmt.Fprintln(b, findingIndent+term.Wrap(term.EscapeLine(f.Advice), width, findingIndent))
	}
	if f.Command != "" { // in one line, to be copied
		fmt.Fprintln(b, findingIndent+p.Style(term.AsTitle, term.EscapeLine(f.Command)))
	}
}
