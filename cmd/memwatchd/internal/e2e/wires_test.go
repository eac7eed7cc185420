package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/memory"
)

// varies matches fields that may differ between two answers to one request. The
// time of an undated entry is the modification time of its file, which the system's
// clock sets.
var varies = regexp.MustCompile(`"(took_ms|revision|pending)":[0-9.e+-]+|"updated":"[^"]*\.[0-9]+Z"`)

// TestCommandsAnswerAsHTTP sends the requests of the tests of ops as commands
// and over HTTP to one daemon, and checks that both return the same bytes or
// the same error.
func TestCommandsAnswerAsHTTP(t *testing.T) {
	t.Parallel()
	eachArchive(t, "ops", func(t *testing.T, c *wiresCase) {
		l := c.live(t)
		l.start()
		asked := 0
		for _, ask := range c.asks {
			fields := ask.fields
			if name := ask.op.Name; name == "search" || name == "recent" { // otherwise a second may pass between the two requests
				if _, ok := fields["as_of"]; !ok {
					fields["as_of"] = "2026-02-05T12:00:00Z"
				}
			}
			if ask.op.Name == "undo" && fields["since"] != nil {
				continue // the command shows its plan; script/journal.txtar tests it
			}
			if line, ok := commandLine(ask.op, fields, false); ok {
				ask.compare(l.post(ask.op, fields), l.typed(line))
				asked++
			}
		}
		forPeople := func(a *wiresAsk) bool { return !a.op.ProgramsOnly }
		if asked == 0 && slices.ContainsFunc(c.asks, forPeople) {
			t.Error("no request could be asked as a command")
		}
	})
}

// TestCommandsWriteAsHTTP sends the writes of the tests of ops as commands to
// one memory and over HTTP to an equal one, and checks that the answers and the
// files are the same. The clocks of both daemons are stopped.
func TestCommandsWriteAsHTTP(t *testing.T) {
	t.Parallel()
	eachArchive(t, "writes", func(t *testing.T, c *wiresCase) {
		over, typed := c.live(t), c.live(t)
		over.launch()
		typed.launch()
		for _, l := range []*live{over, typed} {
			l.ready()
			l.until("tasks are known", func() bool {
				s := l.mustStatus().Todosync
				return s == nil || s.Problem == ""
			})
		}
		// Values from an answer that the next request needs may differ between
		// the daemons.
		var given [2]string
		own := func(i int, ask *wiresAsk) fields {
			if _, rest, ok := strings.Cut(given[i], `"hash":"`); ok {
				c.hash[i] = rest[:64]
			}
			if _, rest, ok := strings.Cut(given[i], `"token":"`); ok {
				c.token[i] = rest[:20]
			}
			f := ask.with("$hash", c.hash[i], "$token", c.token[i])
			takesSource := slices.ContainsFunc(ask.op.Params(), func(p *api.Param) bool { return p.Name == "source" })
			if _, given := f["source"]; takesSource && !given {
				f["source"] = "api" // commands have another default
			}
			return f
		}
		asked := map[string]int{}
		for i, ask := range c.asks {
			one, other := own(0, ask), own(1, ask)
			a := over.post(ask.op, one)
			line, ok := commandLine(ask.op, other, i%2 == 0)
			var b said
			if ok {
				b = typed.typed(line)
				asked[ask.op.Name]++
			} else {
				b = typed.post(ask.op, other)
			}
			given[0], given[1] = a.answer, b.answer
			ask.compare(a, b)
			if diff := cmp.Diff(filesBelow(t, over.root), filesBelow(t, typed.root)); diff != "" {
				t.Fatalf("%s: the files (-HTTP +command):\n%s", ask.name, diff)
			}
		}
		for _, ask := range c.asks {
			forTags := ask.op.Name == "complete" // its command lists tags only
			if !ask.op.ProgramsOnly && !forTags && !slices.Contains(ofFiles, ask.op.Name) && asked[ask.op.Name] == 0 {
				t.Errorf("no request for %s could be asked as a command", ask.op.Name)
			}
		}
	})
}

// ofFiles contains the operations whose commands read or write files in formats
// that differ from the request and the answer.
var ofFiles = []string{"import", "export"}

// A wiresCase is an archive of the tests of ops.
type wiresCase struct {
	settings map[string]string
	files    []txtar.File
	asks     []*wiresAsk

	hash, token [2]string // most recent values
}

// A wiresAsk is a request in a wiresCase.
type wiresAsk struct {
	t      *testing.T
	name   string
	op     *api.Operation
	text   string
	fields fields
}

// with returns the request with words replaced.
func (a *wiresAsk) with(words ...string) (f fields) {
	if err := json.Unmarshal([]byte(strings.NewReplacer(words...).Replace(a.text)), &f); err != nil {
		a.t.Fatal(err)
	}
	return f
}

var wiresSetting = regexp.MustCompile(`(?m)^(now|timezone|enabled|layout|read|visibility): (.*)$`)

func eachArchive(t *testing.T, dir string, test func(*testing.T, *wiresCase)) {
	names, err := filepath.Glob(repository + "/internal/ops/testdata/" + dir + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := &wiresCase{settings: map[string]string{"now": "2026-02-05T12:00:00Z", "timezone": "UTC", "enabled": "true", "layout": "auto", "read": "union", "visibility": "public_ok"}}
			for _, m := range wiresSetting.FindAllSubmatch(archive.Comment, -1) {
				c.settings[string(m[1])] = string(m[2])
			}
			for _, f := range archive.Files {
				word, _, _ := strings.Cut(f.Name, ":")
				if op := operationNamed(word); op == nil {
					if f.Name != "answer" {
						c.files = append(c.files, f)
					}
				} else if ask := (&wiresAsk{t: t, name: f.Name, op: op, text: string(f.Data)}); json.Unmarshal(f.Data, &ask.fields) == nil {
					c.asks = append(c.asks, ask)
				}
			}
			test(t, c)
		})
	}
}

func operationNamed(name string) *api.Operation {
	for _, op := range api.Operations {
		if op.Name == name {
			return op
		}
	}
	return nil
}

// live returns a daemon on a copy of the files, not yet started. It writes
// nothing by itself.
func (c *wiresCase) live(t *testing.T) *live {
	t.Helper()
	now, err := time.Parse(time.RFC3339, c.settings["now"])
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range c.files {
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		testkit.WriteFile(t, path, string(f.Data))
		if err := os.Chtimes(path, time.Time{}, now.AddDate(0, 0, -1)); err != nil {
			t.Fatal(err)
		}
	}
	l := newLive(t, root, "write: {quiet: 1h}\ncompactor: {enabled: false}\n")
	l.env = append(l.env, stopped+"="+c.settings["now"], "MEMWATCHD_MEMORY_TIMEZONE="+c.settings["timezone"],
		"MEMWATCHD_MEMORY_ENABLED="+c.settings["enabled"], "MEMWATCHD_MEMORY_LAYOUT="+c.settings["layout"], "MEMWATCHD_IDENTITY_READ="+c.settings["read"],
		"MEMWATCHD_VISIBILITY_DAILY="+c.settings["visibility"], "MEMWATCHD_VISIBILITY_SESSIONS="+c.settings["visibility"])
	return l
}

// filesBelow returns the contents of the files of a memory, by path.
func filesBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".memwatchd-") {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// said is the result of a request: an answer or the message of an error.
type said struct{ answer, failure string }

// compare checks that both results are equal, or are errors because no task has
// the text.
func (a *wiresAsk) compare(over, typed said) {
	// Each front end writes the names of parameters and operations in its own form.
	names := strings.NewReplacer("`", "", "--", "", "_", "-", "memwatchd ", "", "todo list", "todos")
	over.failure, typed.failure = names.Replace(over.failure), names.Replace(typed.failure)
	a.t.Helper()
	isTask := a.fields["text"] != nil || a.fields["id"] != nil
	if a.op.Name == "todo" && isTask && strings.Contains(over.failure, `"not_found"`) && typed.failure != "" {
		return // the command also looks for a part of the text, and in notes, and has its own message and hint
	}
	over.answer, typed.answer = varies.ReplaceAllString(over.answer, ""), varies.ReplaceAllString(typed.answer, "")
	over.failure, typed.failure = withoutFlags(over.failure), withoutFlags(typed.failure)
	if diff := cmp.Diff(over, typed, cmp.AllowUnexported(said{})); diff != "" {
		a.t.Errorf("%s (-HTTP +command):\n%s", a.name, diff)
	}
}

// withoutFlags replaces flags, which the errors of commands name, by the names of
// parameters.
func withoutFlags(text string) string {
	return regexp.MustCompile(`--[a-z-]+`).ReplaceAllStringFunc(text, func(flag string) string {
		return strings.ReplaceAll(flag[2:], "-", "_")
	})
}

// post sends a request over HTTP.
func (l *live) post(op *api.Operation, f fields) said {
	l.t.Helper()
	body, err := json.Marshal(f)
	if err != nil {
		l.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, "http://memwatchd/v1/"+op.Name, bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Memwatchd-As-Owner", "1")
	res, err := overSocket(l.socket).Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	if res.StatusCode == http.StatusOK {
		return said{answer: string(answer)}
	}
	var failure struct{ Error *api.Error }
	if err := json.Unmarshal(answer, &failure); err != nil || failure.Error == nil {
		l.t.Fatalf("the answer is no error: %s", answer)
	}
	return said{failure: string(memory.EscapeJSON(answer, false))}
}

// A typedLine contains the arguments and the standard input of a command.
type typedLine struct {
	args  []string
	stdin string
}

// typed sends a request as a command.
func (l *live) typed(line typedLine) said {
	l.t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"--config", l.config, "--json"}, line.args...)
	code := app.Run(l.t.Context(), args, strings.NewReader(line.stdin), &stdout, &stderr)
	if (code == 0) != (stderr.Len() == 0) && code != 1 { // 1: nothing found
		l.t.Errorf("%q ends with %d and says %s", line.args, code, &stderr)
	}
	if stdout.Len() > 0 && strings.Contains(stderr.String(), `"message":"import items: `) {
		stderr.Reset() // the answer contains the failures
	}
	return said{stdout.String(), stderr.String()}
}

// commandLine converts a JSON request to a command. It reports false if no
// command is equivalent: a command has no unknown fields and no fields of
// another type. If piped is set, one parameter that accepts standard input is
// passed there.
func commandLine(op *api.Operation, f fields, piped bool) (line typedLine, ok bool) {
	way := wayOf(op, f)
	if way == nil || slices.Contains(ofFiles, op.Name) {
		return line, false
	}
	if op.Name == "undo" && f["id"] == nil && f["since"] == nil { // the command selects a change
		return line, false
	}
	line.args = strings.Fields(way.Words)
	if op.Name == "wipe_subject" && f["dry_run"] != true { // the command shows a plan first
		line.args = append(line.args, "--write")
	}
	positional := map[string][]string{}
	for _, p := range op.Params() {
		value, given := f[p.Name]
		if _, set := way.Set[p.Name]; set || !given {
			if p.Preset != "" && way.TakesParam(p) {
				line.args = append(line.args, "--"+p.Flag+"="+p.Default)
			}
			continue
		}
		if !way.TakesParam(p) {
			return line, false
		}
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		var typed []string
		for _, v := range values {
			text, ok := typedAs(p, v, isList)
			if !ok {
				return line, false
			}
			typed = append(typed, text)
		}
		if len(typed) == 0 {
			continue // as if the parameter were missing
		}
		noLine := func(s string) bool {
			return strings.TrimSpace(s) == "" || strings.TrimSpace(s) != s || strings.Contains(s, "\n")
		}
		if piped && p.Stdin && !(isList && slices.ContainsFunc(typed, noLine)) && !strings.HasSuffix(typed[0], "\r") {
			for i, s := range typed {
				if isList && !strings.HasPrefix(s, "- ") {
					typed[i] = "- " + s // other text is one value
				}
			}
			line.stdin, typed, piped = strings.Join(typed, "\n")+"\n", []string{"-"}, false
		}
		if op.Name == "item_import" && p.Arg != "" { // the command reads a file
			line.stdin, typed = strings.Join(typed, "\n"), []string{"-"}
		}
		if p.Arg != "" {
			positional[p.Arg] = typed
		} else {
			line.args = append(line.args, "--"+p.Flag+"="+strings.Join(typed, ","))
		}
	}
	for name := range f {
		if !slices.ContainsFunc(op.Params(), func(p *api.Param) bool { return p.Name == name }) {
			return line, false
		}
	}
	line.args = append(line.args, "--")
	missing := false
	for _, p := range cli.Arguments(op, way) {
		values, given := positional[p.Arg]
		if given && missing {
			return line, false // the value would be parsed as the missing argument
		}
		line.args, missing = append(line.args, values...), missing || !given
	}
	return line, true
}

// wayOf returns the command that is equivalent to a request, or nil.
func wayOf(op *api.Operation, f fields) *api.Command {
	for i := range op.Commands {
		way := &op.Commands[i]
		fits := true
		for _, p := range op.Params() {
			value, given := f[p.Name]
			if !given {
				value = p.Default
			}
			set, ok := way.Set[p.Name]
			fits = fits && (!ok || set == fmt.Sprint(value)) && (!given || ok || way.TakesParam(p))
		}
		if fits {
			return way
		}
	}
	return nil
}

func typedAs(p *api.Param, v any, isList bool) (text string, ok bool) {
	switch x := v.(type) {
	case string:
		commas := isList && p.Arg == "" && strings.Contains(x, ",") // the command would split the value
		return x, p.Kind() == "string" && !isList || p.Kind() == "strings" && isList && !commas
	case bool:
		return fmt.Sprint(x), p.Kind() == "boolean"
	case float64:
		return fmt.Sprint(x), p.Kind() == "number" || p.Kind() == "integer" && x == float64(int(x))
	case map[string]any:
		data, err := json.Marshal(x)
		return string(data), err == nil && p.Kind() == "object"
	}
	return "", false
}
