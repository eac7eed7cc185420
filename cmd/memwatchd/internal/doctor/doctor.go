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
type severity string

const (
	passed  severity = "ok"
	note    severity = "note"    // for information
	warning severity = "warning" // may lead to a problem
	problem severity = "problem" // keeps the memory from working
)

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

// An inspection examines one subject.
type inspection struct {
	group, name string
	configured  bool // it needs a valid configuration
	inspect     func(*examination) findings
}

// inspections lists all inspections in the order of the output, those of a group together.
var inspections = []inspection{
	{"Daemon", "process", false, inspectProcess},
	{"Daemon", "status", false, inspectStatus},
	{"Daemon", "check", false, inspectCheck},
	{"Daemon", "locks", true, inspectLocks},
	{"Configuration", "configuration", false, inspectConfig},
	{"Memory directory", "directory", true, inspectDirectory},
	{"Installation", "program", false, inspectProgram},
	{"Installation", "agents", false, inspectAgents},
}

// Time limits of requests to the daemon.
const (
	statusTime = 10 * time.Second
	checkTime  = 30 * time.Second
)

// An examination contains the input of the inspections.
type examination struct {
	flags     config.Flags
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
		Long: "Inspect the daemon, the configuration, the memory directory and the installation, " +
			"and print findings with advice. The command changes nothing and prints no text of memory. " +
			"Without a daemon it omits the reports of the daemon.\n\n" +
			"A problem keeps the memory from working, a warning may lead to a problem, and a note is for " +
			"information. " +
			"The exit code is 3 if there is a problem.",
		Example: "  memwatchd doctor\n  memwatchd doctor --json | jq '.findings[] | select(.mark == \"problem\")'",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := newExamination(cmd.Context(), g)
			list := e.runInspections()
			healthy := !slices.ContainsFunc(list, func(f finding) bool { return f.Severity == problem })
			var err error
			if g.JSON {
				_, err = g.Stdout.Write(cli.AsJSON(struct {
					Findings findings `json:"findings"`
					Healthy  bool     `json:"healthy"`
				}{list, healthy}))
			} else {
				c := cmp.Or(e.config, config.Default())
				err = printFindings(g.Stdout, cli.NewPrinter(g.Stdout, g.Stderr, c, g.NoColor), list)
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
	e := &examination{flags: g.Config, socket: cmp.Or(g.Socket, client.DefaultSocket(g.Config.Name))}
	daemon := &client.Client{AsOwner: true}
	e.config, e.configErr = config.Load(g.Config, os.Environ())
	if e.config != nil {
		e.socket, e.starts = g.SocketOf(e.config), g.StartsDaemon(e.config)
		daemon.ServerUIDs = e.config.IPC.ServerUIDs
	}
	daemon.Socket = e.socket
	limited, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	answer, err := client.Call(limited, daemon, api.StatusRequest{})
	if err != nil {
		e.statusErr = err
		return e
	}
	e.answered, e.status = true, answer.Status
	if e.status == nil {
		return e // the socket of an agent, which refuses check as well
	}
	e.status.Healthy = answer.Healthy
	limited, cancel = context.WithTimeout(ctx, checkTime)
	defer cancel()
	e.check, e.checkErr = client.Call(limited, daemon, api.CheckRequest{})
	return e
}

// runInspections returns the findings of all inspections.
func (e *examination) runInspections() (list findings) {
	for _, p := range inspections {
		if p.configured && e.config == nil {
			continue // inspectConfig reports it
		}
		for _, f := range p.inspect(e) {
			f.Group, f.Name = p.group, p.name
			list = append(list, f)
		}
	}
	return list
}

// printFindings prints findings by group, and their numbers.
func printFindings(w io.Writer, p *cli.Printer, list findings) error {
	const indent = "           "
	styles := map[severity]term.Style{passed: term.AsGood, note: term.AsMuted, warning: term.AsChanged,
		problem: term.AsBad}
	var b strings.Builder
	counts := map[severity]int{}
	for i, f := range list {
		if i == 0 || f.Group != list[i-1].Group {
			fmt.Fprintln(&b, strings.Repeat("\n", min(i, 1))+p.Style(term.AsTitle, f.Group))
		}
		counts[f.Severity]++
		fmt.Fprintf(&b, "  %s  %s\n", p.Style(styles[f.Severity], fmt.Sprintf("%-7s", f.Severity)),
			term.EscapeLine(f.Text))
		if f.Advice != "" {
			fmt.Fprintln(&b, indent+term.EscapeLine(f.Advice))
		}
		if f.Command != "" { // in one line, to be copied
			fmt.Fprintln(&b, indent+p.Style(term.AsTitle, term.EscapeLine(f.Command)))
		}
	}
	fmt.Fprintf(&b, "\n%s, %s, %s, %d ok\n", api.Plural(counts[problem], "problem"),
		api.Plural(counts[warning], "warning"), api.Plural(counts[note], "note"), counts[passed])
	_, err := io.WriteString(w, b.String())
	return err
}
