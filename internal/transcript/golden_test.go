package transcript

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares results with golden files. Each archive below testdata
// contains inputs, each followed by the output of the function that the
// directory names. In marks a line is a turn, by the agent if it begins with
// "A> "; ⏎ stands for a line break. In phrases each turn is a conversation.
func TestGolden(t *testing.T) {
	for dir, of := range map[string]func(string) string{
		"read": func(text string) (out string) {
			c := Read([]byte(strings.ReplaceAll(text, "✂\n", "")))
			if subject := c.Subject(60); subject != "" {
				out = "about: " + subject + "\n"
			}
			for _, turn := range c.Messages {
				who := "P> "
				if turn.Assistant {
					who = "A> "
				}
				out += who + strings.ReplaceAll(strings.TrimSpace(turn.Text), "\n", "⏎") + "\n"
			}
			for _, t := range c.Todos {
				out += fmt.Sprintf("todo: %s, done: %t\n", t.Text, t.Done)
			}
			return out
		},
		"own":   func(text string) string { return joinStatements(Statements(Read([]byte(text)).Messages, 10)) },
		"prose": func(text string) string { return joinLines(ProseLines(text)) },
		"marks": func(text string) string { return joinStatements(Statements(parseMessages(text), 10)) },
		"phrases": func(text string) (out string) {
			for _, m := range parseMessages(text) {
				out += joinStatements(Statements([]Message{m}, 1))
			}
			return out
		},
		"achieved": func(text string) string { return joinLines(Achievements(text, 3, acceptAny)) },
		"question": func(text string) string { return CondensePrompt(text, 60) + "\n" },
	} {
		archives, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		if err != nil || len(archives) == 0 {
			t.Fatalf("no golden files of %s", dir)
		}
		for _, name := range archives {
			t.Run(dir+"/"+strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { checkGolden(t, name, of) })
		}
	}
}

func acceptAny(string) bool { return true }

func checkGolden(t *testing.T, name string, of func(string) string) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range a.Files {
		if input, ok := strings.CutSuffix(f.Name, " →"); ok {
			want[input] = string(f.Data)
		}
	}
	out := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, " →") {
			continue
		}
		got := of(string(f.Data))
		out.Files = append(out.Files, f, txtar.File{Name: f.Name + " →", Data: []byte(got)})
		if diff := cmp.Diff(want[f.Name], got); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func parseMessages(text string) (turns []Message) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "⏎", "\n")
		said, assistant := strings.CutPrefix(line, "A> ")
		turns = append(turns, Message{Assistant: assistant, Text: said})
	}
	return turns
}

func joinStatements(list []Statement) (out string) {
	for _, m := range list {
		kind := [...]string{"remember", "decision", "constraint", "preference", "contact"}[m.Kind]
		out += fmt.Sprintf("%s: %s\n", kind, m.Text)
	}
	return out
}

func joinLines(lines []string) (out string) {
	for _, line := range lines {
		out += line + "\n"
	}
	return out
}

// TestTimes checks the times of messages of each agent.
func TestTimes(t *testing.T) {
	const at = `{"timestamp":"2026-02-04T10:00:00.500Z",`
	for _, record := range []string{
		at + `"type":"user","message":{"role":"user","content":"a"}}`,
		at + `"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt","prompt":"a"}}`,
		at + `"type":"event_msg","payload":{"type":"user_message","message":"a"}}`,
		at + `"type":"event_msg","payload":{"type":"agent_message","message":"a"}}`,
		at + `"type":"response_item","payload":{"role":"user","content":[{"type":"input_text","text":"a"}]}}`,
		at + `"type":"user","content":"a"}`,
		`{"$set":{"messages":[` + at + `"type":"user","content":"a"}]}}`,
	} {
		m := Read([]byte(record)).Messages
		if len(m) != 1 || !m[0].Time.Equal(time.Date(2026, 2, 4, 10, 0, 0, 5e8, time.UTC)) {
			t.Errorf("%s: %v", record, m)
		}
	}
	for _, text := range []string{`7`, `""`, `"soon"`} {
		m := Read([]byte(`{"timestamp":` + text + `,"type":"user","message":{"role":"user","content":"a"}}`)).Messages
		if len(m) != 1 || !m[0].Time.IsZero() {
			t.Errorf("%s: %v", text, m)
		}
	}
}

// FuzzTranscript checks that all results are parts of single lines of the text,
// stay within the requested number and length, and are reproducible.
func FuzzTranscript(f *testing.F) {
	for _, dir := range []string{"read", "prose", "marks", "phrases", "achieved", "question"} {
		archives, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range archives {
			a, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range a.Files {
				f.Add(string(file.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Read([]byte(text))
		if subject := c.Subject(40); utf8.RuneCountInString(subject) > 40 || strings.Contains(subject, "\n") {
			t.Errorf("the subject is %q", subject)
		}
		turns := []Message{{Text: text}, {Assistant: true, Text: text}}
		marks := Statements(turns, 3)
		lines := Achievements(text, 2, acceptAny)
		if len(marks) > 3 || len(lines) > 2 {
			t.Errorf("there are %d marks, and %d lines", len(marks), len(lines))
		}
		if diff := cmp.Diff(marks, Statements(turns, 3)); diff != "" {
			t.Error(diff)
		}
		for _, m := range marks {
			lines = append(lines, m.Text)
		}
		for _, line := range append(lines, ProseLines(text)...) {
			if line == "" || !strings.Contains(text, line) || strings.ContainsAny(line, "\n\r") || strings.TrimSpace(line) != line {
				t.Errorf("%q is no stretch of a line", line)
			}
		}
		for _, m := range marks {
			if len([]rune(m.Text)) > maxStatement {
				t.Errorf("%q is too long", m.Text)
			}
		}
		if q := CondensePrompt(text, 100); len([]rune(q)) > 101 {
			t.Errorf("%q is too long a question", q)
		}
	})
}
