package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// load returns a file of the memory, or "" if it is missing.
func (c *console) load(name string) string {
	c.Helper()
	data, err := os.ReadFile(filepath.Join(c.memory, filepath.FromSlash(name)))
	if err != nil && !os.IsNotExist(err) {
		c.Fatal(err)
	}
	return string(data)
}

// click clicks the first button whose text begins with a label.
func (c *console) click(selector, label string) {
	c.Helper()
	button := fmt.Sprintf("[...document.querySelectorAll(%q)].find((b) => b.innerText.startsWith(%q))", selector, label)
	c.wait(button)
	evaluate[chromedp.Void](c, button+".click()")
}

// conflictCopies are files that two machines changed: one copy with an addition,
// and one in which both machines changed an entry.
var conflictCopies = map[string]string{
	"notes/plan.md": "# Plan\n\n- the server is kestrel in Oslo <!-- id=server -->\n",
	"notes/plan (conflicted copy 2026-02-05).md": "# Plan\n\n- the server is kestrel in Lima <!-- id=server -->\n" +
		"- only in the copy\n",
	"notes/fruit.md": "# Fruit\n\n- apples\n- plums\n",
	"notes/fruit.sync-conflict-20260205-120000-ABCDEFG.md": "# Fruit\n\n- apples\n- plums\n- <b>pears</b>\n",
}

// TestConflicts checks that both versions of a conflict copy are shown, that a
// merge shows its effect before it changes a file, and that it can be undone.
func TestConflicts(t *testing.T) {
	const copied = "notes/plan (conflicted copy 2026-02-05).md"
	for keep, want := range map[string][2]bool{"Keep this": {true, false}, "Keep that": {false, true}, "Merge, keep both": {true, true}} {
		t.Run(keep, func(t *testing.T) {
			c := start(t, conflictCopies)
			before := c.load("notes/plan.md")
			c.open()
			c.goTo("health")
			c.wait(contains("main", "Conflict copies"))
			c.wait(contains("[aria-label='notes/plan.md']", "Oslo"))
			c.wait(contains(fmt.Sprintf("[aria-label=%q]", copied), "Lima"))
			if *axe != "" {
				c.checkAccess("conflict copies")
			}
			c.click("main button", keep)
			c.wait(contains("dialog", copied+" is removed"))
			c.wait(contains("dialog .diff", "only in the copy"))
			if c.load("notes/plan.md") != before || c.load(copied) == "" {
				t.Fatal("a file changed before consent")
			}
			c.do(chromedp.Click("dialog .primary"))
			c.wait(contains("#notice", "Merged"))
			merged := c.load("notes/plan.md")
			servers := [2]bool{strings.Contains(merged, "Oslo"), strings.Contains(merged, "Lima")}
			if servers != want || !strings.Contains(merged, "- only in the copy") || c.load(copied) != "" {
				t.Errorf("merged:\n%s", merged)
			}
			c.wait("!" + contains("main", copied))
			c.do(chromedp.Click("#notice button"))
			c.wait(contains("dialog", "Undo 2 changes"))
			c.do(chromedp.Click("dialog .primary"))
			c.wait(contains("main", copied))
			if got := c.load("notes/plan.md"); got != before || c.load(copied) != conflictCopies[copied] {
				t.Errorf("after the undo:\n%s", got)
			}
		})
	}
}

// TestLongTerm checks that the capacity of a long-term file is shown, with the
// entries that leave next, and that these move to the archive and back.
func TestLongTerm(t *testing.T) {
	const path = "_longterms/owner/_index.md"
	text := "# Long-Term Memory\n\n## Key Facts\n"
	for i := range 104 {
		text += fmt.Sprintf("- fact %d\n", i)
	}
	text += "- [x] an old <i>task</i>\n"
	c := start(t, map[string]string{path: text})
	c.open()
	c.goTo("longterm")
	c.wait(contains("main", "105 of 100 entries"))
	c.wait("document.querySelector('meter').value === 100")
	c.wait(contains(".row", "an old <i>task</i>"))
	c.wait(contains(".row .badge", "leaves next"))
	evaluate[chromedp.Void](c, "document.querySelector('.row').click()")
	c.wait(contains("aside .hit", "an old"))
	if *axe != "" {
		c.checkAccess("long-term memory")
	}
	c.click("button", "Move to the archive")
	c.wait(contains("dialog .diff", "an old <i>task</i>"))
	if c.load(path) != text {
		t.Fatal("the file changed before consent")
	}
	c.do(chromedp.Click("dialog .primary"))
	c.wait(contains("#notice", "Moved 1 entry"))
	c.wait(contains("main", "104 of 100 entries"))
	c.do(chromedp.Click("#notice button"))
	c.wait(contains("main", "105 of 100 entries"))
	if got := c.load(path); got != text {
		t.Errorf("after the undo:\n%s", got)
	}
}

// TestHistory checks that a version that another program overwrote can be restored.
func TestHistory(t *testing.T) {
	const path = "notes/plan.md"
	first := conflictCopies[path]
	c := start(t, map[string]string{path: first})
	c.open()
	c.goTo("journal?path=" + path)
	for _, bad := range []string{"# Plan\n\n- overwritten once\n", "# Plan\n\n- overwritten twice\n"} {
		c.save(path, bad)
		c.wait(contains(".session ins", strings.Fields(bad)[4]))
	}
	c.wait(contains(".session h3", "another program"))
	evaluate[chromedp.Void](c, "[...document.querySelectorAll('.session button')].at(-1).click()") // of the first change
	c.wait(contains("dialog .diff ins", "Oslo"))
	c.do(chromedp.Click("dialog .primary"))
	c.wait(contains("#notice", "Undid 1 change"))
	if got := c.load(path); got != first {
		t.Errorf("restored:\n%s", got)
	}
}
