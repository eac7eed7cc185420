package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestModelConfig checks the accepted values of the endpoints of services and their
// normalized form.
func TestModelConfig(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                           "",
		"http://127.0.0.1:11434/v1/": "http://127.0.0.1:11434/v1",
		"http://[::1]:1/v1":          "http://[::1]:1/v1",
		"http://localhost:1":         "http://localhost:1",
		"https://api.example.org/v1": "https://api.example.org/v1",
	} {
		c, err := load(t, "{llm: {endpoint: '"+endpoint+"', model: m, private: true}}", Flags{})
		if err != nil || c.LLM.Endpoint != want {
			t.Errorf("%q becomes %+v, %v", endpoint, c, err)
		}
	}
}

// TestReadKey checks that a key is read only from a regular file without access
// for other users.
func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		testkit.Must(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
	for _, test := range []struct{ name, path, want, problem string }{
		{"a key", write("a", "sk-1\n", 0o600), "sk-1", ""},
		{"read only", write("b", " sk-2 ", 0o400), "sk-2", ""},
		{"open to others", write("c", "sk-3", 0o644), "", "is accessible to other users: run `chmod 600` on it"},
		{"empty", write("d", "\n", 0o600), "", "must contain one line with the key"},
		{"two lines", write("e", "sk-1\nsk-2\n", 0o600), "", "must contain one line with the key"},
		{"missing", filepath.Join(dir, "none"), "", "no such file"},
		{"a directory", dir, "", "is not a regular file"},
		{"a pipe", pipe, "", "is not a regular file"},
	} {
		got, err := ReadKey(test.path)
		if got != test.want || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}
