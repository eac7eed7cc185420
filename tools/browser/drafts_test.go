package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestDrafts checks that no typed text is lost: by an error, Esc, another page, a reload, or a change of
// another program.
func TestDrafts(t *testing.T) {
	c := start(t, map[string]string{"a.md": "# A\n\nthe port is 3128\n\nlast\n"})
	c.open()
	a := &actor{console: c}
	a.key("t")
	a.enter("dialog textarea", "Pay the rent")
	a.enter("dialog [aria-label=Due]", "the day after never")
	a.press("Save")
	c.wait(contains("dialog .bad", "is not a day"))
	c.wait("document.querySelector('dialog textarea').value === 'Pay the rent'")
	c.do(chromedp.KeyEvent(kb.Escape))
	c.wait("!document.querySelector('dialog[open]')")
	c.do(chromedp.Reload())
	c.wait("document.querySelector('input[type=search]')")
	a.key("t")
	c.wait(contains("dialog", "Your draft of"))
	c.wait("document.querySelector('dialog textarea').value === 'Pay the rent'")
	a.press("Discard")
	c.wait("document.querySelector('dialog textarea').value === ''")
	c.do(chromedp.KeyEvent(kb.Escape))

	c.goTo("read?path=a.md&line=3")
	c.wait(contains(".hit", "3128"))
	a.press("Edit")
	a.change("textarea", "3128", "8080")
	c.goTo("tasks")
	c.wait(contains("#notice", "is kept"))
	c.goTo("read?path=a.md&line=3")
	a.press("Edit")
	c.wait("document.querySelector('textarea').value === 'the port is 8080'")

	c.save("a.md", "# A\n\nthe port is 9090\n\nlast\n")
	c.do(chromedp.Focus("textarea"), chromedp.KeyEvent("\r", chromedp.KeyModifiers(2))) // Ctrl+Enter
	c.wait(contains("form .bad", "Another program"))
	c.wait(contains("form .file", "9090"))
	if got := c.load("a.md"); !strings.Contains(got, "9090") {
		t.Errorf("saved without consent:\n%s", got)
	}
	a.press("Save")
	a.file("a.md", "the port is 8080\n\nlast\n", true)
	c.wait("localStorage.length === 0")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = slices.DeleteFunc(c.problems, func(p string) bool { return strings.Contains(p, "400") })
}
