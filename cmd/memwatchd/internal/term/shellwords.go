package term

import (
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// plainWord matches words that need no quotes in a shell.
var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-][A-Za-z0-9_@%+=:,./~-]*$`)

// QuoteWord returns word in shell quotes, always on one line.
func QuoteWord(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	if EscapeLine(word) != word { // as $'…', with escaped bytes
		return "$'" + strings.ReplaceAll(EscapeLine(strings.ReplaceAll(word, `\`, `\\`)), "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShellLine returns a command as a line for a shell.
func ShellLine(words ...string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = QuoteWord(word)
	}
	return strings.Join(list, " ")
}
