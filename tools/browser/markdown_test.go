package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestMarkdown checks the elements that the page makes of Markdown.
func TestMarkdown(t *testing.T) {
	c := start(t, map[string]string{"a.md": "# A\n"})
	c.open()
	const render = `(async () => {
		const { blocks } = await import("/markdown.js");
		const links = new Map([["b.md", { path: "dir/b.md" }], ["", { path: "a.md" }]]);
		const box = (line, isDone) => Object.assign(document.createElement("i"), { textContent: line + (isDone ? "x" : "") });
		return blocks(%q.split("\n"), 1, { links, tick: box })
			.map((b) => b.from + "-" + b.to + " " + b.element.outerHTML).join("\n");
	})()`
	for source, want := range map[string]string{
		"a *b* **c _d_** `e*` ~~f~~":               `1-1 <p>a <em>b</em> <strong>c <em>d</em></strong> <code>e*</code> <s>f</s></p>`,
		"snake_case_name 2*3*4 \\*no*":             `1-1 <p>snake_case_name 2<em>3</em>4 *no*</p>`,
		"one\ntwo  \nthree\n\n中文\n字":               "1-3 <p>one two<br>three</p>\n5-6 <p>中文字</p>",
		"# A #\n## B\nC\n===\nD\n---":              "1-1 <h2>A</h2>\n2-2 <h3>B</h3>\n3-4 <h2>C</h2>\n5-6 <h3>D</h3>",
		"---\nsummary: x\n---\n\ntext":             "1-3 <details class=\"front\"><summary>Properties</summary><pre>summary: x</pre></details>\n5-5 <p>text</p>",
		"```sh\na <b>\n\n  c\n```\nd":              "1-5 <div class=\"code\"><p class=\"language\">sh <button type=\"button\">Copy</button></p><pre tabindex=\"0\"><code>a &lt;b&gt;\n\n  c</code></pre></div>\n6-6 <p>d</p>",
		"~~~\n```\nnot closed":                     "1-3 <div class=\"code\"><p class=\"language\"> <button type=\"button\">Copy</button></p><pre tabindex=\"0\"><code>```\nnot closed</code></pre></div>",
		"- a\n  - b\n\n  c\n- [x] d\ne":            "1-4 <ul dir=\"auto\"><li><div><p>a</p><ul dir=\"auto\"><li><div><p>b</p></div></li></ul><p>c</p></div></li></ul>\n5-6 <ul dir=\"auto\"><li class=\"task\"><i>5x</i><div><p>d e</p></div></li></ul>",
		"3. a\n   ```\n   b\n   ```":               "1-4 <ol dir=\"auto\" start=\"3\"><li><div><p>a</p><div class=\"code\"><p class=\"language\"> <button type=\"button\">Copy</button></p><pre tabindex=\"0\"><code>b</code></pre></div></div></li></ol>",
		"> a\n> - b":                               "1-2 <blockquote dir=\"auto\"><p>a</p><ul dir=\"auto\"><li><div><p>b</p></div></li></ul></blockquote>",
		"| a | b |\n|---|:-:|\n| 1 | `2` |":        "1-3 <div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>a</th><th class=\"center\">b</th></tr></thead><tbody><tr><td>1</td><td class=\"center\"><code>2</code></td></tr></tbody></table></div>",
		"a ==b== <kbd>c</kbd> 1 == 2[^n]":          `1-1 <p>a <mark>b</mark> <kbd>c</kbd> 1 == 2<sup title="footnote n">n</sup></p>`,
		"$a_1 \\,dx_2$ costs $5 and $6":            `1-1 <p><code class="math">$a_1 \,dx_2$</code> costs $5 and $6</p>`,
		"> [!NOTE] Mind\n> the gap":                "1-2 <blockquote dir=\"auto\" class=\"callout\"><p><strong>Mind</strong></p><p>the gap</p></blockquote>",
		"a | b\nc":                                 "1-2 <p>a | b c</p>",
		"    code\n\n    more\n\ntext":             "1-4 <pre tabindex=\"0\">code\n\nmore</pre>\n5-5 <p>text</p>",
		"***\n<!-- c -->\na <!-- id=1 -->":         "1-1 <hr>\n2-2 <p class=\"quiet\">&lt;!-- c --&gt;</p>\n3-3 <p>a <span class=\"comment\" title=\"&lt;!-- id=1 --&gt;\"></span></p>",
		"[b](b.md#C \"t\") [[b.md|x]]":             `1-1 <p><a href="#read?path=dir%2Fb.md&amp;anchor=C">b</a> <a href="#read?path=dir%2Fb.md">x</a></p>`,
		"[a](#x) [c](../c.md) [[n]]":               `1-1 <p><a href="#read?path=a.md&amp;anchor=x">a</a> <a href="#read?path=c.md">c</a> <span class="missing" title="no such file: n">n</span></p>`,
		"[x](https://e.org/a_(b)) <https://e.org>": `1-1 <p><button type="button" class="outside">x</button> <button type="button" class="outside">https://e.org</button></p>`,
		"see https://e.org/a, #tag":                `1-1 <p>see <button type="button" class="outside">https://e.org/a</button>, <a href="#find?tag=tag">#tag</a></p>`,
		"![alt](x.png) [j](javascript:alert(1))":   `1-1 <p><span class="badge">image: alt</span> <span class="missing" title="no such file: javascript:alert(1)">j</span></p>`,
		"<b onclick=x>y</b> &amp;":                 `1-1 <p>&lt;b onclick=x&gt;y&lt;/b&gt; &amp;amp;</p>`,
	} {
		if got := evaluate[string](c, fmt.Sprintf(render, source), chromedp.EvalAwaitPromise); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", source, got, want)
		}
	}
	for _, bomb := range []string{strings.Repeat("*", 30000), strings.Repeat("*a", 15000), strings.Repeat("[", 30000), strings.Repeat("[a](", 8000),
		strings.Repeat("`a``", 8000), strings.Repeat("> ", 5000), strings.Repeat("- ", 5000), strings.Repeat("<!--", 8000), strings.Repeat("_a ", 10000),
		"|" + strings.Repeat("a|", 5000) + "\n|" + strings.Repeat("-|", 5000)} {
		took := evaluate[float64](c, fmt.Sprintf("(async () => { const t = performance.now(); await "+render+"; return performance.now() - t; })()", bomb), chromedp.EvalAwaitPromise)
		if took > 5000 {
			t.Errorf("%.10s… takes %.0f ms", bomb, took)
		}
		t.Logf("%.10s… took %.0f ms", bomb, took)
	}
}
