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

// Bash leaves three tasks to the completing program: to split the line into
// words, to quote the completions, and to determine which part of the word they
// replace. That part starts after the last word-break character, such as a
// colon, or after an open quotation mark. So the bash script passes the whole
// line and inserts the replies.

// bashRequest is the hidden command that the bash script runs.
const bashRequest = "__bash"

// newBash returns the command that the bash script runs.
func newBash(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use: bashRequest + " LINE BREAKS TYPE COLUMNS", Short: "Print completions for bash",
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
				columns = 0 // menu completion (37) and insert-completions (42) insert each reply verbatim
			}
			fmt.Fprintln(g.Stdout, bashOptions(list, directive))
			for _, reply := range last.buildReplies(list, columns) {
				fmt.Fprintln(g.Stdout, reply)
			}
			return nil
		},
	}
}

// parseCompletions parses the output of cobra: one name per line, optionally
// followed by a tab and a description, and finally the directive.
func parseCompletions(out string) (list []candidate, directive cobra.ShellCompDirective) {
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if number, ok := strings.CutPrefix(line, ":"); ok {
			if n, err := strconv.Atoi(number); err == nil {
				directive = cobra.ShellCompDirective(n)
				continue
			}
		}
		text, about, _ := strings.Cut(line, "\t")
		list = append(list, candidate{text, about})
	}
	if directive&cobra.ShellCompDirectiveFilterFileExt != 0 {
		list = nil // file extensions, not names
	}
	return list, directive
}

// bashOptions returns the options of compopt for the names and for the case
// without names.
func bashOptions(list []candidate, d cobra.ShellCompDirective) string {
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

type bashWord struct {
	text  string // unquoted text
	head  int    // bytes of text that stay unchanged
	quote byte   // open quotation mark, or zero
	file  bool   // target of a redirection, so no argument
}

// parseBash splits a command line up to the cursor into words, including the
// program name, and the last word.
func parseBash(line, breaks string) (words []string, last bashWord) {
	var text strings.Builder
	begun := false // a word has started; it may be empty
	end := func() {
		if begun && !last.file {
			words = append(words, text.String())
		}
		last.file = last.file && !begun
		last.head, begun = 0, false
		text.Reset()
	}
	opened := 0 // length of the text at the open quotation mark
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

// buildReplies returns the text to insert: quoted names without the first w.head
// bytes. If there are several, replies appends descriptions within the given
// columns; bash then inserts only the common prefix.
func (w *bashWord) buildReplies(list []candidate, columns int) (replies []string) {
	flag := ""
	if at := strings.IndexByte(w.text, '='); at >= 0 && strings.HasPrefix(w.text, "-") {
		flag = w.text[:at+1] // the names complete the value of the flag
	}
	width := 0
	var about []string
	for _, n := range w.matchNames(list, flag) {
		reply := w.quoteText((flag + n.text)[w.head:])
		if !slices.Contains(replies, reply) {
			replies, about = append(replies, reply), append(about, n.description)
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

// matchNames returns the names with the typed prefix. If there are none and the
// whole word is replaced, it returns the names with that prefix in another
// case, or else those that contain it.
func (w *bashWord) matchNames(list []candidate, flag string) []candidate {
	typed := strings.ToLower(w.text)
	for _, fits := range []func(text string) bool{
		func(text string) bool { return strings.HasPrefix(text, w.text) },
		func(text string) bool { return w.head == 0 && strings.HasPrefix(strings.ToLower(text), typed) },
		func(text string) bool { return w.head == 0 && strings.Contains(strings.ToLower(text), typed) },
	} {
		var some []candidate
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

// quoteText returns text with the quoting that the position of the word requires.
func (w *bashWord) quoteText(text string) string {
	switch w.quote {
	case '\'':
		return strings.ReplaceAll(text, "'", `'\''`)
	case '"':
		// An exclamation mark would expand to a history line. Inside double
		// quotes only closing the quotes prevents that.
		return strings.ReplaceAll(escapeBytes(text, "$`\"\\"), "!", `"'!'"`)
	}
	return escapeBytes(text, " !\"#$&'()*,;<>?[\\]^`{|}~")
}

// escapeBytes inserts a backslash before each byte of some.
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
