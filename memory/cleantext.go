package memory

import "strings"

// CleanText converts any Markdown to Markdown that [CheckText] accepts, see
// [CleanLine], and that does not extend into the text that follows: an open fence
// is closed.
func CleanText(text string) string {
	text = strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\ufffd")
	clean := CheckText(text) == nil
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		if !clean {
			content = CleanLine(line)
			line = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + content
		}
		switch mark := FenceOf(content); {
		case mark == "":
		case fence == "":
			fence = mark
		case strings.HasPrefix(mark, fence) && content == mark:
			fence = ""
		}
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	return b.String()
}

// FenceOf returns the fence with which a line begins, or "".
func FenceOf(line string) string {
	if n := max(runLen(line, '`'), runLen(line, '~')); n > 2 {
		return line[:n]
	}
	return ""
}
