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

// splitWords splits a command into words as a shell does, without expansion.
func splitWords(line string) (Command, error) {
	var words Command
	var word strings.Builder
	in := false // a word has begun
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
			continue
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
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// hookOf returns the event that a command passes to memwatchd, or "" for
// another command.
func hookOf(line string) string {
	words, err := splitWords(line)
	if err != nil {
		return ""
	}
	memwatchd := false
	for i, word := range words {
		memwatchd = memwatchd || strings.HasPrefix(path.Base(word), serverName)
		if memwatchd && word == "hook" && i+1 < len(words) {
			if slices.Contains(hookEvents, words[i+1]) {
				return words[i+1]
			}
		}
	}
	return ""
}
