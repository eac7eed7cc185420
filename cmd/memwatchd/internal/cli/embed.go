package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// addEmbedDump makes the command write all pages of vectors as JSON lines: the space
// first, then the vectors.
func addEmbedDump(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(g.Stdout)
		lines := json.NewEncoder(out)
		for first := true; ; first = false {
			page, _, err := requestAnswer[api.EmbedDumpAnswer](cmd.Context(), a, req)
			if err != nil {
				return err
			}
			if first {
				err = lines.Encode(page.Space)
			}
			for _, v := range page.Vectors {
				err = errors.Join(err, lines.Encode(v))
			}
			if err != nil || page.Next == "" {
				return errors.Join(err, out.Flush())
			}
			if err := setParam(req, "cursor", page.Next); err != nil {
				return err
			}
		}
	}
}

// loadVectors sends the lines of r in batches, each with the first line, and prints
// the sum of the answers.
func (a *invocation) loadVectors(cmd *cobra.Command, req *api.Request, r io.Reader) error {
	in := bufio.NewReader(r)
	var sum api.EmbedLoadAnswer
	space, _, err := readImportLine(in)
	for more := true; more && (err == nil || errors.Is(err, io.EOF)); {
		batch := strings.Builder{}
		batch.WriteString(space)
		for batch.Len() < maxImportBatch && err == nil {
			var line string
			line, _, err = readImportLine(in)
			batch.WriteString(line)
		}
		more = err == nil
		if failure := setParam(req, "lines", batch.String()); failure != nil {
			return failure
		}
		answer, _, failure := requestAnswer[api.EmbedLoadAnswer](cmd.Context(), a, req)
		if failure != nil {
			return failure
		}
		sum.Loaded += answer.Loaded
		sum.Ignored += answer.Ignored
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("embed load: %w", err)
	}
	return a.printSum(sum)
}

// printEmbedState shows the state of semantic search, and what an endpoint receives.
func (p *Printer) printEmbedState(a *api.EmbedAnswer) {
	if a.Status != nil {
		p.printEmbed(a.Status)
	}
	if a.Plan == nil {
		return
	}
	for _, part := range []struct {
		name   string
		amount api.EmbedAmount
	}{{"public", a.Plan.Public}, {"private", a.Plan.Private}} {
		p.printRow(part.name, "%s, %s, about %s", term.Plural(part.amount.Texts, "text"),
			term.Plural(part.amount.Characters, "character"), term.Plural(part.amount.Tokens, "token"))
	}
	p.addHint(term.AsMuted, "private text is sent only if embed.private is set")
}
