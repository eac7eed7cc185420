package e2e

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/hook"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/statetest"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestMain lets the test binary act as the program: scripts run it as
// memwatchd, so that their daemons are built like the tests.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"memwatchd": func() {
		if clockFace := os.Getenv(stopped); clockFace != "" {
			config.Now = func() time.Time { return readClock(clockFace) }
		}
		if os.Getenv(patience) != "" || os.Getenv(stopped) != "" {
			hook.TimeLimit, cli.NamesTimeout = time.Minute, time.Minute
			mcp.PermittedTimeout, mcp.LastAnswersTimeout = time.Minute, time.Minute
		}
		if ahead, err := time.ParseDuration(os.Getenv(clockAhead)); err == nil {
			config.Now = func() time.Time { return time.Now().Add(ahead) }
		}
		service.Disabled = os.Getenv(autostart) == ""
		config.OnRemoved = tune
		app.Main()
	}})
}

// tune sets a value that has no key any more, as in earlier versions: the tests
// configure short intervals and high limits.
func tune(c *config.Config, key, value string) {
	t := &c.Tuning
	durations := map[string]*time.Duration{
		"watch.settle": &t.Settle, "watch.max_wait": &t.MaxWait, "watch.vanish": &t.Vanish,
		"watch.reconcile": &t.Reconcile, "watch.poll": &t.Poll, "ipc.sync_timeout": &t.SyncTimeout,
		"write.quiet": &t.Quiet, "ipc.drain": &t.Limits.Drain, "ipc.read_body": &t.Limits.ReadBody,
		"share.weaviate.timeout": &t.ShareTimeout, "share.weaviate.query_timeout": &t.ShareQuery, "embed.query_timeout": &t.EmbedQuery, "llm.timeout": &t.ModelTimeout,
	}
	var err error
	switch key {
	case "write.fuse":
		t.MaxChanges, err = strconv.Atoi(value)
	case "ipc.max_connections":
		t.Limits.MaxConnections, err = strconv.Atoi(value)
	case "compactor.max_loss":
		t.MaxLoss, err = strconv.ParseFloat(value, 64)
	default:
		*durations[key], err = time.ParseDuration(value)
	}
	if err != nil {
		panic(err)
	}
}

// stopped is the environment variable with the time of a daemon's stopped
// clock, or with the name of a file that contains this time and can change.
const stopped = "STOPPED_CLOCK"

// patience is the environment variable that lets hooks, completions and the bridge wait
// for the daemon, and changes of files take longer, on a busy machine.
const patience = "PATIENT"

// clockAhead is the environment variable with the time by which a daemon's clock is
// ahead.
const clockAhead = "CLOCK_AHEAD"

// autostart is the environment variable that lets commands start daemons.
const autostart = "AUTOSTART"

func readClock(face string) time.Time {
	if now, err := time.Parse(time.RFC3339, face); err == nil {
		return now
	}
	for {
		text, err := os.ReadFile(face)
		if err != nil {
			panic(err)
		}
		now, err := time.Parse(time.RFC3339, string(text))
		if err == nil {
			return now
		}
		if len(text) > 0 {
			panic(err)
		}
		time.Sleep(time.Millisecond) // the test is writing it
	}
}

// TestScripts runs the scripts, which use the program like a user. In addition
// to the usual commands they have:
//
//	daemon NAME start [ARG...]   start memwatchd serve and wait until its index is complete
//	daemon NAME launch [ARG...]  start memwatchd serve without waiting
//	daemon NAME run CMD [ARG...] start another long-running memwatchd command
//	daemon NAME log PATTERN      wait for a log line that matches
//	daemon NAME signal SIGNAL    send HUP, TERM, INT, KILL, STOP or CONT
//	daemon NAME wait CODE        wait for the end and check the exit code
//	exits CODE PROGRAM [ARG...]  run a program and check its exit code
//	http METHOD PATH [BODY]      send a request to $SOCK; stdout is the answer
//	call CODE OP[,OP...] [BODY]  post requests to $SOCK and check their error code, or ok
//	until PATTERN PROGRAM [ARG...]  run a program until its output matches, or with ! does not
//	holding TEXT DIR             list the files with a text, also in versions of the journal
//	canned FILE                  answer each request to $CANNED or $CANNED_URL with the content of a
//	                             file, or an error without the file; append requests to received
//	fill FROM TO                 copy a file and expand the $VARIABLES in it
//	printf TEXT FILE             write a file; both arguments may contain Go escapes
//
// The condition [root] is true for root, who ignores permissions.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestCompatibility runs scripts on directories of other memory systems, which
// only init configures. Each step names the system and the line of its
// description; docs/internals/compatibility.md summarizes the steps.
func TestCompatibility(t *testing.T) { runScripts(t, "testdata/compat") }

func runScripts(t *testing.T, dir string) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Setup:               setUpScript,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon":  scriptDaemon,
			"exits":   scriptExits,
			"http":    scriptHTTP,
			"call":    scriptCall,
			"until":   scriptUntil,
			"holding": scriptHolding,
			"canned":  scriptCanned,
			"fill":    scriptFill,
			"printf":  scriptPrintf,
			"store":   scriptStore,
		},
	})
}

// scriptStore stores files as whole versions in a directory of a journal.
func scriptStore(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: store DIR FILE...")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	for _, name := range args[1:] {
		text := ts.ReadFile(name)
		sum := sha256.Sum256([]byte(text))
		b := bytes.NewBuffer(slices.Clone(sum[:]))
		w, _ := flate.NewWriter(b, flate.BestSpeed)
		w.Write(append(binary.AppendUvarint([]byte{0, 0}, uint64(len(text))), text...))
		ts.Check(w.Close())
		ts.Check(os.WriteFile(filepath.Join(dir, hex.EncodeToString(sum[:])[:32]), b.Bytes(), 0o600))
	}
}

type daemonsKey struct{}

// setUpScript creates separate directories for each script. Socket directories
// have short names, because a socket path has at most 107 bytes.
func setUpScript(env *testscript.Env) error {
	run, err := os.MkdirTemp("/tmp", "mw")
	if err != nil {
		return err
	}
	env.Defer(func() { os.RemoveAll(run) })
	home := filepath.Join(env.WorkDir, "home")
	program, err := exec.LookPath("memwatchd")
	if err != nil {
		return err
	}
	source, err := filepath.Abs(repository)
	if err != nil {
		return err
	}
	for _, pair := range [][2]string{
		{"HOME", home}, {"TZ", "UTC"}, {"PROGRAM", program}, {patience, "1"},
		{"REPOSITORY", source}, {"GORACE", os.Getenv("GORACE") + " atexit_sleep_ms=0"}, // without this, each command waits a second at its end
		{"XDG_RUNTIME_DIR", run}, {"SOCK", filepath.Join(run, "memwatchd", "memwatchd.sock")},
		{"CANNED", filepath.Join(run, "canned.sock")}, {"BOT", filepath.Join(run, "bot.sock")},
		{"XDG_CONFIG_HOME", filepath.Join(home, ".config")}, {"XDG_STATE_HOME", filepath.Join(home, ".local", "state")},
		{"XDG_CACHE_HOME", filepath.Join(home, ".cache")},
	} {
		env.Setenv(pair[0], pair[1])
	}
	daemons := map[string]*scriptProcess{}
	env.Values[daemonsKey{}] = daemons
	env.Defer(func() {
		for name, d := range daemons {
			end := os.Kill
			if d.serves {
				end = syscall.SIGTERM
				d.cmd.Process.Signal(syscall.SIGCONT)
			}
			d.cmd.Process.Signal(end)
			time.AfterFunc(time.Minute, func() { d.cmd.Process.Kill() })
			<-d.ended
			if got := exitCode(d.cmd.ProcessState); d.serves && got != "0" {
				env.T().Log("daemon", name, "ended with", got, d.log.String())
				defer env.T().FailNow()
			}
		}
		stopBackground(filepath.Join(run, "memwatchd"))
	})
	return os.MkdirAll(home, 0o700)
}

// stopBackground kills the daemons that still answer on the sockets in dir:
// commands of a script that failed have started them.
func stopBackground(dir string) {
	sockets, _ := filepath.Glob(filepath.Join(dir, "*.sock"))
	for _, socket := range sockets {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		status, err := client.Call(ctx, &client.Client{Socket: socket, AsOwner: true}, api.StatusRequest{})
		cancel()
		if err == nil && status.Status != nil && status.PID > 0 {
			syscall.Kill(status.PID, syscall.SIGKILL)
		}
	}
}

// A scriptProcess is a daemon that a script started.
type scriptProcess struct {
	cmd    *exec.Cmd
	serves bool          // it is a daemon, which ends without an error after the script
	ended  chan struct{} // closed when the process has ended; cmd.ProcessState contains the result
	log    testkit.Output
	seen   int // bytes of the log matched so far
}

// await waits for a log line that matches pattern, after the previous match.
func (p *scriptProcess) await(pattern *regexp.Regexp) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		over := time.Now().After(end)
		select {
		case <-p.ended:
			over = true
		default:
		}
		if at := pattern.FindStringIndex(p.log.String()[p.seen:]); at != nil {
			p.seen += at[1]
			return nil
		}
		if over {
			return fmt.Errorf("no line of the log matches %s:\n%s", pattern, p.log.String())
		}
	}
}

func scriptDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: daemon NAME start|launch|run|log|signal|wait ...")
	}
	daemons := ts.Value(daemonsKey{}).(map[string]*scriptProcess)
	name, verb, args := args[0], args[1], args[2:]
	if verb == "run" {
		daemons[name] = launch(ts, args...)
		return
	}
	if verb == "start" || verb == "launch" {
		p := launch(ts, append([]string{"serve"}, args...)...)
		p.serves, daemons[name] = true, p
		if verb == "start" {
			ts.Check(p.await(regexp.MustCompile(`(?m)^.*msg="index is complete".*$`)))
			var flags []string
			for i := 0; i+1 < len(args); i += 2 {
				flags = append(flags, args[i], args[i+1])
			}
			ts.Check(ts.Exec("memwatchd", append([]string{"sync", "--timeout", "1m"}, flags...)...))
		}
		return
	}
	p := daemons[name]
	if p == nil || len(args) != 1 {
		ts.Fatalf("daemon %s: there is none, or %s has not one argument", name, verb)
	}
	switch verb {
	case "log":
		pattern, err := regexp.Compile(`(?m)^.*` + args[0] + `.*$`)
		ts.Check(err)
		ts.Check(p.await(pattern))
	case "signal":
		signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": os.Interrupt, "KILL": os.Kill, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
		if signals[args[0]] == nil {
			ts.Fatalf("daemon: unknown signal %s", args[0])
		}
		ts.Check(p.cmd.Process.Signal(signals[args[0]]))
	case "wait":
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			ts.Fatalf("daemon %s does not end:\n%s", name, p.log.String())
		}
		if got := exitCode(p.cmd.ProcessState); got != args[0] {
			ts.Fatalf("daemon %s ended with %s, want %s:\n%s", name, got, args[0], p.log.String())
		}
		io.WriteString(ts.Stderr(), p.log.String())
		delete(daemons, name)
	default:
		ts.Fatalf("daemon: unknown verb %s", verb)
	}
}

// exitCode returns the exit code of a process, or the name of the signal that
// ended it.
func exitCode(s *os.ProcessState) string {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return strconv.Itoa(s.ExitCode())
}

func launch(ts *testscript.TestScript, args ...string) *scriptProcess {
	path, err := exec.LookPath("memwatchd")
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnviron(ts)
	p, err := startProcess(cmd)
	ts.Check(err)
	return p
}

func startProcess(cmd *exec.Cmd) (*scriptProcess, error) {
	p := &scriptProcess{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// scriptEnviron returns the part of a script's environment that the program
// uses.
func scriptEnviron(ts *testscript.TestScript) []string {
	names := []string{"PATH", "HOME", "TZ", "TMPDIR", "GOCOVERDIR", "GORACE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", stopped,
		config.EnvPrefix + "WRITE_QUIET"}
	for _, k := range config.Keys {
		names = append(names, k.Env())
	}
	var environ []string
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if failure, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exitCode(failure.ProcessState)
	} else {
		ts.Check(err)
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

func scriptHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: http METHOD PATH [BODY]")
	}
	body := strings.Join(args[2:], "")
	req, err := http.NewRequest(args[0], "http://memwatchd"+args[1], strings.NewReader(body))
	ts.Check(err)
	res, err := overSocket(ts.Getenv("SOCK")).Do(req)
	ts.Check(err)
	defer res.Body.Close()
	_, err = io.Copy(ts.Stdout(), res.Body)
	ts.Check(err)
	fmt.Fprintln(ts.Stderr(), res.Status)
}

func scriptCall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: call CODE OP[,OP...] [BODY]")
	}
	for op := range strings.SplitSeq(args[1], ",") {
		body := strings.NewReader(strings.Join(append(args[2:], "{}")[:1], ""))
		res, err := overSocket(ts.Getenv("SOCK")).Post("http://memwatchd/v1/"+op, "application/json", body)
		ts.Check(err)
		answer, err := io.ReadAll(res.Body)
		ts.Check(errors.Join(err, res.Body.Close()))
		var failed struct{ Error api.Error }
		json.Unmarshal(answer, &failed) // of an answer without an error, the code is empty
		if got := cmp.Or(string(failed.Error.Code), "ok"); got != args[0] {
			ts.Fatalf("%s: %s, want %s: %s", op, got, args[0], answer)
		}
		ts.Stdout().Write(answer)
	}
}

func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM [ARG...]")
	}
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ts.Exec(args[1], args[2:]...) // it may fail, as grep does
		if pattern.MatchString(ts.ReadFile("stdout")) != neg {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("the output of %q does not match %s within a minute, or still does", args[1:], args[0])
		}
	}
}

func scriptHolding(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: holding TEXT DIR")
	}
	list, err := statetest.FilesContaining(ts.MkAbs(args[1]), args[0])
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), strings.Join(list, "\n"))
}

func overSocket(path string) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
}

func scriptCanned(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: canned FILE")
	}
	var mu sync.Mutex
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer, err := os.ReadFile(ts.MkAbs(args[0]))
		body, _ := io.ReadAll(r.Body)
		received, _ := os.OpenFile(ts.MkAbs("received"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		fmt.Fprintf(received, "%s %s\n", r.Header.Get("Authorization"), body)
		received.Close()
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		w.Write(answer)
	})}
	local, err := net.Listen("unix", ts.Getenv("CANNED"))
	ts.Check(err)
	loopback, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("CANNED_URL", "http://"+loopback.Addr().String())
	go server.Serve(local)
	go server.Serve(loopback)
	ts.Defer(func() { server.Close() })
}

func scriptFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FROM TO")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

func scriptPrintf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: printf TEXT FILE")
	}
	for i, arg := range args {
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`)
		ts.Check(err)
		args[i] = text
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(args[0]), 0o600))
}
