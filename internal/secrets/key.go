package secrets

import (
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Parts of expressions of private keys. A line has at least 16 characters, except the
// last one: words of prose are shorter. The lines may be indented, quoted, or part of a
// string with \n between them.
const (
	keyName  = `[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`
	keySpace = `(?:\\[nr]|[ \t\r\n>\\])*`
	keyChar  = `[A-Za-z0-9+/=]`
)

var (
	// keyBegin matches the first line of a PEM block or of a similar format, headers such
	// as "Proc-Type: 4,ENCRYPTED", and the key.
	keyBegin = lazyregexp.New(`^-----BEGIN` + keyName + keySpace + `(?:[A-Za-z0-9-]+: [^\r\n\\]*` + keySpace + `)*` +
		`(` + keyChar + `{16,}(?:` + keySpace + keyChar + `{16,})*(?:` + keySpace + keyChar + `{1,15})?)`)
	keyEnd = lazyregexp.New(`^-----END` + keyName)
)

// minKeyLen is the minimum length of a key, minKeyLineLen that of its lines except
// the last.
const (
	minKeyLen     = 48
	minKeyLineLen = 16
)

// appendKey appends the private key after the first line of its block at an offset: the
// text up to the last line of the block, or as much of it as exists.
func appendKey(list []Finding, text string, at int) []Finding {
	loc := keyBegin().FindStringSubmatchIndex(text[at:])
	if loc == nil {
		return list
	}
	start, end := at+loc[2], at+loc[3]
	size := 0
	for i := start; i < end; i += max(base64Len(text[i:end]), 1) {
		size += base64Len(text[i:end])
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
	// A mask that begins before the last lines continues in them.
	masks := strings.Repeat(maskWord, (at-start)/len(maskWord)+2)
	if end < 0 || isMask(text[start:end]) ||
		strings.Contains(masks, strings.Join(strings.Fields(text[start:end]), "")) {
		return list
	}
	return append(list, Finding{start, end, "private-key"})
}

func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }
