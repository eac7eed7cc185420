package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// addOperations adds a command for each command of each operation. It omits those that
// the command line does not need, which takes two milliseconds.
func addOperations(root *cobra.Command, g *Globals) {
	words, ok := skipGlobals(root, g.Args)
	only := ""
	if ok && len(words) > 0 {
		only = words[0]
	}
	isOther := slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == only })
	if isOther && only != "completion" || slices.Equal(g.Args, []string{"--version"}) {
		return
	}
	if !slices.ContainsFunc(api.Operations, func(op *api.Operation) bool {
		return slices.ContainsFunc(op.Commands, func(c api.Command) bool { return strings.Fields(c.Words)[0] == only })
	}) {
		only = ""
	}
	for _, op := range api.Operations {
		for i := range op.Commands {
			parent := root
			words := strings.Fields(op.Commands[i].Words)
			if only != "" && words[0] != only {
				continue
			}
			for _, w := range words[:len(words)-1] {
				parent = ensureGroup(parent, w)
			}
			c := newOperationCommand(op, &op.Commands[i], words[len(words)-1], g)
			if parent == root {
				c.GroupID = "ask"
			}
			parent.AddCommand(c)
			if op.Name == "todos" { // what the group runs
				parent.Flags().AddFlagSet(c.LocalNonPersistentFlags())
			}
		}
	}
}

// skipGlobals returns a command line from its first word after flags on. It reports
// false if one of these flags is not global; such a flag counts as one without a value.
func skipGlobals(root *cobra.Command, args []string) (words []string, ok bool) {
	ok = true
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, _, hasValue := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		f := root.PersistentFlags().Lookup(name)
		ok = ok && f != nil
		args = args[1:]
		if len(args) > 0 && f != nil && f.NoOptDefVal == "" && !hasValue {
			args = args[1:]
		}
	}
	return args, ok
}

// groupSummaries describe the commands that have subcommands.
var groupSummaries = map[string]string{
	"conflicts": "List and merge the conflict copies that sync tools left",
	"identity":  "Link external keys to accounts",
	"import":    "Import the data of other programs",
	"item":      "Save, show and delete items by key",
	"session":   "Write session summaries",
	"share":     "Publish entries to a store that several machines share",
	"todo":      "List, add, complete and reopen tasks",
}

// ensureGroup returns the subcommand of parent with that name. It creates a command
// that only has subcommands if there is none.
func ensureGroup(parent *cobra.Command, name string) *cobra.Command {
	if c := findSubcommand(parent, name); c != nil {
		return c
	}
	c := &cobra.Command{
		Use: name, Short: groupSummaries[name], GroupID: "ask", Args: OnlyCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list := findSubcommand(cmd, "list"); name == "todo" && list != nil {
				return list.RunE(cmd, args) // with the global flags of cmd
			}
			return ShowHelp(cmd, args)
		},
	}
	parent.AddCommand(c)
	return c
}

// newOperationCommand returns a command of an operation, with positional arguments
// and flags from the parameters of the request.
func newOperationCommand(op *api.Operation, form *api.Command, name string, g *Globals) *cobra.Command {
	req := op.NewClientRequest()
	c := &cobra.Command{
		Use:   strings.Join(append([]string{name}, usageArguments(op, form)...), " "),
		Short: form.Summary,
		Long:  longHelp(op, form),
		Args: func(cmd *cobra.Command, args []string) error {
			return setArguments(op, form, req, args, cmd.InOrStdin())
		},
	}
	run := func(a *invocation, _ []string) error { return a.runPlain(form) }
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		return run(a, args)
	}
	switch op.Name {
	case "forget":
		run = addForgetSteps(c)
	case "compact", "compress", "conflicts_merge", "undo", "wipe_subject":
		run = addPlanSteps(c)
	case "import":
		run = addImport(c, form)
	case "export":
		run = addExport(c, g)
	case "status":
		run = addStatus(c)
	case "search":
		run = addFind(c, run)
		for _, name := range []string{"files", "vimgrep", "quiet"} {
			rejectTogether(c, "explain", name)
		}
	case "journal":
		c.Flags().BoolVar(&g.oneline, "oneline", false, "show one line for each change")
		for _, name := range []string{"json", "files", "format"} {
			rejectTogether(c, "oneline", name)
		}
	}
	addOutputFlags(c, form.Words, &g.output)
	if form.Example != "" {
		c.Example = "  memwatchd " + form.Words + " " + form.Example
	}
	for _, p := range op.Params() {
		if value, ok := form.Set[p.Name]; ok {
			if err := req.Set(p, value); err != nil {
				panic(fmt.Sprintf("command %s: %v", form.Words, err)) // a mistake in the table; every test would fail
			}
		}
		if !form.TakesParam(p) || p.Arg != "" || p.Scope && (p.Name == "subject" || p.Name == "context") {
			continue // a positional argument or a global flag
		}
		v := &paramFlag{param: p, req: req, stdin: c.InOrStdin}
		f := c.Flags().VarPF(v, p.Flag, api.TextIf(p.Name == "limit", "n"), describeParam(p))
		f.NoOptDefVal = p.Bare
		g.CompleteFlag(c, f.Name, completeFlag(p, req, g))
	}
	c.ValidArgsFunction = completeArguments(op, form, req, g)
	if p, err := op.Param("external_key"); err == nil && !p.Scope { // the key is the subject
		AcceptGlobals(c, DaemonFlags, []string{"context"}, OutputFlags)
	}
	return c
}

type paramFlag struct {
	param *api.Param
	req   *api.Request
	stdin func() io.Reader
	text  []string
}

var _ pflag.Value = (*paramFlag)(nil)

func (f *paramFlag) Set(s string) error {
	if f.stdin() == (noInput{}) { // during completion the line may be incomplete
		_ = f.req.Set(f.param, s)
		return nil
	}
	values := []string{s}
	if f.param.Kind() == "strings" {
		values = strings.Split(s, ",")
	}
	for _, v := range values {
		if err := setValue(f.req, f.param, v, f.stdin()); err != nil {
			return err
		}
	}
	f.text = append(f.text, s)
	return nil
}

func (f *paramFlag) String() string {
	if f.param == nil {
		return ""
	}
	if len(f.text) > 0 {
		return strings.Join(f.text, ",")
	}
	return f.param.ClientDefault()
}

func (f *paramFlag) Type() string {
	kind := f.param.Kind()
	return cmp.Or(map[string]string{"boolean": "bool", "strings": "list", "integer": "int"}[kind], kind)
}

func usageArguments(op *api.Operation, form *api.Command) []string {
	var words []string
	for _, p := range Arguments(op, form) {
		words = append(words, "["+p.Name+api.TextIf(p.Arg == "rest", "...")+"]")
	}
	return words
}

// longHelp returns the long help of a command: its summary and the
// description of its arguments.
func longHelp(op *api.Operation, form *api.Command) string {
	list := Arguments(op, form)
	if len(list) == 0 {
		return form.Summary
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nArguments:\n", form.Summary)
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, p := range list {
		fmt.Fprintf(w, "  %s\t%s%s\n", p.Name, describeParam(p),
			api.TextIf(p.Default != "", fmt.Sprintf(" (default %s)", p.Default)))
	}
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

// describeParam returns the description of a parameter for the help.
func describeParam(p *api.Param) string {
	return p.Doc + api.TextIf(p.Stdin, "; - reads standard input")
}

// Arguments returns the positional parameters, in order.
func Arguments(op *api.Operation, form *api.Command) []*api.Param {
	var list []*api.Param
	for _, p := range op.Params() {
		if p.Arg != "" && form.TakesParam(p) {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *api.Param) int { return strings.Compare(a.Arg, b.Arg) })
	return list
}

// setArguments sets the parameters of a request from the arguments of a command, in order.
func setArguments(op *api.Operation, form *api.Command, req *api.Request, args []string, stdin io.Reader) error {
	for _, p := range Arguments(op, form) {
		if len(args) == 0 {
			return nil
		}
		values := args[:1]
		if p.Arg == "rest" {
			values = args
			if p.Kind() != "strings" {
				values = []string{strings.Join(args, " ")}
			}
			args = nil
		} else {
			args = args[1:]
		}
		for _, v := range values {
			if err := setValue(req, p, v, stdin); err != nil {
				return UsageError{Err: err}
			}
		}
	}
	if len(args) > 0 {
		return Usagef("%s: unexpected argument %q", form.Words, args[0])
	}
	return nil
}

// setValue sets a parameter to a value from the command line. If the parameter
// accepts standard input and the value is a dash, setValue reads standard
// input: the text without its final line break, which commands append. For a list it
// adds the bullets of the text.
func setValue(req *api.Request, p *api.Param, s string, stdin io.Reader) error {
	if s != "-" || !p.Stdin {
		return req.Set(p, s)
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxStdin+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: read standard input: %w", p.Name, err)
	case len(text) > maxStdin:
		return fmt.Errorf("%s: standard input exceeds %d bytes", p.Name, maxStdin)
	case len(text) == 0: // the program that writes it has probably failed
		return fmt.Errorf("%s: %w", p.Name, errEmptyInput)
	}
	given := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if p.Kind() != "strings" {
		return req.Set(p, given)
	}
	for _, bullet := range splitBullets(given) {
		if err := req.Set(p, bullet); err != nil {
			return err
		}
	}
	return nil
}

// splitBullets returns the items of a text that is a list with one line for each item,
// or else the whole text.
func splitBullets(text string) []string {
	var items []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "• "):
			items = append(items, line)
		default:
			return []string{text}
		}
	}
	if len(items) == 0 {
		return []string{text}
	}
	return items
}

var errEmptyInput = errors.New("standard input is empty")

// maxStdin bounds standard input, in bytes. No request can be larger, and this
// much fits into memory.
const maxStdin = 64 << 20

// A flow runs a command of an operation.
type flow func(a *invocation, args []string) error

// An invocation holds the parts needed to send a request and show its answer.
type invocation struct {
	cmd    *cobra.Command
	op     *api.Operation
	req    *api.Request
	g      *Globals
	client *client.Client
	out    *Printer

	selected bool // the command line contains the id of the change to undo
}

// newInvocation connects to the daemon with the scope of the flags and converts the
// paths in the request.
func newInvocation(cmd *cobra.Command, op *api.Operation, req *api.Request, g *Globals) (*invocation, error) {
	connect := g.ConnectOrStart
	if op.Name == "status" {
		connect = g.ConnectRunning // the absence of a daemon is the answer
	}
	c, client, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	for _, p := range op.Params() {
		switch _, given := req.GivenValue(p.Name); {
		case given && p.Name == "external_key" && client.Scope.Subject != nil:
			return nil, api.Errorf(api.Invalid, "subject and external_key exclude each other") // as the daemon does
		case !given && p.Name == "source":
			if err := req.Set(p, "cli"); err != nil {
				return nil, err
			}
		}
	}
	out := NewPrinter(g.Stdout, g.Stderr, c, g.NoColor)
	if err := g.output.parse(out.locate); err != nil {
		return nil, err
	}
	out.cmd, out.output, out.reader.Request, out.reader.OneLine = cmd, g.output, req, g.oneline
	if g.output.vimgrep {
		out.reader.Audience = api.Programs
	}
	if g.OpenRoot != nil {
		out.memory, out.sameMemory = g.OpenRoot(c), g.knowsRoot
		out.remote = g.Config.Name != "" && !g.knowsRoot
		if err := setPaths(op, req, out.memory); err != nil {
			return nil, err
		}
	}
	return &invocation{cmd: cmd, op: op, req: req, g: g, client: client, out: out}, nil
}

// printResponse prints an answer. The outcome is an error if the answer reports a failure or
// lists nothing.
func (a *invocation) printResponse(raw json.RawMessage) (outcome, err error) {
	answer, err := decodeAnswer(a.op, raw)
	text := new(api.Text)
	// In the JSON of another version, some fields may have other types.
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err == nil || mistyped && a.g.JSON {
		text = api.Render(answer, a.out.reader)
	}
	switch {
	case text.Unhealthy:
		outcome = ErrUnhealthy
	case text.Nothing:
		outcome = ErrNothing
	case text.Failure != "":
		outcome = fmt.Errorf("%s: %s", a.op.Command, text.Failure)
	}
	switch {
	case a.g.JSON:
		_, err := a.g.Stdout.Write(letters.EscapeJSON(raw, false))
		return outcome, err
	case err != nil:
		return nil, err
	case a.out.output.quiet:
		return outcome, nil
	case a.out.output.template != nil:
		if state := api.IndexStateOf(answer); state != nil {
			a.out.addHint(term.AsBad, "%s", state.Notice)
		}
		return outcome, errors.Join(a.out.output.printFormatted(a.g.Stdout, answer), a.out.flush())
	}
	a.out.printText(text)
	return outcome, a.out.flush()
}

// runPlain sends the request, with a text that the command line lacks.
func (a *invocation) runPlain(form *api.Command) error {
	edited, err := readMissingText(a.cmd, a.op, form, a.req)
	if err != nil {
		return UsageError{Err: err}
	}
	err = a.run()
	switch {
	case edited == "":
	case err == nil:
		os.Remove(edited)
	default: // the text exists nowhere else
		err = fmt.Errorf("%w (your text is in %s)", err, edited)
	}
	return err
}

// run sends the request and prints the answer.
func (a *invocation) run() error {
	ctx := a.cmd.Context()
	if a.op.Stream {
		err := a.client.Stream(ctx, a.req, func(raw json.RawMessage) error {
			_, err := a.printResponse(append(raw, '\n'))
			return err
		})
		return cmp.Or(err, context.Cause(ctx))
	}
	clearBar := func() {}
	if a.op.Name == "rebuild" && term.IsTerminal(a.g.Stderr) {
		clearBar = a.showProgress(ctx)
	}
	raw, err := a.client.Do(ctx, a.req)
	clearBar()
	if err != nil {
		return err
	}
	outcome, err := a.printResponse(raw)
	return cmp.Or(err, outcome)
}

// requestAnswer sends a request and returns the answer, which has the type A, also as
// received.
func requestAnswer[A any](ctx context.Context, a *invocation, req *api.Request) (*A, json.RawMessage, error) {
	raw, err := a.client.Do(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	answer, err := decodeAnswer(a.op, raw)
	return answer.(*A), raw, err
}

func decodeAnswer(op *api.Operation, raw json.RawMessage) (any, error) {
	answer := op.NewAnswer()
	err := json.Unmarshal(raw, answer)
	if err != nil {
		err = fmt.Errorf("%s: read the answer: %w", op.Command, err)
	}
	return answer, err
}
