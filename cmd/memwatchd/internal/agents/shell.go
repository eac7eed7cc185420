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

// splitCommands splits a line into commands, and each command into words, as a
// shell does, without expansion. Redirections are words.
func splitCommands(line string) ([]Command, error) {
	var commands []Command
	var words Command
	var word strings.Builder
	in := false // a word has begun
	endWord := func() {
		if in {
			words = append(words, word.String())
			word.Reset()
		}
		in = false
	}
	endCommand := func() {
		endWord()
		if words != nil {
			commands = append(commands, words)
		}
		words = nil
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			endWord()
			continue
		case ';', '&', '|', '\n':
			redirects := c != ';' && c != '\n' &&
				(i > 0 && strings.IndexByte("<>", line[i-1]) >= 0 || c == '&' && strings.HasPrefix(line[i+1:], ">"))
			if !redirects {
				endCommand()
				continue
			}
			word.WriteByte(c)
		case '\'':
			n := strings.IndexByte(line[i+1:], '\'')
			if n < 0 {
				return nil, errQuote
			}
			word.WriteString(line[i+1 : i+1+n])
			i += n + 1
		case '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
			if i == len(line) {
				return nil, errQuote
			}
		case '\\':
			i++
			if i < len(line) {
				word.WriteByte(line[i])
			}
		default:
			word.WriteByte(c)
		}
		in = true
	}
	endCommand()
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
