package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
)

// maxImportBatch bounds the lines of one request, in bytes, so that a request
// stays below the limit of the daemon.
const maxImportBatch = 512 << 10

// addFileArgument makes a command pass the file that its argument names, or
// standard input, to send.
func addFileArgument(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals,
	send func(*invocation, *cobra.Command, *api.Request, io.Reader) error) {
	c.Use = c.Name() + " file"
	c.ValidArgsFunction = nil // names of files
	path := ""
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usagef("%s: name one file, or - for standard input", cmd.CommandPath())
		}
		path = args[0]
		return nil
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		in := cmd.InOrStdin()
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			in = f
		}
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		return send(a, cmd, req, in)
	}
}

// importLines sends the lines of in and prints the sum of the answers. If
// requests fail, it prints the result of the earlier ones.
func (a *invocation) importLines(cmd *cobra.Command, req *api.Request, in io.Reader) error {
	sum := api.ItemImportAnswer{Invalid: []api.LineProblem{}}
	reader := bufio.NewReader(in)
	var batch strings.Builder
	first, number := 1, 0 // of the lines of the batch
	send := func() error {
		if err := setParam(req, "lines", batch.String()); err != nil {
			return err
		}
		answer, _, err := requestAnswer[api.ItemImportAnswer](cmd.Context(), a, req)
		if err != nil {
			return err
		}
		for _, p := range answer.Invalid {
			p.Line += first - 1
			sum.Invalid = append(sum.Invalid, p)
		}
		sum.Imported += answer.Imported
		sum.Unchanged += answer.Unchanged
		sum.Older += answer.Older
		sum.Removed += answer.Removed
		sum.DryRun, sum.Disabled = answer.DryRun, answer.Disabled
		sum.Redacted += answer.Redacted
		batch.Reset()
		first = number + 1
		return nil
	}
	var err error
	for err == nil {
		var line string
		var long bool
		line, long, err = readImportLine(reader)
		if err != nil && !errors.Is(err, io.EOF) || line == "" {
			break
		}
		if long {
			sum.Invalid = append(sum.Invalid, api.LineProblem{Line: number + 1,
				Reason: fmt.Sprintf("the line has more than %d bytes", maxImportBatch)})
		}
		if batch.Len() > 0 && batch.Len()+len(line) > maxImportBatch {
			if failure := send(); failure != nil {
				err = failure
				break
			}
		}
		number++
		if !utf8.ValidString(line) {
			sum.Invalid = append(sum.Invalid, api.LineProblem{Line: number, Reason: "text is not valid UTF-8"})
			line = "\n" // keeps the numbers of the lines after it
		}
		batch.WriteString(line)
	}
	if errors.Is(err, io.EOF) {
		err = send()
	}
	if err != nil && first == 1 {
		return err
	}
	slices.SortStableFunc(sum.Invalid, func(a, b api.LineProblem) int { return cmp.Compare(a.Line, b.Line) })
	if failure := a.printSum(sum); failure != nil {
		return failure
	}
	switch {
	case err != nil:
		return fmt.Errorf("import items: the lines from %d on were not imported: %w", first, err)
	case len(sum.Invalid) > 0:
		return fmt.Errorf("import items: %s not imported", api.Plural(len(sum.Invalid), "line"))
	}
	return nil
}

// readImportLine reads a line with its end. In place of a line of more than
// maxImportBatch bytes, which it skips, it returns a blank one.
func readImportLine(r *bufio.Reader) (line string, long bool, err error) {
	var b []byte
	for {
		part, err := r.ReadSlice('\n')
		long = long || len(b)+len(part) > maxImportBatch
		if long {
			b = append(b[:0], '\n')
		} else {
			b = append(b, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(b), long, err
		}
	}
}
