package agents

import (
	"errors"
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

// plainWord matches words that need no quotes.
var plainWord = lazyregexp.New(`^[A-Za-z0-9@%+=:,./_-]+$`)

var errQuote = errors.New("unterminated string")

// token matches a part of a line: white space, the end of a command, a redirection, or a
// part of a word.
var token = lazyregexp.New(`[ \t]+|&>|[<>]+[&|]?|[;&|\n]|'[^']*'|"(?:[^"\\]|\\(?s:.))*"|\\(?s:.)?|[^ \t;&|\n<>'"\\]+`)

// quotedEscape matches an escaped character in double quotes.
var quotedEscape = lazyregexp.New("\\\\([\"\\\\$`])")

// splitCommands splits a line into commands, and each command into words, as a
// shell does, without expansion. Redirections are words.
func splitCommands(line string) (commands []Command, err error) {
	var words Command
	length, joined := 0, false // the next part belongs to the last word
	for _, part := range token().FindAllString(line, -1) {
		length += len(part)
		switch part[0] {
		case ' ', '\t':
			joined = false
			continue
		case ';', '&', '|', '\n':
			if part == "&>" {
				break
			}
			if words != nil {
				commands = append(commands, words)
			}
			words, joined = nil, false
			continue
		case '\'':
			part = part[1 : len(part)-1]
		case '"':
			part = quotedEscape().ReplaceAllString(part[1:len(part)-1], "$1")
		case '\\':
			part = part[1:]
		}
		if joined {
			words[len(words)-1] += part
		} else {
			words = append(words, part)
		}
		joined = true
	}
	if length != len(line) {
		return nil, errQuote
	}
	if words != nil {
		commands = append(commands, words)
	}
	return commands, nil
}

// programName matches memwatchd, also with a version.
var programName = lazyregexp.New(`^` + serverName + `(?:-v?[0-9][^/]*)?$`)

// variable matches a word that sets an environment variable of a command.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// findHook returns the command of a line that runs a hook of memwatchd, and the
// event of the hook, or "" if there is none. It reports whether the line
// contains no other command.
func findHook(line string) (c Command, event string, alone bool) {
	commands, err := splitCommands(line)
	if err != nil {
		return nil, "", false
	}
	for _, c := range commands {
		program := slices.IndexFunc(c, func(word string) bool {
			return path.Base(word) != "env" && !variable().MatchString(word)
		})
		if program < 0 || !programName().MatchString(path.Base(c[program])) {
			continue
		}
		for i, word := range c[program+1:] {
			if word == "hook" && program+i+2 < len(c) && slices.Contains(hookEvents, c[program+i+2]) {
				return c, c[program+i+2], len(commands) == 1
			}
		}
	}
	return nil, "", false
}
