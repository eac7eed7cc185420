package memory

import "strings"

// Item reads an entry as a keyed item: its title is the key, what follows the
// title, or else the fenced block below it, is the value. It is false for an
// entry without a title.
func (e *Entry) Item() (key, value string, ok bool) {
	if e.Block != Item || e.Title == "" {
		return "", "", false
	}
	head, below, _ := strings.Cut(e.Text, "\n")
	head = strings.TrimLeft(head, " \t")
	head = head[listMarkerLen(head):]
	head = head[boxLen(head):]
	title, rest := splitTitle(head)
	if title == "" {
		return "", "", false
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		if v, ok := fenced(below); ok {
			return title, v, true
		}
	}
	lines := append([]string{rest}, dedent(strings.Split(below, "\n"))...)
	return title, strings.TrimSpace(strings.Join(lines, "\n")), true
}

// fenced is the content of a text that is one fenced block, indented or not.
func fenced(s string) (string, bool) {
	lines := dedent(strings.Split(strings.Trim(s, "\n"), "\n"))
	if len(lines) < 2 {
		return "", false
	}
	mark := lines[0][:runLen([]byte(lines[0]), '`')]
	if mark == "" {
		mark = lines[0][:runLen([]byte(lines[0]), '~')]
	}
	last := strings.TrimRight(lines[len(lines)-1], " \t")
	if len(mark) < 3 || len(last) < len(mark) || strings.Trim(last, mark[:1]) != "" {
		return "", false
	}
	return strings.Join(lines[1:len(lines)-1], "\n"), true
}

// dedent removes from lines the white space that they all begin with.
func dedent(lines []string) []string {
	indent := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); n < len(l) && (indent < 0 || n < indent) {
			indent = n
		}
	}
	if indent <= 0 {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[min(indent, len(l)):]
	}
	return out
}
