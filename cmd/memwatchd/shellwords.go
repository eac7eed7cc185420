package main

import (
	"regexp"
	"strings"
)

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-][A-Za-z0-9_@%+=:,./~-]*$`)

// quoted is a word as it is typed in a shell, on one line whatever is in it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	if escapeLine(word) != word { // with its bytes written out
		return "$'" + strings.ReplaceAll(escapeLine(strings.ReplaceAll(word, `\`, `\\`)), "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellLine is a command as it is typed in a shell.
func shellLine(words ...string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = quoted(word)
	}
	return strings.Join(list, " ")
}
