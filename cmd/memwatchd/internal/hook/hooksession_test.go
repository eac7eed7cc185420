package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// newHook returns a hook with a spool of its own. If handler is not nil, it answers the
// requests of the hook; otherwise no daemon runs.
func newHook(t *testing.T, handler http.HandlerFunc) *hook {
	t.Helper()
	state := xdg.StateHome
	t.Cleanup(func() { xdg.StateHome = state })
	xdg.StateHome = t.TempDir()
	c := config.Default()
	c.Location = time.UTC
	h := &hook{
		g: &cli.Globals{Stderr: io.Discard}, agentName: "codex", config: c, input: hookInput{Session: "s"},
		client: &client.Client{Socket: filepath.Join(t.TempDir(), "socket")}, limit: time.NewTimer(time.Hour),
	}
	if handler != nil {
		serve(t, h, handler)
	}
	return h
}

// serve answers the requests of a hook.
func serve(t *testing.T, h *hook, handler http.HandlerFunc) {
	t.Helper()
	listener, err := net.Listen("unix", h.client.Socket)
	testkit.Must(t, err)
	server := &http.Server{Handler: handler}
	t.Cleanup(func() { server.Close() })
	go server.Serve(listener)
}

func spoolFiles(t *testing.T, h *hook) (texts []string) {
	t.Helper()
	files, err := spoolOf(h.client).files()
	testkit.Must(t, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// TestConversationsArrive saves conversations while the daemon is away, then slow, and
// then drops each fifth connection. A hook must have its file on the disk before its
// first request, and must not end before that. Every sentence arrives.
func TestConversationsArrive(t *testing.T) {
	var want, got []string
	arrived := map[string]bool{}
	h := newHook(t, nil)
	dir := t.TempDir()
	converse := func(ctx context.Context, n int) error {
		h.input.Session = fmt.Sprint("s", n)
		h.input.Transcript = filepath.Join(dir, h.input.Session)
		var lines strings.Builder
		for i := range 7 {
			text := fmt.Sprintf("Remember: the shelf %d holds box %d of the workshop.", n, i)
			want = append(want, text)
			fmt.Fprintf(&lines, `{"type": "user", "message": {"role": "user", "content": %q}}`+"\n", text)
		}
		testkit.Must(t, os.WriteFile(h.input.Transcript, []byte(lines.String()), 0o600))
		return saveConversation(ctx, h)
	}
	for n := range 8 {
		if err := converse(t.Context(), n); err == nil {
			t.Fatal("a conversation was saved without a daemon")
		}
	}
	if files := spoolFiles(t, h); len(files) != 8 || strings.Count(files[7], "the shelf 7") < 7 {
		t.Errorf("the spool has %d files, want one for each hook, with its text", len(files))
	}

	ctx, giveUp := context.WithCancel(t.Context())
	var mu sync.Mutex // guards the variables of the handler
	requests, slow := 0, true
	serve(t, h, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if slow {
			mu.Unlock()
			if files := spoolFiles(t, h); len(files) != 9 {
				t.Errorf("the spool has %d files before the first request, want 9", len(files))
			}
			giveUp()
			<-r.Context().Done()
			return
		}
		defer mu.Unlock()
		requests++
		if requests%5 == 0 {
			panic(http.ErrAbortHandler)
		}
		var capture api.CaptureRequest
		if err := json.NewDecoder(r.Body).Decode(&capture); err != nil {
			t.Error(err)
		}
		for _, text := range capture.Bullets {
			if !arrived[text] { // the daemon skips what a session captured before
				arrived[text] = true
				got = append(got, text)
			}
		}
		io.WriteString(w, "{}")
	})
	if err := converse(ctx, 8); err == nil {
		t.Fatal("a conversation was saved by a daemon that does not answer")
	}
	mu.Lock()
	slow = false
	mu.Unlock()
	for n := 9; n < 20; n++ {
		converse(t.Context(), n)
	}
	for try := 0; len(spoolFiles(t, h)) > 0 && try < 1000; try++ {
		h.deliverSpool(t.Context())
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
}

// TestCredentialsNotKept checks that no credential of the input is in the spool, and
// that the text around it is.
func TestCredentialsNotKept(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
	h := newHook(t, nil)
	h.config.Hooks.StoreResponses = true
	input := fmt.Sprintf(`{"session_id": %q, "cwd": %q, "last_assistant_message": %q, "transcript_path": %q}`,
		secret, "/home/"+secret, "Fixed the login.\nThe token is "+secret+".\nAdded a test.", filepath.Join(t.TempDir(), secret))
	in, err := readHookInput(strings.NewReader(input))
	testkit.Must(t, err)
	text := `{"type": "user", "message": {"role": "user", "content": "We decided to use PostgreSQL, not SQLite."}}` + "\n" +
		`{"type": "user", "message": {"role": "user", "content": "Remember that the token is ` + secret + `."}}` + "\n"
	testkit.Must(t, os.WriteFile(in.Transcript, []byte(text), 0o600))
	h.input = in
	saveAnswer(t.Context(), h)
	saveConversation(t.Context(), h)
	all := strings.Join(spoolFiles(t, h), "\n")
	for _, kept := range []string{"Fixed the login.", "Added a test.", "We decided to use PostgreSQL", in.Session} {
		if !strings.Contains(all, kept) {
			t.Errorf("the spool lacks %q: %s", kept, all)
		}
	}
	if strings.Contains(all, secret) {
		t.Errorf("the spool contains the credential: %s", all)
	}
}

// TestSessionDay checks that a daemon that answers chooses the day of a session, as
// it does for captures, and that a session that waits for the daemon keeps its day.
func TestSessionDay(t *testing.T) {
	var got []string
	h := newHook(t, func(w http.ResponseWriter, r *http.Request) {
		var request api.SessionRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		got = append(got, request.Day)
		io.WriteString(w, "{}")
	})
	t.Cleanup(func() { config.Now = time.Now })
	day := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	config.Now = func() time.Time { return day }
	draft := spooled{Draft: &api.SessionRequest{Session: "s", Day: h.today()}}
	for range 2 {
		testkit.Must(t, h.send(t.Context(), draft))
		day = day.AddDate(0, 0, 1)
	}
	if diff := cmp.Diff([]string{"", "2026-02-05"}, got); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

// TestOutputOfAgents checks that long memory in Chinese stays within the limits of each agent.
func TestOutputOfAgents(t *testing.T) {
	text := "[Memory:Relevant]\n" + strings.Repeat("- 计费数据库在法兰克福区域，每天夜里备份一次。\n", 350)
	for _, name := range agents.HookNames() {
		h := newHook(t, func(w http.ResponseWriter, _ *http.Request) {
			json.NewEncoder(w).Encode(map[string]any{"text": text})
		})
		var out bytes.Buffer
		h.g.Stdout, h.command, h.agentName = &out, "prompt", name
		h.agent, _ = agents.Named(name)
		if len(h.agent.HookEvents(h.command)) == 0 {
			h.command = "session-start"
		}
		testkit.Must(t, h.printContext(t.Context(), api.ContextRequest{}))
		// agents.TestGolden checks the form: text, or JSON with the text as its last member.
		got := out.String()
		var form any
		json.Unmarshal(out.Bytes(), &form)
		for member, ok := form.(map[string]any); ok; member, ok = form.(map[string]any) {
			delete(member, "hookEventName")
			for _, form = range member {
			}
		}
		if text, ok := form.(string); ok {
			got = text
		}
		n, limit := utf8.RuneCountInString(got), brief.DefaultStartChars
		if name == "codex" { // tokens: at least one for each Chinese character
			n, limit = n-strings.Count(got, " ")-2*strings.Count(got, "\n"), 2500
		}
		if n > limit || n < limit/2 || !strings.HasPrefix(got, "[Memory:Relevant]\n") {
			t.Errorf("%s: %d characters, at most %d", name, n, limit)
		}
	}
}

// TestLateTranscript checks that the session-end of Copilot CLI waits for messages that the agent
// writes after it has started the hook, in the first turn and in later ones, but not for ever, and
// that no other agent waits.
func TestLateTranscript(t *testing.T) {
	const (
		started = `{"type":"session.start"}` + "\n"
		earlier = `{"type":"user.message","data":{"content":"earlier"}}` + "\n" +
			`{"type":"hook.start","data":{"hookInvocationId":"1","hookType":"agentStop","input":{}}}` + "\n" +
			`{"type":"hook.end","data":{"hookInvocationId":"1","hookType":"agentStop","success":true}}` + "\n"
		message = `{"type":"user.message","data":{"content":"late"}}` + "\n"
		ended   = `{"type":"hook.start","data":{"hookInvocationId":"2","hookType":"agentStop","input":{}}}` + "\n"
	)
	for _, test := range []struct {
		name, agent, before string
		after               []string // written one by one, each 100 ms after the one before
		want                string
		waits               time.Duration
	}{
		{"empty", "copilot", "", []string{started, message, ended}, started + message + ended, 300 * time.Millisecond},
		{"started", "copilot", started, []string{message + ended}, started + message + ended, 100 * time.Millisecond},
		{"later turn", "copilot", earlier, []string{message, ended}, earlier + message + ended, 200 * time.Millisecond},
		{"complete", "copilot", message + ended, nil, message + ended, 0},
		{"never", "copilot", message, nil, message, lateLimits*TimeLimit + TimeLimit/10},
		{"claude-code", "claude-code", message, []string{ended}, message, 0},
		{"missing", "qwen", "-", nil, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events.jsonl")
			if test.before != "-" {
				testkit.Must(t, os.WriteFile(file, []byte(test.before), 0o600))
			}
			synctest.Test(t, func(t *testing.T) {
				text := test.before
				for i, more := range test.after {
					text += more
					whole := text
					time.AfterFunc(time.Duration(i+1)*100*time.Millisecond, func() {
						testkit.Must(t, os.WriteFile(file, []byte(whole), 0o600))
					})
				}
				agent, _ := agents.Named(test.agent)
				begin := time.Now()
				_, tail, err := awaitTranscript(agent, file)
				if waited := time.Since(begin); string(tail) != test.want || waited < test.waits ||
					waited > test.waits+TimeLimit/10 || (err != nil) != (test.before == "-") {
					t.Errorf("after %v: %q, %v", waited, tail, err)
				}
			})
		})
	}
}

// TestHookInputMark reads events in the encodings that a byte order mark announces, from an
// agent that keeps its output open.
func TestHookInputMark(t *testing.T) {
	for _, e := range []encoding.Encoding{unicode.UTF8, unicode.UTF8BOM,
		unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), unicode.UTF16(unicode.BigEndian, unicode.UseBOM)} {
		event, err := e.NewEncoder().String(`{"prompt": "Wörter für 猫"}`)
		testkit.Must(t, err)
		r, w := io.Pipe()
		go io.WriteString(w, event) // and never closes it
		if in, err := readHookInput(r); err != nil || in.Prompt != "Wörter für 猫" {
			t.Errorf("%q: the prompt is %q, %v", event, in.Prompt, err)
		}
	}
}
