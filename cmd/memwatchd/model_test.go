package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// What of the keys llm.* is fine, and what is made of it.
func TestModelConfig(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                           "",
		"http://127.0.0.1:11434/v1/": "http://127.0.0.1:11434/v1",
		"http://[::1]:1/v1":          "http://[::1]:1/v1",
		"http://localhost:1":         "http://localhost:1",
		"https://api.example.org/v1": "https://api.example.org/v1",
	} {
		c := defaultConfig()
		c.LLM.Endpoint, c.LLM.Model, c.LLM.Private = endpoint, "m", true
		if err := c.finish(); err != nil || c.LLM.Endpoint != want {
			t.Errorf("%q becomes %q, %v", endpoint, c.LLM.Endpoint, err)
		}
	}
}

// Text that crosses the network in the clear is not a secret of the daemon's.
func TestModelInTheClear(t *testing.T) {
	for endpoint, warns := range map[string]bool{"http://10.0.0.7/v1": true, "http://[::ffff:127.0.0.1]/v1": false, "https://10.0.0.7/v1": false} {
		var log printed
		d := &daemon{config: defaultConfig(), logger: slog.New(slog.NewTextHandler(&log, nil))}
		d.config.LLM.Endpoint, d.config.LLM.Model = endpoint, "m"
		if client, err := d.openModel(); err != nil || client.Endpoint != endpoint {
			t.Errorf("%s: %v", endpoint, err)
		}
		if got := strings.Contains(log.String(), "unencrypted"); got != warns {
			t.Errorf("%s: the log says %q", endpoint, log.String())
		}
	}
}

// A key lies in a file of its own that others cannot read.
func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, path, want, problem string }{
		{"a key", write("a", "sk-1\n", 0o600), "sk-1", ""},
		{"read only", write("b", " sk-2 ", 0o400), "sk-2", ""},
		{"open to others", write("c", "sk-3", 0o644), "", "can be read or written by others: chmod 600 it"},
		{"empty", write("d", "\n", 0o600), "", "does not hold one line with a key"},
		{"two lines", write("e", "sk-1\nsk-2\n", 0o600), "", "does not hold one line with a key"},
		{"missing", filepath.Join(dir, "none"), "", "no such file"},
		{"a directory", dir, "", "is not a file"},
		{"a pipe", pipe, "", "is not a file"},
	} {
		got, err := readKey(test.path)
		if got != test.want || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}

// A key that others can read keeps the daemon from starting.
func TestOpenModelWithOpenKey(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-1"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := &daemon{config: defaultConfig(), logger: slog.New(slog.DiscardHandler)}
	d.config.LLM.Endpoint, d.config.LLM.KeyFile = "http://127.0.0.1:1", key
	if _, err := d.openModel(); err == nil || !strings.HasPrefix(err.Error(), "llm.key_file: ") {
		t.Errorf("starting with a key that others can read: %v", err)
	}
}

func TestPrintModel(t *testing.T) {
	var b strings.Builder
	p := &printer{}
	p.model(&b, &api.ModelStatus{Endpoint: "http://127.0.0.1:1/v1", Model: "m"})
	p.model(&b, &api.ModelStatus{
		Endpoint: "http://127.0.0.1:1/v1", Model: "m", Private: true, Asked: 3, Failed: 1,
		Failure: "the model gave no answer within 20s", FailedAt: time.Date(2026, 2, 4, 12, 0, 0, 0, time.Local),
	})
	const want = `model      m at http://127.0.0.1:1/v1, 0 questions
model      m at http://127.0.0.1:1/v1, 3 questions, 1 failed, sees private text
           2026-02-04 12:00:00: the model gave no answer within 20s
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
