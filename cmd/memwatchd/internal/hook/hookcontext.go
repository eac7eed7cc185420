package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/transcript"
)

// began are the ways in which a session starts that has been given its memory
// before, and still has it: it is in the conversation that goes on.
var began = map[string]bool{"resume": true, "fork": true}

// startFormat is the flag of what a session begins with.
func startFormat(h *hook, cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.format, "format", "summary", "summary, boot or full: what the session is given, as in memwatchd context")
	cmd.RegisterFlagCompletionFunc("format", cli.CompleteWords("summary", "boot", "full"))
}

// sessionStart prints what a session begins with; anew when it was cleared or
// compressed.
func sessionStart(ctx context.Context, h *hook) error {
	if began[h.input.Source] {
		return fmt.Errorf("the session was given its memory when it began: this is a %s", h.input.Source)
	}
	r := api.ContextRequest{Format: h.format, Fresh: cli.AtOnce}
	if h.format == "summary" {
		r.Session = h.input.Session
	} else {
		r.MaxChars = &h.config.Hooks.ContextMaxChars
	}
	return h.inject(ctx, r)
}

// minCover is the share of a prompt that an entry covers to be shown. Most of
// what people say to an agent ("go on") is about nothing in memory, and what is
// shown all the same is in the way.
const minCover = 0.4

// maxQuestion is how many characters of a prompt say what it is about: as many
// words as a search looks for.
const maxQuestion = 1200

// prompt prints what a prompt is about.
func prompt(ctx context.Context, h *hook) error {
	query := transcript.Question(h.input.Prompt, maxQuestion)
	if strings.TrimSpace(query) == "" {
		return errors.New("the prompt says nothing")
	}
	return h.inject(ctx, api.ContextRequest{
		Format: "relevant", Query: query, MinCover: minCover,
		Limit: h.config.Hooks.ContextLimit, MaxChars: &h.config.Hooks.ContextMaxChars, Fresh: cli.AtOnce,
	})
}

// inject prints a block of memory for the agent.
func (h *hook) inject(ctx context.Context, r api.ContextRequest) error {
	a, err := h.client.Context(ctx, r)
	if err != nil {
		return err
	}
	text := whatFits(a.Text, h.config.Hooks.ContextMaxChars)
	if text == "" {
		return errors.New(strings.Join(append([]string{"nothing is to be shown"}, a.Hints...), "; "))
	}
	return h.say(text)
}

// An injection is what agents read from the standard output of a hook.
type injection struct {
	Output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// say prints a text for the agent, if there is still time to.
func (h *hook) say(text string) error {
	var out injection
	out.Output.Event, out.Output.Context = h.event, text
	line := cli.AsJSON(out)
	if !h.said.CompareAndSwap(false, true) {
		return nil
	}
	_, err := h.g.Stdout.Write(line)
	return err
}

// whatFits is the first lines of a block that have at most so many characters,
// and can be printed. A header below which there is nothing is not among them.
func whatFits(text string, chars int) string {
	bytes := maxHookOutput - len(cli.AsJSON(injection{})) - len("UserPromptSubmit")
	end, filled := 0, 0
	for line := range strings.Lines(text) {
		chars -= len(utf16.Encode([]rune(line)))
		bytes -= len(cli.AsJSON(line)) - len("\"\"\n")
		if chars < 0 || bytes < 0 {
			break
		}
		end += len(line)
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[Memory:") {
			filled = end
		}
	}
	return text[:filled]
}
