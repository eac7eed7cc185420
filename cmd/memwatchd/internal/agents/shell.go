package agents

import (
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Command is a program with its arguments.
type Command []string

// String returns the command in shell syntax: each word with special characters
// is in single quotes.
func (c Command) String() string {
	words := slices.Clone(c)
	for i, word := range words {
		if !plainWord().MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var (
	// plainWord matches words that need no quotes.
	plainWord = lazyregexp.New(`^[A-Za-z0-9@%+=:,./_-]+$`)
	// anyWord matches a word of a simple command, with or without quotes.
	anyWord  = lazyregexp.New(`^(?:'[^']*'|\\'|[^ \t\n'"\\;&|<>()$` + "`" + `])+`)
	wordPart = lazyregexp.New(`'[^']*'|\\'`)
	// programName matches memwatchd, also with a version.
	programName = lazyregexp.New(`^` + serverName + `(?:-v?[0-9][^/]*)?$`)
)

// parseCommand returns the words of a simple command, or nil for another line.
func parseCommand(line string) (c Command) {
	for rest := strings.Trim(line, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		word := anyWord().FindString(rest)
		after := rest[len(word):]
		if word == "" || after != "" && after[0] != ' ' && after[0] != '\t' {
			return nil
		}
		rest = after
		c = append(c, wordPart().ReplaceAllStringFunc(word, func(part string) string {
			if part == `\'` {
				return "'"
			}
			return strings.Trim(part, "'")
		}))
	}
	return c
}

// findHook returns the command of a line that runs a hook of memwatchd and nothing else,
// and the event of the hook, or "" for another line.
func findHook(line string) (c Command, event string) {
	c = parseCommand(line)
	if len(c) == 0 || !programName().MatchString(path.Base(c[0])) {
		return nil, ""
	}
	i := slices.Index(c, "hook")
	if i < 0 || i+1 == len(c) || !slices.Contains(hookEvents, c[i+1]) {
		return nil, ""
	}
	return c, c[i+1]
}
