package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A live is a daemon in a separate process with its own memory, so that a test
// can kill it, limit its resources and measure it.
type live struct {
	t      *testing.T
	root   string
	config string // its configuration file
	socket string
	env    []string
	limits string // shell commands before it starts, such as ulimit

	listeners string // more listeners, in YAML

	panics  bool   // the test makes it panic, and it recovers
	uid     int    // of the daemon, if different from the test's
	program string // another copy of the program

	cmd  *exec.Cmd
	done chan error
	log  testkit.Output
}

// startLive starts a daemon on a root and waits until its index is complete.
// config is added to the settings that isolate the daemon.
func startLive(t *testing.T, root, config string) *live {
	t.Helper()
	l := newLive(t, root, config)
	l.start()
	return l
}

func newLive(t *testing.T, root, config string) *live {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "mw") // the path of a socket must be short
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	l := &live{
		t: t, root: root,
		config: filepath.Join(base, "config.yaml"),
		socket: filepath.Join(base, "s"),
	}
	for name, sub := range map[string]string{
		"HOME": "home", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
		"XDG_CONFIG_HOME": "config", "XDG_RUNTIME_DIR": "run",
	} {
		dir := filepath.Join(base, sub)
		testkit.Must(t, os.Mkdir(dir, 0o700))
		l.env = append(l.env, name+"="+dir)
	}
	l.env = append(l.env, "PATH="+os.Getenv("PATH"), "TZ=UTC", "GORACE=atexit_sleep_ms=0")
	l.configure(config)
	return l
}

// configure writes the daemon's configuration. Unless config sets a visibility, daily
// notes and sessions are public, so that many tests cover public text too.
func (l *live) configure(config string) {
	l.t.Helper()
	text := fmt.Sprintf("memory: {dir: %q, timezone: %s}\nipc: {listeners: [{path: %q}%s], sync_timeout: 20s}\n%s",
		l.root, testkit.Zone, l.socket, l.listeners, config)
	if !strings.Contains(config, "visibility:") {
		text += "visibility: {daily: public_ok, sessions: public_ok}\n"
	}
	// In one step: an empty file is a valid configuration.
	testkit.Must(l.t, os.WriteFile(l.config+".new", []byte(text), 0o600))
	testkit.Must(l.t, os.Rename(l.config+".new", l.config))
}

// start starts the daemon and waits until its index is complete.
func (l *live) start() {
	l.t.Helper()
	l.launch()
	l.ready()
}

// ready waits until the index is complete.
func (l *live) ready() {
	l.t.Helper()
	l.until("the index is whole", func() bool {
		s, err := l.status()
		return err == nil && !s.Index.Degraded && s.RootState != "starting"
	})
	l.sync()
}

// launch starts the daemon without waiting.
func (l *live) launch() {
	l.t.Helper()
	// The test binary is memwatchd too, under that name.
	l.cmd = exec.Command(cmp.Or(l.program, "memwatchd"), "serve", "--config", l.config)
	if l.limits != "" {
		l.cmd = exec.Command("sh", "-c", l.limits+`; exec memwatchd serve --config "$0"`, l.config)
	}
	if l.uid != 0 {
		l.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(l.uid), Gid: uint32(l.uid)}}
	}
	l.cmd.Env = l.env
	l.cmd.Stderr, l.cmd.Stdout = &l.log, &l.log
	testkit.Must(l.t, l.cmd.Start())
	l.done = make(chan error, 1)
	cmd, done := l.cmd, l.done
	go func() { done <- cmd.Wait() }()
	l.t.Cleanup(func() {
		if err := l.stop(); err != nil {
			l.t.Errorf("the daemon ended with: %v", err)
		}
		if text := l.log.String(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic") && !l.panics || l.t.Failed() {
			l.t.Errorf("the daemon's log:\n%s", text)
		}
	})
}

// stop stops the daemon as a supervisor does, within a minute.
func (l *live) stop() error {
	if l.done == nil {
		return nil
	}
	l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-l.done:
		l.done = nil
		return err
	case <-time.After(time.Minute):
		l.cmd.Process.Signal(syscall.SIGQUIT) // writes its goroutines to the log
		<-l.done
		l.done = nil
		return errors.New("it did not stop within a minute")
	}
}

// The callers of most requests.
var (
	owner  = fields{"subject": "owner", "context": "private"}
	public = fields{"context": "public"}
)

type fields map[string]any

// exactly returns the fields of a search for the words and phrases of a query as
// they are, and more fields.
func exactly(query string, more fields) fields {
	f := fields{"query": query}
	if more["mode"] != "overlap" { // which corrects no typos
		f["typos"] = "keep"
	}
	if strings.Contains(query, `"`) {
		f["phrase"] = "required"
	}
	return f.with(more)
}

// with returns the fields of f and of more. Those of more take precedence.
func (f fields) with(more fields) fields {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// ask sends a request over its own connection.
func (l *live) ask(op string, req fields, answer any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", l.socket)
		},
	}
	client := http.Client{Transport: transport, Timeout: 2 * time.Minute}
	res, err := client.Post("http://memwatchd/v1/"+op, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %v: %s", op, req, got)
	}
	return json.Unmarshal(got, answer)
}

// must sends a request that must succeed.
func (l *live) must(op string, req fields, answer any) {
	l.t.Helper()
	testkit.Must(l.t, l.ask(op, req, answer))
}

// search returns at most 100 hits.
func (l *live) search(who fields, query string, more fields) *api.SearchAnswer {
	l.t.Helper()
	var a api.SearchAnswer
	l.must("search", who.with(fields{"limit": 100}).with(exactly(query, more)), &a)
	return &a
}

func (l *live) get(who fields, path string) (*api.GetAnswer, error) {
	var a api.GetAnswer
	return &a, l.ask("get", who.with(fields{"path": path}), &a)
}

// status returns the status of the daemon, including its health.
func (l *live) status() (api.Status, error) {
	var s struct {
		api.Status
		Healthy bool `json:"healthy"`
	}
	err := l.ask("status", fields{}, &s)
	s.Status.Healthy = s.Healthy
	return s.Status, err
}

func (l *live) mustStatus() api.Status {
	l.t.Helper()
	s, err := l.status()
	testkit.Must(l.t, err)
	return s
}

func (l *live) check() *api.CheckAnswer {
	l.t.Helper()
	var a api.CheckAnswer
	l.must("check", owner, &a)
	return &a
}

// wantAgreement checks that files and index agree.
func (l *live) wantAgreement() {
	l.t.Helper()
	if c := l.check(); len(c.Differing) != 0 {
		l.t.Errorf("check says %+v", c.Differing)
	}
}

// sync waits until everything saved before can be found.
func (l *live) sync() {
	l.t.Helper()
	var a api.SyncAnswer
	l.must("sync", owner.with(fields{"timeout": "2m"}), &a)
}

// until waits until a condition is true, for up to a minute.
func (l *live) until(what string, cond func() bool) {
	l.t.Helper()
	l.within(time.Minute, what, cond)
}

func (l *live) within(limit time.Duration, what string, cond func() bool) {
	l.t.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-l.done:
			l.done <- err
			l.t.Fatalf("the daemon has ended: %v", err)
		default:
		}
		if time.Now().After(end) {
			s, err := l.status()
			l.t.Fatalf("not within %s: %s; %v; status %+v", limit, what, err, s)
		}
	}
}

// suspend stops the daemon until resume. When it returns, all threads are stopped, which
// the signal alone does not wait for.
func (l *live) suspend() {
	l.t.Helper()
	testkit.Must(l.t, l.cmd.Process.Signal(syscall.SIGSTOP))
	l.until("it is stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", l.cmd.Process.Pid))
		return !slices.ContainsFunc(threads, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && !bytes.Contains(text, []byte(") T "))
		})
	})
}

// resume continues the execution of the daemon.
func (l *live) resume() {
	l.t.Helper()
	testkit.Must(l.t, l.cmd.Process.Signal(syscall.SIGCONT))
}

// path returns the path of a file of the memory.
func (l *live) path(path string) string { return filepath.Join(l.root, path) }

func (l *live) read(path string) string {
	l.t.Helper()
	text, err := os.ReadFile(l.path(path))
	testkit.Must(l.t, err)
	return string(text)
}

func (l *live) write(path, text string) {
	l.t.Helper()
	testkit.WriteFile(l.t, l.path(path), text)
}

// peak returns the daemon's peak resident memory in MiB.
func (l *live) peak() int { return l.kilobytes("VmHWM") >> 10 }

func (l *live) kilobytes(key string) int {
	l.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		l.t.Skip("the memory of a process can only be read where there is /proc")
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			testkit.Must(l.t, err)
			return n
		}
	}
	l.t.Fatalf("no %s in the status of a process", key)
	return 0
}

// raced reports whether the race detector is on, which needs memory.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// homeDir creates a directory that is not below /tmp or $TMPDIR, where editors
// save with less care.
func homeDir(t *testing.T) string {
	t.Helper()
	for _, parent := range []func() (string, error){os.UserHomeDir, os.Getwd} {
		dir, err := parent()
		if err != nil || strings.HasPrefix(dir, "/tmp") {
			continue
		}
		dir, err = os.MkdirTemp(dir, "memwatchd-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	t.Skip("no directory can be made outside /tmp")
	return ""
}

// needs skips a test if a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

// texts returns the texts of hits with their places, sorted by place.
func texts(a *api.SearchAnswer) []string {
	var list []string
	for _, h := range a.Hits {
		list = append(list, fmt.Sprintf("%s:%d-%d %s", h.Path, h.Line, h.EndLine, h.Text))
	}
	slices.Sort(list)
	return list
}

// nobody is the user ID of a daemon that must not run as root when the tests
// do.
const nobody = 65534

// newSomebodys returns a daemon that is subject to file permissions, even if
// the tests run as root.
func newSomebodys(t *testing.T, config string) *live {
	t.Helper()
	l := newLive(t, "", config)
	base := filepath.Dir(l.config)
	l.root = filepath.Join(base, "root")
	testkit.Must(t, os.Mkdir(l.root, 0o700))
	l.configure(config)
	if os.Geteuid() == 0 {
		l.uid = nobody
		self, err := os.Executable()
		testkit.Must(t, err)
		program, err := os.ReadFile(self)
		testkit.Must(t, err)
		// Other users cannot read the directory of the test binary.
		l.program = filepath.Join(base, "memwatchd")
		testkit.Must(t, os.WriteFile(l.program, program, 0o755))
	}
	return l
}

// own makes the daemon's user the owner of all its files.
func (l *live) own() {
	l.t.Helper()
	if l.uid == 0 {
		return
	}
	err := filepath.WalkDir(filepath.Dir(l.config), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, l.uid, l.uid)
	})
	testkit.Must(l.t, err)
}
