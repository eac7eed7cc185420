package secrets

import (
	"regexp"
	"strings"
)

// The lines above and below a private key.
var (
	keyBegin = regexp.MustCompile(`^-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = regexp.MustCompile(`^-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`)
)

// How long the parts of a key are: all of it at least, and its lines but for the
// last one. Prose has shorter words.
const (
	leastKey  = 48
	leastLine = 16
)

// appendKey finds the private key that begins with a line of PEM, or of a
// program that writes alike: what stands between that line and the last one, or
// what there is of it. The lines may be indented, quoted, or in a string, with
// \n between them.
func appendKey(list []Finding, text string, at int) []Finding {
	begin := keyBegin.FindString(text[at:min(len(text), at+200)])
	if begin == "" {
		return list
	}
	start, end, size := -1, 0, 0
	for i := at + len(begin); i < len(text); {
		rest := text[i:]
		switch n := base64Len(rest); {
		case n > 0 && start < 0 && headerLen(rest) > 0:
			i += headerLen(rest)
		case n >= leastLine || n > 0 && start >= 0:
			if start < 0 {
				start = i
			}
			i, end, size = i+n, i+n, size+n
			if n < leastLine {
				rest = "" // the last line
			}
		case strings.HasPrefix(rest, `\n`), strings.HasPrefix(rest, `\r`):
			i += 2
		case strings.IndexByte(" \t\r\n>\\", rest[0]) >= 0:
			i++
		default:
			rest = ""
		}
		if rest == "" {
			break
		}
	}
	if size < leastKey || isMask(text[start:end]) {
		return list
	}
	return append(list, Finding{start, end, "private-key"})
}

// base64Len is how many bytes at the beginning of a text are of base64.
func base64Len(s string) int {
	n := 0
	for n < len(s) && (alnum(s[n]) || s[n] == '+' || s[n] == '/' || s[n] == '=') {
		n++
	}
	return n
}

// headerLen is the length of a line such as "Proc-Type: 4,ENCRYPTED" at the
// beginning of a text, 0 if there is none.
func headerLen(s string) int {
	n := 0
	for n < len(s) && (alnum(s[n]) || s[n] == '-') {
		n++
	}
	if !strings.HasPrefix(s[n:], ": ") {
		return 0
	}
	if end := strings.IndexAny(s, "\r\n\\"); end >= 0 {
		return end
	}
	return len(s)
}

// appendTail finds the end of a private key above its last line, where a text
// begins in the middle of one.
func appendTail(list []Finding, text string, at int) []Finding {
	if !keyEnd.MatchString(text[at:min(len(text), at+200)]) {
		return list
	}
	start, end := at, -1
	for rest := text[:lineStart(text, at)]; rest != ""; rest = rest[:lineStart(rest, len(rest)-1)] {
		line := strings.Trim(rest[lineStart(rest, len(rest)-1):], " \t\r\n>")
		if line == "" || base64Len(line) < len(line) || end >= 0 && len(line) < leastLine {
			break
		}
		start = strings.LastIndex(rest, line)
		if end < 0 {
			end = start + len(line)
		}
	}
	if end < 0 || isMask(text[start:end]) {
		return list
	}
	return append(list, Finding{start, end, "private-key"})
}

// lineStart is where the line begins that holds an offset.
func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }
