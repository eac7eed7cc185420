// Package browser tests the page of package ui in Chromium, with a daemon. It is
// a module of its own, so that its dependencies are not those of the daemon. The
// tests are skipped if there is no browser.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	shots  = flag.String("shots", "", "write screenshots of all pages into this directory")
	memory = flag.String("memory", "", "directory to copy into the memory of TestPages")
	query  = flag.String("query", "the certificate", "words that TestPages searches for")
	axe    = flag.String("axe", "", "axe.min.js of axe-core, to check the accessibility of all pages")
)

// patience bounds the wait for a state of the page.
const patience = 20 * time.Second

// program is the built memwatchd.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "memwatchd")
	build := exec.Command("go", "build", "-o", program, "./cmd/memwatchd")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A console is a daemon, its console and a browser that shows it.
type console struct {
	*testing.T
	ctx     context.Context // of the tab
	memory  string
	address string
	env     []string

	mu       sync.Mutex
	problems []string
}

const example = `# 2026-02-05

- The billing database runs in eu-central-1.
- The landlord wants 900 euros.
- [ ] Add an index on reports.created_at
`

// start starts a daemon for the files, the console and a browser. At the end it
// fails the test if the browser reported an error, a violation of the content
// security policy, or a request to another origin.
func start(t *testing.T, files map[string]string, flags ...string) *console {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no browser: install chromium")
	}
	home := t.TempDir()
	c := &console{T: t, memory: filepath.Join(home, "memory")}
	c.env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
	for _, name := range []string{"CONFIG_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"} {
		c.env = append(c.env, "XDG_"+name+"="+filepath.Join(home, strings.ToLower(name)))
	}
	for name, text := range files {
		c.save(name, text)
	}
	if *memory != "" && t.Name() == "TestPages" {
		if err := os.CopyFS(c.memory, os.DirFS(*memory)); err != nil {
			t.Fatal(err)
		}
	}
	if t.Name() == "TestPages" && *memory == "" {
		c.run("init", "--dir", c.memory, "--example")
	} else {
		c.run("init", "--dir", c.memory)
	}
	t.Cleanup(func() { c.run("stop") })
	c.run("sync", "--timeout", "5m") // starts the daemon
	ui := c.command(append([]string{"ui", "--no-open"}, flags...)...)
	out, err := ui.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.begin(ui)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c.address = strings.TrimSpace(line)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(home, "profile")))...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	c.ctx = tab
	if err := chromedp.Listen(tab, c.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range c.problems {
			t.Error(p)
		}
	})
	return c
}

// listen records what a page must not do.
func (c *console) listen(event any) {
	problem := ""
	origin, _, _ := strings.Cut(c.address, "/#")
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			problem = fmt.Sprintf("console: %s", e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			problem = fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		isInternal := e.Request.URL == "about:blank" || strings.HasPrefix(e.Request.URL, "data:") // icons of the browser
		if !strings.HasPrefix(e.Request.URL, origin+"/") && !isInternal {
			problem = "request to " + e.Request.URL
		}
	}
	if problem != "" {
		c.mu.Lock()
		c.problems = append(c.problems, problem)
		c.mu.Unlock()
	}
}

func (c *console) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = c.env
	return cmd
}

// begin starts a command and interrupts it at the end of the test.
func (c *console) begin(cmd *exec.Cmd) {
	c.Helper()
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
}

// run runs the program and returns its standard output.
func (c *console) run(args ...string) string {
	c.Helper()
	cmd := c.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.Fatalf("memwatchd %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// save writes a file of the memory.
func (c *console) save(name, text string) {
	c.Helper()
	path := filepath.Join(c.memory, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		c.Fatal(err)
	}
}

// do runs actions in the tab.
func (c *console) do(actions ...chromedp.Action[chromedp.Void]) {
	c.Helper()
	if err := chromedp.Do(c.ctx, actions...); err != nil {
		c.Fatal(err)
	}
}

func (c *console) open() {
	c.Helper()
	if _, err := chromedp.Call(c.ctx, network.Enable, network.EnableParams{}); err != nil {
		c.Fatal(err)
	}
	c.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(c.address), chromedp.WaitVisible("nav a"))
}

func evaluate[T any](c *console, expression string, opts ...chromedp.EvaluateOption) T {
	c.Helper()
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](expression, opts...))
	if err != nil {
		c.Fatal(err)
	}
	return v
}

// search types a query in place of the present one.
func (c *console) search(query string) {
	c.Helper()
	c.wait("document.querySelector('main input[type=search]')")
	evaluate[string](c, "document.querySelector('input[type=search]').value = ''")
	c.do(chromedp.SendKeys("input[type=search]", query))
}

func (c *console) goTo(page string) {
	c.Helper()
	evaluate[chromedp.Void](c, fmt.Sprintf("location.hash = %q", page))
}

// wait waits until a JavaScript expression is true.
func (c *console) wait(expression string) {
	c.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if evaluate[bool](c, "Boolean("+expression+")") {
			return
		}
	}
	c.Fatalf("%s is still false; the page:\n%s", expression, evaluate[string](c, "document.body.innerText"))
}

// contains returns an expression: the element contains the text.
func contains(selector, text string) string {
	return fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, text)
}

// TestFind checks that a search finds a line right after it was saved, without a
// further key, and that Enter shows its file.
func TestFind(t *testing.T) {
	c := start(t, map[string]string{"memory/2026-02-05.md": example})
	c.open()
	c.search("billing datab")
	c.wait(contains(".rows", "eu-central-1"))
	c.search("giraffe")
	c.wait(contains("main", "No entry contains giraffe"))
	begin := time.Now()
	c.save("notes/zoo.md", "# Zoo\n\nThe giraffe is called Emma.\n")
	c.wait(contains(".rows", "Emma"))
	t.Logf("shown %s after the save", time.Since(begin).Round(time.Millisecond))
	c.wait(contains("aside .hit", "Emma"))
	c.do(chromedp.EmulateViewport(360, 800), chromedp.Focus(".row"), chromedp.KeyEvent(kb.Enter))
	c.wait(contains("main > section > article .hit", "Emma"))
}

// TestTick checks that a task in one file is ticked at once, one in several files
// after its plan was shown, and that a tick can be undone.
func TestTick(t *testing.T) {
	c := start(t, map[string]string{"memory/2026-02-05.md": example})
	c.open()
	file := func() string {
		data, err := os.ReadFile(filepath.Join(c.memory, "memory", "2026-02-05.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := file()
	c.goTo("tasks")
	c.do(chromedp.WaitVisible(".task input"), chromedp.Click(".task input"))
	c.wait(contains("#notice", "Done, in 1 place"))
	if !strings.Contains(file(), "- [x] Add an index") {
		t.Fatalf("the task is not ticked:\n%s", file())
	}
	c.do(chromedp.Click("#notice button"))
	c.wait(contains("#notice", "Undid 1 change"))
	if file() != before {
		t.Errorf("after the undo:\n%s", file())
	}
	c.save("memory/2026-02-06.md", "# 2026-02-06\n\n- [ ] Add an index on reports.created_at\n")
	c.wait(contains("main .rows", "2026-02-06.md"))
	c.do(chromedp.Click(".task input"))
	c.wait(contains("dialog", "memory/2026-02-05.md:5"))
	if file() != before {
		t.Error("the file changed before consent")
	}
	c.do(chromedp.KeyEvent(kb.Escape))
	c.goTo("journal")
	c.wait(contains(".rows", "undone"))
	c.wait(contains(".session h3", "console"))
	c.wait(contains(".rows del", "[x]"))
}

// TestReadOnly checks that a console for reading offers no changes.
func TestReadOnly(t *testing.T) {
	files := map[string]string{"memory/2026-02-05.md": example}
	maps.Copy(files, conflictCopies)
	c := start(t, files, "--read-only")
	c.run("todo", "done", "Add an index on reports.created_at")
	c.open()
	c.goTo("journal")
	c.wait(contains(".rows", "2026-02-05.md"))
	c.wait("![...document.querySelectorAll('button')].some((b) => b.innerText.startsWith('Undo'))")
	c.goTo("health")
	c.wait(contains("main .diff", "<b>pears</b>"))
	c.wait("!document.querySelector('main .rows button')")
}

// TestViews checks that the view of another caller contains what this caller
// gets from the daemon.
func TestViews(t *testing.T) {
	c := start(t, map[string]string{"memory/2026-02-05.md": example,
		"memory/2026-02-05.public.md": "---\nvisibility: public_ok\n---\n\n- The billing database has two copies.\n"})
	var want struct {
		Hits []struct{ Text string }
	}
	answer := c.run("search", "--context", "public", "--by", "entry", "--json", "database", "landlord")
	if err := json.Unmarshal([]byte(answer), &want); err != nil || len(want.Hits) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	c.open()
	c.goTo("views")
	c.search("database landlord")
	c.wait("document.querySelectorAll('[aria-label=You] .row').length >= 2")
	c.wait("document.querySelectorAll('[aria-label=They] .row').length === 1")
	c.wait(contains("[aria-label=They] .rows", strings.TrimPrefix(want.Hits[0].Text, "- ")))
	c.wait(contains("[aria-label=They]", "hidden from them"))
	c.goTo("given")
	c.wait(contains("pre.file", "2026-02-05"))
	c.search("where does the billing database run")
	c.wait(contains("pre.file", "eu-central-1"))
	c.do(chromedp.SetValue("[aria-label=Context]", "public"))
	evaluate[chromedp.Void](c, "document.querySelector('[aria-label=Context]').dispatchEvent(new Event('input', {bubbles: true}))")
	c.wait("!" + contains("pre.file", "eu-central-1"))
}

// pages are the pages of the console.
var pages = []string{"find", "browse", "days", "tasks", "longterm", "journal", "given", "views", "health"}

// TestText checks that text of the memory is shown as it is on every page, and
// that none of it is executed.
func TestText(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "markup.md"))
	if err != nil {
		t.Fatal(err)
	}
	const image = "<img src=x onerror=document.title=1>"
	today := time.Now().Format(time.DateOnly)
	c := start(t, map[string]string{"memory/" + today + ".md": string(data),
		"MEMORY.md": "# Memory\n\n## Key Facts\n- " + image + "\n",
		"notes/" + image + ".md": "# <script>document.title=1</script>\n\n- [ ] <b onclick=1>x</b>\n\n" +
			"needle [" + image + "](" + image + ".md) [a](notes/a\u202eb.md)\n",
		"notes/a\u202eb.md": "# a\u202eb\n\n- [ ] needle \u202e\x1b\n",
		today + "/s.md": "---\nsummary: \"" + image + "\"\nsession_id: \"" + image + "\"\ncontact_id: \"" + image + "\"\n" +
			"contact_nickname: \"" + image + "\"\ntags: [\"" + image + "\", project:x]\n---\n\n# Facts\n\n- needle fact #project:x\n"})
	c.run("note", "--topic", image, "--tags", "a", "needle "+image)
	c.open()
	extra := []string{"read?path=memory/" + today + ".md", "read?path=" + today + "/s.md", "browse?dir=notes", "browse?project=x",
		"browse?kind=session", "find?q=needle", "tasks?notes=1&state=all", "read?path=notes/" + url.QueryEscape(image) + ".md"}
	for _, page := range append(slices.Clone(pages), extra...) {
		c.goTo(page)
		c.wait("document.querySelector('main section')?.childElementCount > 0")
		if !slices.Contains([]string{"browse", "browse?project=x", "browse?kind=session", "health"}, page) {
			c.wait(contains("main", "<"))
		}
		time.Sleep(200 * time.Millisecond) // for titles and files beside lists
		c.wait("!document.querySelector('main :is(img, script, iframe, a:not([href^=\"#\"]), b, style, form form)')")
		c.wait("document.title.endsWith('memwatchd')")
		c.wait(`!/[\u202e\u001b]/.test(document.body.textContent)`)
	}
	c.goTo("read?path=memory/" + today + ".md")
	c.click("main button", "link")
	c.wait(contains("dialog", "example.com"))
}

// TestKeyIsUsedOnce checks that the address opens the page once, and that the
// page survives a reload.
func TestKeyIsUsedOnce(t *testing.T) {
	c := start(t, map[string]string{"memory/2026-02-05.md": example})
	c.open()
	c.wait("location.hash === '#find'")
	c.do(chromedp.Reload())
	c.wait("document.querySelector('input[type=search]')")
	evaluate[chromedp.Void](c, "sessionStorage.clear()")
	c.do(chromedp.Navigate("about:blank"), chromedp.Navigate(c.address))
	c.wait(contains("#notice", "used before"))
	c.wait(contains("main", "No session"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = slices.DeleteFunc(c.problems, func(p string) bool { return strings.Contains(p, "403") })
}

// TestPages checks the accessibility of all pages with -axe, and takes
// screenshots with -shots.
func TestPages(t *testing.T) {
	if *shots == "" && *axe == "" {
		t.Skip("give -shots DIR or -axe FILE")
	}
	c := start(t, nil)
	if *memory == "" {
		c.run("note", "The new certificate is installed.")
	}
	c.open()
	all := slices.Clone(pages)
	c.wait("document.querySelector('main [aria-live]').textContent")
	if file := evaluate[string](c, "document.querySelector('.row a')?.hash.slice(1) ?? ''"); file != "" {
		all = append(all, file)
	}
	for _, scheme := range []string{"light", "dark"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
		for _, page := range all {
			for _, width := range []int64{360, 768, 1600} {
				c.do(chromedp.EmulateViewport(width, 800))
				c.goTo("") // so that the page is made for the width
				c.goTo(page)
				c.do(chromedp.Sleep(time.Second))
				if page == "find" {
					c.search(*query)
					c.do(chromedp.Sleep(time.Second))
				}
				c.wait("document.documentElement.scrollWidth <= innerWidth")
				if *axe != "" {
					c.checkAccess(page)
				}
				if *shots == "" {
					continue
				}
				image, err := chromedp.Run(c.ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				name, _, _ := strings.Cut(page, "?")
				if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)), image, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// checkAccess fails the test for each violation that axe-core finds.
func (c *console) checkAccess(page string) {
	c.Helper()
	script, err := os.ReadFile(*axe)
	if err != nil {
		c.Fatal(err)
	}
	evaluate[chromedp.Void](c, string(script)+";0")
	const run = "axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes[0].html}`))"
	for _, v := range evaluate[[]string](c, run, chromedp.EvalAwaitPromise) {
		c.Errorf("%s: %s", page, v)
	}
}

// TestTabs checks that a further tab takes the session of the first one after a person
// allowed it there.
func TestTabs(t *testing.T) {
	c := start(t, map[string]string{"memory/2026-02-05.md": example})
	c.open()
	first := c.ctx
	address, _, _ := strings.Cut(c.address, "#")
	tab, cancel := chromedp.NewContext(first)
	t.Cleanup(cancel)
	c.ctx = tab
	c.do(chromedp.Navigate(address + "#read?path=memory/2026-02-05.md&line=4"))
	c.wait(contains("main", "select Allow there"))
	c.ctx = first
	c.click("#notice button", "Allow")
	c.ctx = tab
	c.wait(contains("main .hit", "The landlord"))
}

// TestOffline checks that the page keeps what it shows while the daemon does not
// answer, and continues when it does.
func TestOffline(t *testing.T) {
	c := start(t, map[string]string{"memory/2026-02-05.md": example})
	c.open()
	c.wait(contains("main", "The billing database"))
	c.run("stop")
	c.wait(contains("#state", "The daemon does not answer"))
	c.wait(contains("main", "The billing database"))
	c.save("notes/zoo.md", "# Zoo\n\nThe giraffe is called Emma.\n")
	c.run("sync") // starts the daemon
	c.wait("!" + contains("#state", "daemon"))
	c.search("giraffe")
	c.wait(contains(".rows", "Emma"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = slices.DeleteFunc(c.problems, func(p string) bool { return strings.Contains(p, "503") })
}
