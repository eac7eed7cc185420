package browser

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// mostActions bounds the actions of an everyday task: clicks, keys and typed texts.
const mostActions = 4

// An actor counts the actions of a person.
type actor struct {
	*console
	actions int
}

// page opens a page by its link.
func (a *actor) page(name string) {
	a.Helper()
	a.actions++
	evaluate[chromedp.Void](a.console, fmt.Sprintf("document.querySelector('nav a[href=\"#%s\"]').click()", name))
}

// press clicks the first visible button, box or link whose text begins with a label.
func (a *actor) press(label string) {
	a.Helper()
	a.actions++
	const find = `[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a, summary, input[type=checkbox]")]
		.find((e) => e.offsetParent && !e.disabled && (e.ariaLabel ?? e.innerText).startsWith(%q))`
	button := fmt.Sprintf(find, label)
	a.wait(button)
	evaluate[chromedp.Void](a.console, button+".click()")
}

// agree clicks a button of the dialog.
func (a *actor) agree(label string) {
	a.Helper()
	a.wait("document.querySelector('dialog[open]')")
	a.press(label)
}

// key presses a key outside of texts.
func (a *actor) key(key string) {
	a.Helper()
	a.actions++
	evaluate[chromedp.Void](a.console, fmt.Sprintf(
		"document.activeElement.blur(), document.body.dispatchEvent(new KeyboardEvent('keydown', {key: %q, bubbles: true, cancelable: true}))", key))
}

// enter replaces the text of a field.
func (a *actor) enter(selector, text string) {
	a.Helper()
	a.actions++
	a.wait(fmt.Sprintf("document.querySelector(%q)?.offsetParent", selector))
	evaluate[chromedp.Void](a.console, fmt.Sprintf(
		"{ const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})); }", selector, text))
}

// change replaces a part of the text of a field.
func (a *actor) change(selector, old, text string) {
	a.Helper()
	a.wait(fmt.Sprintf("document.querySelector(%q)", selector))
	a.enter(selector, strings.Replace(evaluate[string](a.console, fmt.Sprintf("document.querySelector(%q).value", selector)), old, text, 1))
}

// access checks the accessibility of the present state of the page, with -axe.
func (a *actor) access(name string) {
	if *axe != "" {
		a.checkAccess(name)
	}
}

// file waits until a file of the memory has, or lacks, a text.
func (a *actor) file(name, text string, has bool) {
	a.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(a.load(name), text) == has {
			return
		}
	}
	a.Fatalf("%s: contains %q is not %v:\n%s", name, text, has, a.load(name))
}

// asAgent executes an operation as an agent.
func (c *console) asAgent(op, body string) {
	c.Helper()
	socket := filepath.Join(filepath.Dir(c.memory), "runtime_dir", "memwatchd", "memwatchd.sock")
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	req, err := http.NewRequest(http.MethodPost, "http://memwatchd/v1/"+op, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Memwatchd-As-Owner": "1",
		"Memwatchd-Program": "mcp:claude-code", "Memwatchd-Session": "morning"} {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.Fatalf("%s: %s", op, res.Status)
	}
}

// TestEveryday checks that everyday tasks take few actions. Each task is checked by
// the page that it ends with, or by the files.
func TestEveryday(t *testing.T) {
	today, tomorrow := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	log := "memory/" + today + ".md"
	c := start(t, map[string]string{
		"notes/proxy.md": "# Proxy\n\n- the office proxy listens on port 3128 #net\n- the office proxy needs no password\n\n[plan](plan.md)\n",
		"notes/phone.md": "# Numbers\n\n- the old number is 5550123\n- the new number is 5550188\n",
		"notes/plan.md":  conflictCopies["notes/plan.md"],
		"notes/fruit.md": conflictCopies["notes/fruit.md"],
		"notes/fruit.sync-conflict-20260205-120000-ABCDEFG.md": conflictCopies["notes/fruit.sync-conflict-20260205-120000-ABCDEFG.md"],
		"2023-05-01/talk.md": "---\nsummary: A talk about novels\nsession_id: talk\ncontact_id: m1\ncontact_nickname: 张曼婷\n---\n\n# Summary\n\n- 我当然也喜欢读小说\n",
		"MEMORY.md":          "# Long-Term Memory\n\n## Key Facts\n- prefers tea\n"})
	c.run("todo", "add", "--due", "2026-01-02", "Call the landlord")
	c.asAgent("note", `{"text": "The agent guesses that the user likes coffee."}`)
	c.asAgent("remember", `{"text": "Likes coffee", "explicit": true}`)
	c.open()
	for _, task := range []struct {
		name string
		do   func(a *actor)
	}{
		{"find the proxy and correct its port", func(a *actor) {
			a.enter("input[type=search]", "office proxy port")
			a.wait(contains("aside .hit", "3128"))
			a.press("Edit")
			a.change("textarea", "3128", "8080")
			a.access("form of an entry")
			a.press("Save")
			a.file("notes/proxy.md", "- the office proxy listens on port 8080 #net\n- the office", true)
		}},
		{"take that back", func(a *actor) {
			a.press("Undo")
			a.file("notes/proxy.md", "port 3128 #net\n- the office", true)
		}},
		{"see what the agent wrote", func(a *actor) {
			a.page("journal")
			a.press("mcp:claude-code")
			a.wait(contains("ins", "coffee"))
			a.wait("!" + contains("article .rows", "landlord"))
		}},
		{"take back what the agent wrote this morning", func(a *actor) {
			a.page("journal")
			a.press("Undo this session")
			a.wait(contains("dialog", "Undo 2 changes"))
			a.agree("Undo")
			a.file("MEMORY.md", "coffee", false)
			a.file("MEMORY.md", "prefers tea", true)
			a.file(log, "Call the landlord", true)
		}},
		{"see overdue tasks", func(a *actor) {
			a.page("tasks")
			a.wait(contains("article h2.bad", "Overdue"))
			a.wait(contains("article", "due 2026-01-02"))
		}},
		{"tick a task", func(a *actor) {
			a.page("tasks")
			a.press("Call the landlord")
			a.file(log, "- [x] Call the landlord", true)
		}},
		{"add a task that is due tomorrow", func(a *actor) {
			a.key("t")
			a.enter("dialog textarea", "Pay the rent")
			a.enter("dialog [aria-label=Due]", "tomorrow")
			a.press("Save")
			a.file(log, "Pay the rent 📅 "+tomorrow, true)
		}},
		{"add a note", func(a *actor) {
			a.key("n")
			a.enter("dialog textarea", "The meeting moved to Friday.")
			a.access("dialog of a note")
			a.press("Save")
			a.file(log, "The meeting moved to Friday.", true)
		}},
		{"forget a number for good", func(a *actor) {
			a.key("/")
			a.enter("input[type=search]", "old number")
			a.wait(contains("aside .hit", "old number"))
			a.press("Forget")
			a.wait(contains("dialog", "notes/phone.md"))
			a.access("dialog of forget")
			a.enter("dialog .buttons input", "forget")
			a.actions-- // the field of the search has the focus
			a.agree("Forget the selected")
			a.file("notes/phone.md", "5550123", false)
			a.file("notes/phone.md", "5550188", true)
		}},
		{"see which notes link here", func(a *actor) {
			a.enter("input[type=search]", "kestrel")
			a.wait(contains("aside .links", "notes/proxy.md"))
			a.wait("document.querySelector('aside .network text')")
		}},
		{"read the entries with a tag", func(a *actor) {
			a.page("browse")
			a.press("#net")
			a.wait(contains(".rows", "listens on port"))
		}},
		{"read the last day", func(a *actor) {
			a.page("days")
			a.wait(contains("article", "The meeting moved"))
			a.wait(contains("main", "2023-05-01"))
			a.wait(contains("[aria-label='2023-05-01'] h3", "A talk about novels · 张曼婷"))
		}},
		{"find a conversation by its words", func(a *actor) {
			a.key("/")
			a.wait("document.querySelector('[role=search]')")
			a.enter("input[type=search]", "小说")
			a.wait(contains(".row .title", "A talk about novels · 张曼婷"))
			a.wait(contains("aside .hit", "喜欢读小说"))
		}},
		{"merge a conflict copy", func(a *actor) {
			a.page("health")
			a.press("Merge")
			a.agree("Merge")
			a.file("notes/fruit.md", "pears", true)
		}},
		{"see what a group is given", func(a *actor) {
			a.page("given")
			a.wait(contains("pre.file", "Friday"))
			a.enter("[aria-label=Context]", "public")
			a.wait("!" + contains("pre.file", "Friday"))
			a.page("views")
			a.wait(contains("[aria-label=You]", "Friday"))
			a.wait("!" + contains("[aria-label=They]", "Friday"))
		}},
		{"correct long-term memory", func(a *actor) {
			a.page("longterm")
			a.wait(contains("aside", "prefers tea"))
			a.press("MEMORY.md")
			evaluate[chromedp.Void](c, "[...document.querySelectorAll('aside .block')].at(-1).click()")
			a.actions++
			a.wait(contains("aside .hit", "tea"))
		}},
	} {
		a := &actor{console: c}
		task.do(a)
		c.wait("!document.querySelector('dialog[open]')")
		if a.actions > mostActions {
			t.Errorf("%s: %d actions", task.name, a.actions)
		}
	}
}
