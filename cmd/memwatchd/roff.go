package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A roffPage is a page of the manual on its way: text with the macros of man(7),
// as groff and mandoc read it.
type roffPage struct {
	strings.Builder
	apart bool // the next line of text begins a paragraph
}

// newRoffPage begins a page. When is the day that the page is of, or empty.
func newRoffPage(name string, section int, when, version string) *roffPage {
	p := new(roffPage)
	p.macro("TH", strings.ToUpper(name), fmt.Sprint(section), when, version, "memwatchd")
	// Left-justified and not hyphenated: what has to be typed stays as it is.
	p.WriteString(".ad l\n.nh\n")
	return p
}

func (p *roffPage) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(roffText(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

func (p *roffPage) section(title string) {
	p.macro("SH", strings.ToUpper(title))
	p.apart = false
}

func (p *roffPage) part(title string) { p.macro("SS", title) }

// paragraph ends a paragraph: what follows is another, or something else.
func (p *roffPage) paragraph() { p.apart = true }

// begin begins a paragraph of text, if one has ended.
func (p *roffPage) begin() {
	if p.apart {
		p.macro("PP")
		p.apart = false
	}
}

// line writes a line of text, in which what stands between backticks is bold.
func (p *roffPage) line(text string) {
	p.begin()
	if text = roffMarked(text); strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text // else it is a macro
	}
	p.WriteString(text + "\n")
}

// item is a term and what it means, which stands below it, or beside it if there
// is room. The term is marked already.
func (p *roffPage) item(term, text string) {
	p.WriteString(".TP\n" + term + "\n")
	p.apart = false
	p.line(text)
}

// verbatim writes lines as they are.
func (p *roffPage) verbatim(lines []string) {
	p.WriteString(".IP \"\" 4\n.nf\n")
	for _, l := range lines {
		if l = roffText(l); strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			l = `\&` + l
		}
		p.WriteString(l + "\n")
	}
	p.WriteString(".fi\n")
	p.paragraph()
}

// see writes references to other pages, with commas between them.
func (p *roffPage) see(pages []string) {
	for i, page := range pages {
		name, section, _ := strings.Cut(strings.TrimSuffix(page, ")"), "(")
		comma := ","
		if i == len(pages)-1 {
			comma = ""
		}
		p.WriteString(".BR " + roffText(name) + " (" + section + ")" + comma + "\n")
	}
}

// A term of a list in a help text, and what it means, which stands in a column.
var helpTerm = regexp.MustCompile(`^ +(\S(?:.*?\S)?) {2,}(\S.*)$`)

// prose writes the text of a help page: paragraphs, lists in columns, and indented
// lines that are to be typed, which stay as they are.
func (p *roffPage) prose(text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var typed []string
		flush := func() {
			if typed != nil {
				p.verbatim(typed)
				typed = nil
			}
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			m := helpTerm.FindStringSubmatch(line)
			switch {
			case line == "Arguments:":
				flush()
				p.section("arguments")
			case strings.HasPrefix(line, "  memwatchd "):
				typed = append(typed, line[2:])
			case m != nil:
				flush()
				p.item(bold(m[1]), m[2])
			case strings.HasPrefix(line, "  "):
				typed = append(typed, line[2:])
			default:
				flush()
				p.line(line)
			}
		}
		flush()
		p.paragraph()
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`, "'", `\(aq`, "\n", " ")

// roffText is text that says itself.
func roffText(s string) string { return roffEscapes.Replace(escapeLine(s)) }

var backticked = regexp.MustCompile("`([^`]+)`")

// roffMarked is text in which what stands between backticks is bold.
func roffMarked(s string) string {
	var b strings.Builder
	at := 0
	for _, m := range backticked.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(roffText(s[at:m[0]]) + bold(s[m[2]:m[3]]))
		at = m[1]
	}
	return b.String() + roffText(s[at:])
}

func bold(s string) string { return `\fB` + roffText(s) + `\fR` }

func italic(s string) string { return `\fI` + roffText(s) + `\fR` }
