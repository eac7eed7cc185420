package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// Bash leaves it to whoever completes a word to take the line apart, to quote what
// is put in, and to know which part of the word that takes the place of: the one
// behind the last of the characters at which it breaks words, such as a colon, or
// behind a quotation mark that is still open. So it hands us the line, and is told
// what to put there.

// bashRequest is the command with which bash asks.
const bashRequest = "__bash"

// newBash makes the command with which bash asks.
func newBash(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use: bashRequest + " LINE BREAKS TYPE COLUMNS", Short: "Tell bash how a line may go on",
		Hidden: true, DisableFlagParsing: true, Args: cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			words, last := parseBash(args[0], args[1])
			if last.file || len(words) == 0 {
				_, err := fmt.Fprintln(g.Stdout, "default")
				return err
			}
			var out bytes.Buffer
			root := g.NewRoot(&out, io.Discard)
			root.SetIn(noInput{})
			root.SetArgs(append(append([]string{cobra.ShellCompRequestCmd}, words[1:]...), last.text))
			if err := root.ExecuteContext(cmd.Context()); err != nil {
				return err
			}
			list, directive := parseCompletions(out.String())
			columns, _ := strconv.Atoi(args[3])
			if args[2] == "37" || args[2] == "42" {
				columns = 0 // each is put there in its turn, as it is
			}
			fmt.Fprintln(g.Stdout, bashOptions(list, directive))
			for _, reply := range last.replies(list, columns) {
				fmt.Fprintln(g.Stdout, reply)
			}
			return nil
		},
	}
}

// parseCompletions reads what the library prints: a name a line, with what it
// stands for behind a tab, and at last the directive.
func parseCompletions(out string) (list []name, directive cobra.ShellCompDirective) {
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if number, ok := strings.CutPrefix(line, ":"); ok {
			if n, err := strconv.Atoi(number); err == nil {
				directive = cobra.ShellCompDirective(n)
				continue
			}
		}
		text, about, _ := strings.Cut(line, "\t")
		list = append(list, name{text, about})
	}
	if directive&cobra.ShellCompDirectiveFilterFileExt != 0 {
		list = nil // they are no names, but what those of files end in
	}
	return list, directive
}

// bashOptions say what bash does with the names, and what if there are none.
func bashOptions(list []name, d cobra.ShellCompDirective) string {
	var options []string
	switch {
	case d&cobra.ShellCompDirectiveError != 0:
	case d&cobra.ShellCompDirectiveFilterDirs != 0:
		options = append(options, "dirnames")
	case d&noFiles == 0 && len(list) == 0:
		options = append(options, "default")
	}
	if d&noSpace != 0 {
		options = append(options, "nospace")
	}
	if d&cobra.ShellCompDirectiveKeepOrder != 0 {
		options = append(options, "nosort")
	}
	return strings.Join(options, " ")
}

// A bashWord is the word that is being typed.
type bashWord struct {
	text  string // what it says, without quoting
	head  int    // how much of that stays as it is
	quote byte   // the quotation mark that is open, or zero
	file  bool   // something is redirected there: it is no argument
}

// parseBash takes a command line apart, as far as it is typed: the words, the
// program's among them, and the last one.
func parseBash(line, breaks string) (words []string, last bashWord) {
	var text strings.Builder
	begun := false // there is a word, though it may be empty
	end := func() {
		if begun && !last.file {
			words = append(words, text.String())
		}
		last.file = last.file && !begun
		last.head, begun = 0, false
		text.Reset()
	}
	opened := 0 // what the word said where the quotation mark stands
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch escaped := c == '\\' && i+1 < len(line); {
		case last.quote != 0 && c == last.quote:
			last.quote = 0
		case last.quote == '"' && escaped && strings.IndexByte("$`\"\\", line[i+1]) >= 0:
			i++
			text.WriteByte(line[i])
		case last.quote != 0:
			text.WriteByte(c)
		case c == '\'' || c == '"':
			last.quote, begun, opened = c, true, text.Len()
		case escaped:
			i++
			begun = true
			text.WriteByte(line[i])
		case c == ' ' || c == '\t' || c == '\n':
			end()
		case c == '<' || c == '>':
			end()
			last.file = true
		default:
			begun = true
			text.WriteByte(c)
			if strings.IndexByte(breaks, c) >= 0 {
				last.head = text.Len()
			}
		}
	}
	last.text = text.String()
	if last.quote != 0 {
		last.head = opened
	}
	return words, last
}

// replies are what is to be put there: names, quoted so that they are what they
// say, from where bash puts them. If there are several, they are shown with what
// they stand for, in so many columns; what all have in common is put in.
func (w *bashWord) replies(list []name, columns int) (replies []string) {
	flag := ""
	if at := strings.IndexByte(w.text, '='); at >= 0 && strings.HasPrefix(w.text, "-") {
		flag = w.text[:at+1] // names are of what stands behind it
	}
	width := 0
	var about []string
	for _, n := range w.fitting(list, flag) {
		reply := w.quoted((flag + n.text)[w.head:])
		if !slices.Contains(replies, reply) {
			replies, about = append(replies, reply), append(about, n.about)
			width = max(width, uniseg.StringWidth(reply))
		}
	}
	if len(replies) < 2 || columns < width+16 {
		return replies
	}
	for i := range replies {
		if about[i] != "" {
			gap := strings.Repeat(" ", width-uniseg.StringWidth(replies[i])+2)
			replies[i] += gap + term.CutEnd("("+about[i], columns-width-4) + ")"
		}
	}
	return replies
}

// fitting are the names that begin with what is typed; else those that do in
// another case, else those that have it somewhere, if all of the word is put in anew.
func (w *bashWord) fitting(list []name, flag string) []name {
	typed := strings.ToLower(w.text)
	for _, fits := range []func(text string) bool{
		func(text string) bool { return strings.HasPrefix(text, w.text) },
		func(text string) bool { return w.head == 0 && strings.HasPrefix(strings.ToLower(text), typed) },
		func(text string) bool { return w.head == 0 && strings.Contains(strings.ToLower(text), typed) },
	} {
		var some []name
		for _, n := range list {
			if fits(flag + n.text) {
				some = append(some, n)
			}
		}
		if some != nil {
			return some
		}
	}
	return nil
}

// quoted is text as it may stand where the word does.
func (w *bashWord) quoted(text string) string {
	switch w.quote {
	case '\'':
		return strings.ReplaceAll(text, "'", `'\''`)
	case '"':
		// An exclamation mark would be a line of the history, and has no other way out.
		return strings.ReplaceAll(escapeBytes(text, "$`\"\\"), "!", `"'!'"`)
	}
	return escapeBytes(text, " !\"#$&'()*,;<>?[\\]^`{|}~")
}

// escapeBytes puts a backslash before each of some bytes.
func escapeBytes(text, some string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(some, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
