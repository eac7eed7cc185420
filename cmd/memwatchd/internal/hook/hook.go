// Package hook implements the commands that agents run at events of a session:
// they print memory for the session, or save statements from it. NewCommand
// returns these commands; Events lists the events.
//
// An agent waits for a hook to end. Therefore a hook ends within TimeLimit for any
// input and any state of the daemon, except that a hook that saves text waits longer
// for its input and first writes the text to the spool on the disk, and that the start
// of a session waits longer for a daemon that starts or is slow. It exits with status 0, because agents show other statuses to people and stop
// at status 2. It prints either its complete output or nothing. --debug also
// prints the reason for no output; an empty memory at the start of a session is
// always explained.
package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/panics"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// TimeLimit bounds the time of a hook from the start of its command. Including
// the start and the end of the process, which need 13 ms of a processor, a hook takes less
// than 300 ms unless the processors are overloaded.
var TimeLimit = 200 * time.Millisecond

// Multiples of TimeLimit.
const (
	// deliveryLimits bound the time in which a hook at the end of a conversation
	// delivers the spool, and in which a hook that saves text has read its input: two
	// seconds. Agents allow at least three for such a hook.
	deliveryLimits = 10
	// startLimits bound the start of a session, which happens once and needs its memory on
	// a busy machine, too. One of them remains for the request to a daemon that it starts.
	startLimits = 6
)

// maxHookInput bounds the input of a hook, in bytes. People type and paste
// less.
const maxHookInput = 4 << 20

// An Event is an event of a session with a hook.
type Event struct {
	Name  string // of the command
	short string
	long  string
	try   string // example input
	run   func(context.Context, *hook) error

	saves  bool          // saves text, of which nothing may be lost on a busy machine
	limits time.Duration // bound of the time of the requests, in TimeLimits; 0 is 1
}

// Events are the events with a hook, in their order.
var Events = []Event{
	{
		Name: "session-start", short: "Print the memory block for the start of a session",
		run: printSessionContext, limits: startLimits,
		long: "The block is printed when a session starts, is cleared or is compacted, and when a session is resumed " +
			"that has none. A subagent gets a short block.",
		try: `{"source": "startup"}`,
	}, {
		Name: "prompt", short: "Print the entries that match a prompt", run: printRelevant,
		long: "Most prompts match nothing in memory (\"run the tests again\"); nothing is printed for them. Of a " +
			"long prompt, the beginning and the end are used, without code. The word #nomemory in a prompt turns this " +
			"off for the prompt.",
		try: `{"prompt": "why did the deployment fail?"}`,
	}, {
		Name: "pre-compact", short: "Save the essence of a conversation before it is compacted",
		run: saveConversation, saves: true, limits: deliveryLimits,
		long: statementsHelp, try: `{"transcript_path": "~/session.jsonl"}`,
	}, {
		Name: "stop", short: "Save the result of an answer, if hooks.store_responses is true",
		run: saveAnswer, saves: true,
		long: "The capture is one to three lines of the answer, or a summary by the model of llm.endpoint, which " +
			"the daemon requests after the hook has returned.",
		try: `{"last_assistant_message": "Fixed the login."}`,
	}, {
		Name: "session-end", short: "Save the essence of a conversation when it ends",
		run: saveConversation, saves: true, limits: deliveryLimits,
		long: statementsHelp, try: `{"transcript_path": "~/session.jsonl"}`,
	},
}

const statementsHelp = "Requests to remember, decisions, constraints, preferences and contacts are saved: at most " +
	"ten lines, verbatim, from the end " +
	"of the conversation. They are appended to the log of the day, private, each once. Code, tool output, other " +
	"agents and " +
	"credentials are omitted.\n\n" +
	"The file of the session gets the decisions, the agent's own to-do list and, if it has no summary, the beginning " +
	"of the first prompt. It is private."

// NewCommand returns the hook command with one subcommand per event.
func NewCommand(g *cli.Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "hook",
		Short: "Connect the memory to the sessions of an agent",
		Long: `Connect the memory to the sessions of an agent.

Agents run these commands with JSON on standard input, as their settings say. The commands exit with 0. prompt takes less than 300 ms unless the processors are overloaded. session-start starts a daemon if none answers, and takes at most 1.2 seconds. The other commands first write their text to the disk, in a spool; if no daemon answers, a later hook saves the text. A daemon that does not answer is reported once per session on standard error.`,
		GroupID:     "agents",
		Args:        cli.OnlyCommands,
		Annotations: map[string]string{cli.NeverFails: ""},
		RunE:        cli.ShowHelp,
	}
	for _, e := range Events {
		h := &hook{g: g, command: e.Name, saves: e.saves}
		sub := &cobra.Command{
			Use: e.Name, Short: e.short, Long: e.short + ".\n\n" + e.long,
			Example: "  memwatchd hook " + e.Name + " --debug <<<'" + e.try + "'",
			Args:    cli.NoArgs, Annotations: maps.Clone(c.Annotations),
			Run: func(cmd *cobra.Command, _ []string) { h.runAction(cmd, max(e.limits, 1)*TimeLimit, e.run) },
		}
		sub.Flags().StringVar(&h.agentName, "agent", "claude-code",
			"agent that runs the hook: "+strings.Join(agents.HookNames(), ", "))
		g.CompleteFlag(sub, "agent", cli.CompleteWords(agents.HookNames()...))
		sub.Flags().BoolVar(&h.debug, "debug", false, "print to standard error why nothing was printed or saved")
		c.AddCommand(cli.AcceptGlobals(sub, cli.CallerFlags))
	}
	setup.AddInstall(c, g, agents.Hooks)
	return cli.AcceptGlobals(c)
}

type hook struct {
	g         *cli.Globals
	command   string
	agent     agents.Agent
	agentName string
	debug     bool
	saves     bool // saves text

	config *config.Config
	client *client.Client
	input  hookInput
	limit  *time.Timer // ends the process, unless it is printing or has text to save
}

// hookInput holds the fields of the agent's input that hooks use.
type hookInput struct {
	Event      string `json:"hook_event_name"`
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Dir        string `json:"cwd"`

	Source  string     `json:"source"`                 // SessionStart: startup, resume, clear, compact or fork
	Prompt  promptText `json:"prompt"`                 // UserPromptSubmit
	Active  bool       `json:"stop_hook_active"`       // Stop: a hook made the agent continue
	Message string     `json:"last_assistant_message"` // Stop
	Answer  string     `json:"prompt_response"`        // the same, of Gemini CLI

	Conversation string         `json:"conversation_id"` // the session, of Cursor
	Dirs         []string       `json:"workspace_roots"` // the directories, of Cursor
	Extra        map[string]any `json:"extra"`           // fields of the event, of Hermes Agent
}

// A promptText is the text of a prompt, a string or, of Kimi, a list of parts with text.
type promptText string

// UnmarshalJSON implements [json.Unmarshaler].
func (p *promptText) UnmarshalJSON(data []byte) error {
	var parts []struct{ Text string }
	err := json.Unmarshal(data, (*string)(p))
	if err != nil {
		err = json.Unmarshal(data, &parts)
	}
	for _, part := range parts {
		*p += promptText(part.Text + "\n")
	}
	return err
}

// runAction executes the action of a hook, whose requests take at most the given time.
// A hook that waits longer to print, or for its input, ends the process with status 0; one
// that saves text has deliveryLimits for its input.
func (h *hook) runAction(cmd *cobra.Command, limit time.Duration, do func(context.Context, *hook) error) {
	if term.IsTerminal(cmd.InOrStdin()) {
		fmt.Fprintf(h.g.Stderr,
			"%s is run by agents with JSON on standard input: run `memwatchd hook install` to add it to their settings\n", cmd.CommandPath())
		return
	}
	signal.Ignore(syscall.SIGPIPE) // the agent may have closed the pipe
	inputLimit := limit
	if h.saves {
		inputLimit = deliveryLimits * TimeLimit
	}
	h.limit = time.AfterFunc(inputLimit, func() {
		h.logDebug(errors.New("time limit reached"))
		os.Exit(0)
	})
	defer func() {
		if r := recover(); r != nil { // a panic would exit with status 2
			h.logDebug(errors.New(panics.Describe(r)))
		}
	}()
	started := time.Now()
	err := h.prepare(cmd)
	// A wrong configuration is reported once, wrong usage each time.
	_, wrong := errors.AsType[cli.UsageError](err)
	if wrong && !h.debug && (h.config != nil || h.command == "session-start") {
		h.log(err)
	}
	if err == nil {
		h.reportWarning()
		h.startDaemon(cmd.Context())
		if !h.saves {
			limit -= TimeLimit / 8 // remains to print what there is without an answer
		}
		ctx, cancel := context.WithDeadline(cmd.Context(), started.Add(limit))
		defer cancel()
		err = do(ctx, h)
		h.reportDaemon(err)
	}
	h.logDebug(err)
}

// startDaemon starts the daemon for the start of a session if none answers.
func (h *hook) startDaemon(ctx context.Context) {
	if h.client.Start == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, (startLimits-1)*TimeLimit)
	defer cancel()
	err := h.client.Start(ctx)
	h.client.Start = func(context.Context) error { return err } // the reason that the request reports
}

// reportDaemon reports a daemon that is not running or is older than the program, each once
// per session.
func (h *hook) reportDaemon(err error) {
	for _, reason := range []error{client.ErrNoDaemon, client.ErrOlder} {
		if !h.debug && errors.Is(err, reason) && spoolOf(h.client).reportOnce(h.input.Session+"\x00"+reason.Error()) {
			h.log(err)
		}
	}
}

// reportWarning reports the warning about the environment of the agent, which
// the daemon does not have.
func (h *hook) reportWarning() {
	if w := h.config.Warning; w != "" && (h.debug || spoolOf(h.client).reportOnce("\x00"+w)) {
		h.log(errors.New(w))
	}
}

// project returns the project of the directory in which the agent works, or "".
func (h *hook) project() string { return h.config.Project(h.input.Dir) }

// prepare loads the configuration and reads the input. It returns an error if
// there is nothing to do.
func (h *hook) prepare(cmd *cobra.Command) (err error) {
	connect := h.g.Connect
	if h.command == "session-start" {
		connect = h.g.ConnectOrStart
	}
	h.config, h.client, err = connect(cmd)
	if err != nil {
		h.config = nil
		return err
	}
	switch c := h.config; {
	case !c.Memory.Enabled:
		return errors.New("memory.enabled is false")
	case !c.Hooks.Enabled:
		return errors.New("hooks.enabled is false")
	}
	h.input, err = readHookInput(cmd.InOrStdin())
	if err != nil {
		return err
	}
	if h.saves {
		h.limit.Stop()
	}
	if err := config.CheckOneOf(h.agentName, agents.HookNames()); err != nil {
		return cli.Usagef("--agent: %w", err)
	}
	h.client.Program = api.NewProgram("hook:"+h.agentName, h.input.Session)
	h.client.Older = func(err error) {
		h.reportDaemon(err)
		h.logDebug(err)
	}
	h.agent, _ = agents.Named(h.agentName)
	events := h.agent.HookEvents(h.command)
	accepted := func(name string) bool { return bareName(name) == bareName(h.input.Event) }
	if h.input.Event != "" && !slices.ContainsFunc(append(events, h.command), accepted) {
		return cli.Usagef("the hook is for %s, but the event is %s", strings.Join(events, " and "), h.input.Event)
	}
	return nil
}

// bareName returns the letters of the name of an event, which programs write as
// PreCompact, preCompact, pre-compact or pre_compact.
func bareName(event string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(event))
}

// readHookInput reads one JSON object and ignores the data after it, because
// the agent may keep its output open. It skips fields of an unexpected type, and a byte order
// mark, which Windows programs write.
func readHookInput(r io.Reader) (in hookInput, err error) {
	r = transform.NewReader(io.LimitReader(r, maxHookInput), unicode.BOMOverride(transform.Nop))
	err = json.NewDecoder(r).Decode(&in)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mistyped.Field != "" {
		err = nil
	}
	if err != nil {
		return in, fmt.Errorf("standard input is not a valid hook event: %w", err)
	}
	in.Session = cmp.Or(in.Session, in.Conversation)
	working, _ := os.Getwd() // the agent runs the hook in its directory
	in.Dir = cmp.Or(in.Dir, append(in.Dirs, working)[0])
	if message, ok := in.Extra["user_message"].(string); ok {
		in.Prompt = promptText(message)
	}
	if secrets.MatchingID(in.Session) != "" { // neither the spool nor the memory may contain it
		sum := sha256.Sum256([]byte(in.Session))
		in.Session = "hook-" + hex.EncodeToString(sum[:8])
	}
	if secrets.MatchingRule(in.Dir) != "" {
		in.Dir = ""
	}
	return in, nil
}

// logDebug prints the reason for missing output if --debug is set.
func (h *hook) logDebug(err error) {
	if h.debug && err != nil {
		h.log(err)
	}
}

// log prints a message to standard error, which agents do not show to the model.
func (h *hook) log(err error) {
	fmt.Fprintf(h.g.Stderr, "memwatchd hook %s: %s\n", h.command, term.EscapeLine(err.Error()))
}
