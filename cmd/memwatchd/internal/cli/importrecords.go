package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/importer"
)

// maxImportText bounds the text of one record. Encoded twice, it takes at most
// four times as many bytes, so that a request stays below the default of
// ipc.max_request. Longer records become several files.
const maxImportText = 192 << 10

// addImport makes a command read the files that its arguments name and send their
// records in batches.
func addImport(c *cobra.Command, form *api.Command, op *api.Operation, req *api.Request, g *Globals) {
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
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		r := &recordImport{a: a, req: req, seen: map[string][32]byte{}}
		r.sum.Records = []api.ImportedRecord{}
		if max, given := paramGiven(req, "max"); given {
			r.left, _ = strconv.Atoi(max)
			r.limited = r.left > 0
		}
		for _, arg := range args {
			if err = r.importArgument(cmd, format, arg); err != nil {
				break
			}
		}
		return r.finish(cmd.Context(), form, err)
	}
}

// A recordImport sends records in batches and sums the answers.
type recordImport struct {
	a       *invocation
	req     *api.Request
	batch   strings.Builder // records as JSON lines
	size    int             // of the batch in a request, in bytes
	count   int             // records in earlier batches
	pending int             // records in the batch
	left    int             // records that may still be imported, if limited
	limited bool
	seen    map[string][32]byte // digests of records by id
	sum     api.ImportAnswer
}

var errImportDone = errors.New("the maximum number of records is imported")

// importArgument imports a file, an archive, the files below a directory, or
// standard input.
func (r *recordImport) importArgument(cmd *cobra.Command, format importer.Format, arg string) error {
	if arg == "-" {
		return r.importInput(cmd.Context(), format, "-", "standard input", io.NopCloser(cmd.InOrStdin()))
	}
	info, err := os.Stat(arg)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || !format.Match(entry.Name()) {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(arg, path)
			if err != nil {
				return errors.Join(err, file.Close())
			}
			return r.importInput(cmd.Context(), format, path, filepath.ToSlash(name), file)
		})
	}
	file, err := os.Open(arg)
	if err != nil {
		return err
	}
	start := make([]byte, 4)
	n, _ := file.ReadAt(start, 0)
	if !importer.IsArchive(start[:n]) {
		return r.importInput(cmd.Context(), format, arg, filepath.Base(arg), file)
	}
	defer file.Close()
	inputs, err := importer.Archive(format, file, info.Size())
	if err == nil && len(inputs) == 0 {
		err = fmt.Errorf("it contains no file of %s", format.Source)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", arg, err)
	}
	for _, input := range inputs {
		in, err := input.Open()
		if err == nil {
			err = r.importInput(cmd.Context(), format, arg+"/"+input.Name, input.Name, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// importInput imports the records of a file. Invalid lines of JSON are kept in a
// file beside it.
func (r *recordImport) importInput(ctx context.Context, format importer.Format, file, name string,
	in io.ReadCloser) (err error) {
	defer func() { err = errors.Join(err, in.Close()) }()
	var invalid []byte
	for record, err := range format.Read(name, in) {
		problem, skipped := errors.AsType[*importer.Problem](err)
		switch {
		case skipped:
			r.addFailure(fmt.Sprintf("%s: %v", file, problem))
			if len(problem.Text) > 0 {
				invalid = append(append(invalid, problem.Text...), '\n')
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, part := range importer.Split(record, maxImportText) {
			if err := r.add(ctx, file, part); err != nil {
				return err
			}
		}
	}
	if dry, _ := paramGiven(r.req, "dry_run"); len(invalid) == 0 || dry == "true" || file == "-" {
		return nil
	}
	return keepInvalid(file, invalid)
}

// keepInvalid writes the invalid lines of a file to a new file beside it,
// FILE.invalid or, if another file has that name, FILE.invalid2 and so on. A file
// that contains the lines already is kept. Beside a file in an archive there is no
// place. Links are not followed, because the directory may be another user's.
func keepInvalid(file string, lines []byte) error {
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return nil
	}
	name := file + ".invalid"
	for n := 2; ; n++ {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.Write(lines)
			return errors.Join(err, f.Close())
		}
		if !errors.Is(err, fs.ErrExist) || n > maxInvalidFiles {
			return err
		}
		if containsLines(name, lines) {
			return nil
		}
		name = fmt.Sprintf("%s.invalid%d", file, n)
	}
}

// maxInvalidFiles bounds the files of invalid lines beside a file.
const maxInvalidFiles = 100

// containsLines reports whether a regular file consists of the lines.
func containsLines(name string, lines []byte) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(lines)) {
		return false
	}
	text, err := os.ReadFile(name)
	return err == nil && bytes.Equal(text, lines)
}

// addFailure adds a record that was not sent.
func (r *recordImport) addFailure(reason string) {
	r.sum.Failed++
	r.sum.Records = append(r.sum.Records, api.ImportedRecord{State: "failed", Reason: reason})
}

// add adds a record to the batch, and sends the batch before if it would become
// too large. The first of several records with an id is imported.
func (r *recordImport) add(ctx context.Context, file string, record *api.ImportRecord) error {
	line, err := api.EncodeJSON(record)
	if err != nil {
		return err
	}
	digest, known := r.seen[record.ID]
	switch is := sha256.Sum256(line); {
	case known && is != digest:
		r.addFailure(fmt.Sprintf("%s: another record has the id %q too", file, record.ID))
		return nil
	case known:
		return nil
	default:
		r.seen[record.ID] = is
	}
	quoted, err := json.Marshal(string(line))
	if err != nil {
		return err
	}
	if r.pending > 0 && r.size+len(quoted) > maxImportBatch {
		if err := r.send(ctx); err != nil {
			return err
		}
	}
	r.batch.Write(line)
	r.size += len(quoted)
	r.pending++
	return nil
}

// send sends the batch and adds the answer to the sum.
func (r *recordImport) send(ctx context.Context) error {
	if r.pending == 0 {
		return nil
	}
	if r.limited {
		if err := setParam(r.req, "max", strconv.Itoa(r.left)); err != nil {
			return err
		}
	}
	if err := setParam(r.req, "records", r.batch.String()); err != nil {
		return err
	}
	answer, _, err := requestAnswer[api.ImportAnswer](ctx, r.a, r.req)
	if err != nil {
		return err
	}
	for _, record := range answer.Records {
		record.Line += r.count
		r.sum.Records = append(r.sum.Records, record)
	}
	r.sum.Created += answer.Created
	r.sum.Rewritten += answer.Rewritten
	r.sum.Unchanged += answer.Unchanged
	r.sum.Edited += answer.Edited
	r.sum.Older += answer.Older
	r.sum.Failed += answer.Failed
	r.sum.Redacted += answer.Redacted
	r.sum.DryRun, r.sum.Disabled = answer.DryRun, answer.Disabled
	r.count += r.pending
	r.left -= len(answer.Records) - answer.Older - answer.Failed
	r.batch.Reset()
	r.size, r.pending = 0, 0
	if r.limited && r.left <= 0 {
		return errImportDone
	}
	return nil
}

// finish sends the last batch, prints the sum and returns the error of the
// command. If a request has failed, the sum is that of the earlier ones.
func (r *recordImport) finish(ctx context.Context, form *api.Command, err error) error {
	if err == nil {
		err = r.send(ctx)
	}
	if errors.Is(err, errImportDone) {
		err = nil
	}
	if err != nil && r.count == 0 && r.sum.Failed == 0 {
		return err
	}
	if err == nil && r.count == 0 && r.sum.Failed == 0 {
		r.a.out.addHint(term.AsText, "%s: the files contain no records", form.Words)
	}
	if failure := r.a.printSum(r.sum); failure != nil {
		return failure
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: the rest was not imported: %w", form.Words, err)
	case r.sum.Failed > 0:
		return fmt.Errorf("%s: %s not imported", form.Words, term.Plural(r.sum.Failed, "record"))
	}
	return nil
}

// printImported shows the numbers of files and, of a dry run, the files. It lists
// the records that failed and those with credentials.
func (p *Printer) printImported(a *api.ImportAnswer) {
	verb := textIf(a.DryRun, "to be ")
	p.printf("%s %screated, %d %srewritten, %d unchanged", term.Plural(a.Created, "file"), verb, a.Rewritten, verb,
		a.Unchanged)
	p.println(andSome(a.Edited, "kept as edited") + andSome(a.Older, "older"))
	for _, r := range a.Records {
		written := r.State == "created" || r.State == "rewritten"
		switch {
		case r.State == "failed" && r.Line == 0: // not sent; the reason names the file
			p.printIndented(0, plainText(term.AsText, r.Reason))
		case r.State == "failed":
			p.printIndented(0, plainText(term.AsText, cmp.Or(r.Path, fmt.Sprintf("record %d", r.Line))+": "+r.Reason))
		case r.State == "edited", a.DryRun && written:
			p.printIndented(0, plainText(term.AsText, r.State+": "+r.Path))
		}
		if len(r.Credentials) > 0 && written {
			p.printIndented(0, plainText(term.AsText, r.Path+": credentials removed: "+strings.Join(r.Credentials, ", ")))
		}
	}
}
