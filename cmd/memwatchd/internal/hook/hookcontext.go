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

// startFormat adds the flag for the context format at the start of a session.
func startFormat(h *hook, cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.format, "format", "summary",
		"summary, boot or full: what the session is given, as in memwatchd context")
	cmd.RegisterFlagCompletionFunc("format", cli.CompleteWords("summary", "boot", "full"))
}

// sessionStart prints the context of a new session. It prints the context again
// when the session was cleared or compressed.
func sessionStart(ctx context.Context, h *hook) error {
	if s := h.input.Source; s == "resume" || s == "fork" { // the continued conversation has the memory block
		return fmt.Errorf("the session was given its memory when it began: this is a %s", s)
	}
	r := api.ContextRequest{Format: h.format, Fresh: cli.AtOnce}
	if h.format == "summary" {
		r.Session = h.input.Session
	} else {
		r.MaxChars = &h.config.Hooks.ContextMaxChars
	}
	return h.inject(ctx, r)
}

// minCover is the minimum share of a prompt that an entry must cover. Most
// prompts ("go on") match nothing in memory, and unrelated entries distract the
// agent.
const minCover = 0.4

// maxQuestion bounds the search query from a prompt, in characters: as many
// words as a search uses.
const maxQuestion = 1200

// prompt prints the entries that match a prompt.
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

// inject prints a memory block for the agent.
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

// An injection is the output of a hook in the format of the agents.
type injection struct {
	Output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// say prints a text for the agent, unless the time is over.
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

// whatFits returns the first lines of a block within chars UTF-16 code units
// and maxHookOutput. It drops trailing headers without entries.
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
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "[Memory:") {
			filled = end
		}
	}
	return text[:filled]
}
