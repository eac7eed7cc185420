package term

import (
	"regexp"
	"strings"
)

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-][A-Za-z0-9_@%+=:,./~-]*$`)

// QuoteWord is a word as it is typed in a shell, on one line whatever is in it.
func QuoteWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	if EscapeLine(word) != word { // with its bytes written out
		return "$'" + strings.ReplaceAll(EscapeLine(strings.ReplaceAll(word, `\`, `\\`)), "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShellLine is a command as it is typed in a shell.
func ShellLine(words ...string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = QuoteWord(word)
	}
	return strings.Join(list, " ")
}
