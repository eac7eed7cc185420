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

// addFormatFlag adds the flag for the context format at the start of a session.
func addFormatFlag(h *hook, cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.format, "format", "summary",
		"format of the block, as in memwatchd context: summary, boot or full")
	cmd.RegisterFlagCompletionFunc("format", cli.CompleteWords("summary", "boot", "full"))
}

// printSessionContext prints the context of a new session. It prints the context again
// when the session was cleared or compressed.
func printSessionContext(ctx context.Context, h *hook) error {
	if s := h.input.Source; s == "resume" || s == "fork" { // the continued conversation has the memory block
		return fmt.Errorf("the session already has its memory block: this is a %s", s)
	}
	r := api.ContextRequest{Format: h.format, Fresh: cli.WithoutSync}
	if h.format == "summary" {
		r.Session = h.input.Session
	} else {
		r.MaxChars = &h.config.Hooks.ContextMaxChars
	}
	return h.printContext(ctx, r)
}

// minCover is the minimum share of a prompt that an entry must cover. Most
// prompts ("go on") match nothing in memory, and unrelated entries distract the
// agent.
const minCover = 0.4

// maxQueryChars bounds the search query from a prompt, in characters: as many
// words as a search uses.
const maxQueryChars = 1200

// printRelevant prints the entries that match a prompt.
func printRelevant(ctx context.Context, h *hook) error {
	query := transcript.CondensePrompt(h.input.Prompt, maxQueryChars)
	if strings.TrimSpace(query) == "" {
		return errors.New("the prompt is empty")
	}
	return h.printContext(ctx, api.ContextRequest{
		Format: "relevant", Query: query, MinCover: minCover,
		Limit: h.config.Hooks.ContextLimit, MaxChars: &h.config.Hooks.ContextMaxChars, Fresh: cli.WithoutSync,
	})
}

// printContext prints a memory block for the agent.
func (h *hook) printContext(ctx context.Context, r api.ContextRequest) error {
	a, err := h.client.Context(ctx, r)
	if err != nil {
		return err
	}
	text := truncateBlock(a.Text, h.config.Hooks.ContextMaxChars)
	if text == "" {
		return errors.New(strings.Join(append([]string{"nothing to show"}, a.Hints...), "; "))
	}
	return h.writeOutput(text)
}

// A hookOutput is the output of a hook in the format of the agents.
type hookOutput struct {
	Output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// writeOutput prints a text for the agent, unless the time is over.
func (h *hook) writeOutput(text string) error {
	var out hookOutput
	out.Output.Event, out.Output.Context = h.event, text
	line := cli.AsJSON(out)
	if !h.outputStarted.CompareAndSwap(false, true) {
		return nil
	}
	_, err := h.g.Stdout.Write(line)
	return err
}

// truncateBlock returns the first lines of a block within chars UTF-16 code units
// and maxHookOutput. It drops trailing headers without entries.
func truncateBlock(text string, chars int) string {
	bytes := maxHookOutput - len(cli.AsJSON(hookOutput{})) - len("UserPromptSubmit")
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
