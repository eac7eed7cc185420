package transcript

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkMarks measures the end of a long conversation, most of it output of
// tools, as it is read while an agent waits.
func BenchmarkMarks(b *testing.B) {
	record := func(role string, content any) string {
		text, err := json.Marshal(map[string]any{"type": role, "message": map[string]any{"role": role, "content": content}})
		if err != nil {
			b.Fatal(err)
		}
		return string(text) + "\n"
	}
	turn := record("user", "Please look at the build: it has become slow. We decided to run the linter at night only.") +
		record("user", []any{map[string]string{"type": "tool_result", "content": strings.Repeat("main.go:31: a line of output\n", 200)}}) +
		record("assistant", []any{map[string]string{"type": "text", "text": strings.Repeat("The build is slow because it does everything twice, once for each of the targets.\n", 20)}})
	text := []byte(strings.Repeat(turn, 4<<20/len(turn)))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if len(Statements(Read(text).Messages, 10)) != 1 {
			b.Fatal("what was decided is missing")
		}
	}
}
