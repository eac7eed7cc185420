package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/importer"
)

const (
	// maxImportBatch bounds the records of one request, encoded twice, in bytes, so that
	// a request stays below the limit of the daemon.
	maxImportBatch = 512 << 10
	// maxImportLine bounds a record, encoded twice.
	maxImportLine = 900 << 10
)

// addImport makes a command read the files that its arguments name and send their records in
// batches.
func addImport(c *cobra.Command, form *api.Command) flow {
	format, ok := importer.FormatOf(form.Set["source"])
	if !ok {
		panic("no format for the command " + form.Words) // a mistake in the table; every test would fail
	}
	c.Use = c.Name() + " file..."
	c.ValidArgsFunction = nil // names of files
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s: name the exported files, or - for standard input", form.Words)
		}
		return nil
	}
	return func(a *invocation, args []string) error {
		b := &importBatch{seen: map[string][32]byte{}, send: func(ctx context.Context, lines string) (*api.ImportAnswer,
			error) {
			if err := a.req.SetNamed("records", lines); err != nil {
				return nil, err
			}
			answer, _, err := requestAnswer[api.ImportAnswer](ctx, a, a.req)
			return answer, err
		}}
		b.sum.Records = []api.ImportedRecord{}
		err := b.readAll(a, format, args)
		if err == nil {
			err = b.flush(a.cmd.Context())
		}
		if err != nil && b.sent == 0 {
			return err
		}
		if len(b.sum.Records) == 0 {
			a.out.addHint(term.AsText, "%s: the files contain no records", form.Words)
		}
		if _, failure := a.printResponse(AsJSON(b.sum)); failure != nil {
			return failure
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: the rest was not imported: %w", form.Words, err)
		case b.sum.Failed > 0:
			return fmt.Errorf("%s: %s not imported", form.Words, api.Plural(b.sum.Failed, "record"))
		}
		return nil
	}
}

// An importBatch sends records in requests and sums the answers.
type importBatch struct {
	send func(ctx context.Context, lines string) (*api.ImportAnswer, error)
	seen map[string][32]byte // digests of records by id
	sum  api.ImportAnswer

	lines       strings.Builder
	size        int // in a request, in bytes
	count, sent int // records
}

// readAll adds the records of all files.
func (b *importBatch) readAll(a *invocation, format importer.Format, args []string) error {
	for _, arg := range args {
		inputs, err := importer.Open(format, arg, a.cmd.InOrStdin())
		if err != nil {
			return err
		}
		for _, in := range inputs {
			for record, err := range in.Records(format, a.out.reader.Location) {
				if err == nil {
					err = b.add(a.cmd.Context(), record)
				}
				problem, skipped := errors.AsType[*importer.Problem](err)
				switch {
				case skipped:
					b.addFailure(fmt.Sprintf("%s: %v", in.Name, problem))
				case err != nil:
					return fmt.Errorf("%s: %w", in.Name, err)
				}
			}
		}
	}
	return nil
}

func (b *importBatch) addFailure(reason string) {
	b.sum.Add(&api.ImportAnswer{Records: []api.ImportedRecord{{State: "failed", Reason: reason}}})
}

// add adds a record, and sends those before if the batch would become too large. The
// first of several records with an id is imported.
func (b *importBatch) add(ctx context.Context, record *api.ImportRecord) error {
	line, err := api.EncodeJSON(record)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(line)
	first, known := b.seen[record.ID]
	b.seen[record.ID] = digest
	quoted, _ := json.Marshal(string(line)) // every text can be encoded
	switch {
	case known && first == digest:
		return nil
	case known:
		return &importer.Problem{At: "id " + record.ID, Reason: "another record has the same id"}
	case len(quoted) >= maxImportLine:
		return &importer.Problem{At: record.ID, Reason: fmt.Sprintf("more than %d KiB", maxImportLine>>10)}
	case b.size+len(quoted) > maxImportBatch:
		err = b.flush(ctx)
	}
	b.lines.Write(line)
	b.size += len(quoted)
	b.count++
	return err
}

// flush sends the records that wait.
func (b *importBatch) flush(ctx context.Context) error {
	if b.size == 0 {
		return nil
	}
	answer, err := b.send(ctx, b.lines.String())
	if err != nil {
		return err
	}
	for i := range answer.Records {
		answer.Records[i].Line += b.sent
	}
	b.sum.Add(answer)
	b.lines.Reset()
	b.size, b.sent = 0, b.count
	return nil
}
