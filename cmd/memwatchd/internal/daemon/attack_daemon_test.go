package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc"
)

// A target is a whole daemon in this process, attacked over its sockets.
type target struct {
	t      testing.TB
	root   string
	base   string // directory of everything else: short, because sockets are in it
	daemon *daemon
	log    testkit.Output

	beforeRun func(*daemon) // called before the daemon runs, if not nil
	panics    bool          // the test makes the daemon panic and recover

	stop func() error
}

// TestMain keeps the files that daemons write outside their configured directories out
// of the home of the user who runs the tests.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "daemon")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"STATE_HOME", "CACHE_HOME", "CONFIG_HOME", "RUNTIME_DIR"} {
		os.Setenv("XDG_"+name, filepath.Join(home, name))
	}
	xdg.Reload()
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// shortDir returns a directory whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mw")
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// startTarget runs a daemon on a root and waits until its index is complete.
// The socket "s" has no fixed scope; configure may change everything else.
func startTarget(t testing.TB, root string, configure func(*config.Config, string)) *target {
	t.Helper()
	g := openTarget(t, root, configure)
	g.waitComplete()
	return g
}

// serveTree runs a daemon on a directory with files of an hour ago, and waits until its
// index is complete.
func serveTree(t testing.TB, files map[string]string, configure func(*config.Config, string)) *target {
	t.Helper()
	root := filepath.Join(t.TempDir(), "m")
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	return startTarget(t, root, configure)
}

// publicDays makes daily notes and sessions that set no visibility public.
func publicDays(c *config.Config, _ string) {
	c.Visibility.Daily, c.Visibility.Sessions = "public_ok", "public_ok"
}

// openTarget is startTarget without the wait.
func openTarget(t testing.TB, root string, configure func(*config.Config, string)) *target {
	t.Helper()
	g := &target{t: t, root: root, base: shortDir(t)}
	g.startDaemon(configure)
	return g
}

func (g *target) startDaemon(configure func(*config.Config, string)) {
	g.t.Helper()
	c := config.Default()
	c.Memory.Dir, c.Memory.Timezone = g.root, testkit.Zone.String()
	c.IPC.Listeners = []config.Listener{{Path: filepath.Join(g.base, "s")}}
	c.Tuning.SyncTimeout = 2 * time.Minute
	c.Log.Level = "debug"
	if configure != nil {
		configure(c, g.base)
	}
	testkit.Must(g.t, c.Finish())
	c.IndexDir, c.StateDir = filepath.Join(g.base, "index"), filepath.Join(g.base, "state")
	s := &reloader{stderr: &g.log}
	d, err := openDaemon(c, slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	testkit.Must(g.t, err)
	g.daemon = d
	if g.beforeRun != nil {
		g.beforeRun(d)
	}
	listeners, err := s.openListeners(c)
	if err != nil {
		g.t.Fatal(err, d.close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.run(ctx, listeners) }()
	stopped := false
	g.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		err := <-ended
		s.closeListeners(func(*ipc.Listener) bool { return true })
		if e := d.close(); err == nil {
			err = e
		}
		return err
	}
	g.t.Cleanup(func() {
		if err := g.stop(); err != nil {
			g.t.Errorf("the daemon ended with: %v", err)
		}
		if strings.Contains(g.log.String(), "panic") && !g.panics {
			g.t.Errorf("the daemon's log:\n%s", g.log.String())
		}
	})
}

// waitComplete waits until the index is complete.
func (g *target) waitComplete() {
	g.t.Helper()
	waitUntil(g.t, "the index is whole", func() bool {
		s := g.daemon.Report()
		return !s.Index.Degraded && s.Index.Pending == 0
	})
}

// waitUntil polls until so returns true, for up to 30 seconds.
func waitUntil(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if so() {
			return
		}
	}
	t.Fatalf("it never came about that %s", what)
}

func (g *target) socket(name string) string { return filepath.Join(g.base, name) }

func (g *target) dial(name string) *http.Client {
	transport := &http.Transport{
		MaxIdleConnsPerHost: 4,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", g.socket(name))
		},
	}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 5 * time.Minute}
}

type object map[string]any

// sendRequest posts a request and returns the status and the body of the response.
func (g *target) sendRequest(t testing.TB, c *http.Client, operation string, request object) (int, string) {
	t.Helper()
	body, err := json.Marshal(mergeObjects(request, nil))
	testkit.Must(t, err)
	return g.post(t, c, "/v1/"+operation, string(body), nil)
}

// mustSend is ask for a request that must succeed.
func (g *target) mustSend(t testing.TB, c *http.Client, operation string, request object) string {
	t.Helper()
	status, body := g.sendRequest(t, c, operation, request)
	if status != http.StatusOK {
		t.Fatalf("%s %v: %d %s", operation, request, status, body)
	}
	return body
}

// errorCode returns the error code of a response that must be an error.
func errorCode(t testing.TB, body string) api.Code {
	t.Helper()
	var e struct{ Error *api.Error }
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == nil {
		t.Fatalf("this is no error: %s", body)
	}
	return e.Error.Code
}

// writeTree writes files, all with the same modification time.
func writeTree(t testing.TB, root string, files map[string]string, when time.Time) {
	t.Helper()
	for path, text := range files {
		name := filepath.Join(root, filepath.FromSlash(path))
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
		testkit.Must(t, os.Chtimes(name, when, when))
	}
}

// echoedWords matches the fields of an answer that repeat words of the query.
var echoedWords = regexp.MustCompile(`"(absent|missing)":\["[^\]]*"\],?`)

// withoutEcho returns an answer without the words that it repeats from the query.
func withoutEcho(answer string) string { return echoedWords.ReplaceAllString(answer, "") }
