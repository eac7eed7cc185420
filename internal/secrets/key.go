package secrets

import (
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// The lines before and after a private key.
var (
	keyBegin = lazyregexp.New(`^-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = lazyregexp.New(`^-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`)
)

// minKeyLen is the minimum length of a key, minKeyLineLen that of its lines except
// the last. Words of prose are shorter.
const (
	minKeyLen     = 48
	minKeyLineLen = 16
)

// appendKey appends the private key after the first line of a PEM block, or of
// a similar format, at an offset. The key is the text up to the last line of
// the block, or as much of it as exists. The lines may be indented, quoted, or
// part of a string with \n between them.
func appendKey(list []Finding, text string, at int) []Finding {
	begin := keyBegin().FindString(text[at:min(len(text), at+200)])
	if begin == "" {
		return list
	}
	start, end, size := -1, 0, 0
	for i := at + len(begin); i < len(text); {
		rest := text[i:]
		switch n := base64Len(rest); {
		case n > 0 && start < 0 && headerLen(rest) > 0:
			i += headerLen(rest)
		case n >= minKeyLineLen || n > 0 && start >= 0:
			if start < 0 {
				start = i
			}
			i, end, size = i+n, i+n, size+n
			if n < minKeyLineLen {
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
	if size < minKeyLen || isMask(text[start:end]) {
		return list
	}
	return append(list, Finding{start, end, "private-key"})
}

// base64Len returns the number of base64 characters at the beginning of a text.
func base64Len(s string) int {
	n := 0
	for n < len(s) && (isAlnum(s[n]) || s[n] == '+' || s[n] == '/' || s[n] == '=') {
		n++
	}
	return n
}

// headerLen returns the length of a line such as "Proc-Type: 4,ENCRYPTED" at
// the beginning of a text, or 0 if there is none.
func headerLen(s string) int {
	n := 0
	for n < len(s) && (isAlnum(s[n]) || s[n] == '-') {
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

// appendKeyEnd appends the end of a private key above the last line of its block,
// for a text that begins in the middle of the key.
func appendKeyEnd(list []Finding, text string, at int) []Finding {
	if !keyEnd().MatchString(text[at:min(len(text), at+200)]) {
		return list
	}
	start, end := at, -1
	for rest := text[:lineStart(text, at)]; rest != ""; rest = rest[:lineStart(rest, len(rest)-1)] {
		line := strings.Trim(rest[lineStart(rest, len(rest)-1):], " \t\r\n>")
		if line == "" || base64Len(line) < len(line) || end >= 0 && len(line) < minKeyLineLen {
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

func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }
