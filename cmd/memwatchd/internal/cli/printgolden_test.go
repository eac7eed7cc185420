package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestPrintGolden compares printed answers with golden files. An archive in
// testdata/print contains an answer as sent over the wire, in a file named
// after its operation and its parameters, and the expected output: on a terminal with
// colors, where ⟦1;31⟧ stands for the code of a style and ⟦⟧ for its end, the lines that
// differ without colors in a pipe, and on standard error ("aside").
func TestPrintGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/print/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files")
	}
	looked := map[reflect.Type]bool{}
	defer func() {
		for _, op := range api.Operations {
			if len(op.Commands) > 0 && op.Name != "export" && !looked[reflect.TypeOf(op.NewAnswer())] {
				t.Errorf("nobody has looked at an answer to %s", op.Name)
			}
		}
	}()
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) == 0 {
				t.Fatalf("no answer: %v", err)
			}
			looked[reflect.TypeOf(operationOf(t, a.Files[0].Name).NewAnswer())] = true
			out := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			add := func(name, text string) {
				if text != "" {
					out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(text)})
				}
			}
			l := printTester{t, a.Files[0]}
			piped, aside := l.printAnswer(false, false)
			typed, _ := l.printAnswer(true, false)
			painted, paintedAside := l.printAnswer(true, true)
			add("terminal", renderSequences(painted))
			add("piped", changedLines(typed, piped))
			add("aside", renderSequences(paintedAside))
			add("aside piped", changedLines(styleSequence.ReplaceAllString(paintedAside, ""), aside))
			if diff := cmp.Diff(styleSequence.ReplaceAllString(painted, ""), typed); diff != "" {
				t.Errorf("colours change more than colours (-with +without):\n%s", diff)
			}
			golden.File(t, name, txtar.Format(a), txtar.Format(out))
		})
	}
}

// styleSequence matches the escape sequences of styles.
var styleSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// changedLines returns the lines in which two outputs differ, or the second one.
func changedLines(before, after string) string {
	if before == after {
		return ""
	}
	return string(golden.Changed(golden.Encode([]byte(before)), golden.Encode([]byte(after))))
}

func renderSequences(s string) string {
	s = styleSequence.ReplaceAllStringFunc(s, func(code string) string { return "⟦" + code[len("\x1b["):len(code)-1] + "⟧" })
	return strings.ReplaceAll(s, "⟦0⟧", "⟦⟧")
}

// TestPrintsNothingHostile checks that no text in any field of an answer
// affects a terminal.
func TestPrintsNothingHostile(t *testing.T) {
	archives, err := filepath.Glob("testdata/print/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) == 0 {
				t.Fatalf("no answer: %v", err)
			}
			var answer any
			testkit.Must(t, json.Unmarshal(a.Files[0].Data, &answer))
			text, err := json.Marshal(injectSequences(answer))
			testkit.Must(t, err)
			l := printTester{t, txtar.File{Name: a.Files[0].Name, Data: text}}
			for _, terminal := range []bool{false, true} {
				painted, _ := l.printAnswer(terminal, true)
				block := strings.HasPrefix(l.answer.Name, "context") || strings.HasPrefix(l.answer.Name, "load")
				if !block && strings.Contains(painted, "owned") && !strings.Contains(painted, `1b[2J`) {
					t.Errorf("it is not told what is hostile:\n%q", painted)
				}
			}
		})
	}
}

// injectSequences returns an answer with harmful terminal sequences in its texts.
func injectSequences(answer any) any {
	switch a := answer.(type) {
	case map[string]any:
		for name, value := range a {
			a[name] = injectSequences(value)
		}
	case []any:
		for i, value := range a {
			a[i] = injectSequences(value)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, a); err != nil {
			return a + "owned\x1b[2J\x1b]8;;http://evil.example\a\u202e\u009b31m\u200b\r" + a
		}
	}
	return answer
}

// A printTester prints an answer and checks the output.
type printTester struct {
	t      *testing.T
	answer txtar.File
}

// printAnswer prints the answer and checks that the output has no effect on a terminal.
func (l printTester) printAnswer(terminal, color bool) (text, aside string) {
	l.t.Helper()
	op := operationOf(l.t, l.answer.Name)
	_, given, _ := strings.Cut(strings.TrimSuffix(l.answer.Name, ".json"), " ")
	req, answer := op.NewRequest(), op.NewAnswer()
	var said, b bytes.Buffer
	p := &Printer{
		w: &b, hintWriter: &said, color: color, hintColor: color, terminal: terminal,
		reader: api.Reader{Location: time.UTC, Request: req},
	}
	if terminal {
		p.reader.Audience = api.People
	}
	if len(op.Commands) > 0 {
		p.cmd = newOperationCommand(op, &op.Commands[0], "", &Globals{Args: []string{}})
	}
	for word := range strings.FieldsSeq(given) {
		key, value, _ := strings.Cut(word, "=")
		testkit.Must(l.t, req.SetNamed(key, value))
	}
	testkit.Must(l.t, json.Unmarshal(l.answer.Data, answer))
	p.printText(api.Render(answer, p.reader))
	testkit.Must(l.t, p.flush())
	for line := range strings.Lines(styleSequence.ReplaceAllString(b.String()+said.String(), "")) {
		line = strings.TrimSuffix(line, "\n")
		if !terminal { // it may belong to a difference
			line = strings.TrimSuffix(line, "\r")
		}
		if term.EscapeText(line) != line && (op.Name != "context" && op.Name != "load" || terminal) { // blocks go into a prompt unchanged
			l.t.Errorf("%q does something to a terminal", line)
		}
	}
	return b.String(), said.String()
}

func operationOf(t *testing.T, file string) *api.Operation {
	t.Helper()
	asked, ok := strings.CutSuffix(file, ".json")
	name, _, _ := strings.Cut(asked, " ")
	i := slices.IndexFunc(api.Operations, func(op *api.Operation) bool { return op.Name == name })
	if !ok || i < 0 {
		t.Fatalf("%s is not the answer to an operation", file)
	}
	return api.Operations[i]
}
