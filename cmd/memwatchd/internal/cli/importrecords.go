package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/importer"
)

// maxImportText bounds the text of one record. Encoded twice, it takes at most
// four times as many bytes, so that a request stays below the default of
// the limit of a request. Longer records become several files.
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
		r := &recordImport{a: a, req: req, format: format, seen: map[string][32]byte{}}
		r.sum.Records = []api.ImportedRecord{}
		for _, arg := range args {
			if err = r.importArgument(cmd, arg); err != nil {
				break
			}
		}
		return r.finish(cmd.Context(), form, err)
	}
}

// maxImportFile bounds a file of entries, encoded twice, so that a request stays below
// the limit of a request.
const maxImportFile = 900 << 10

// A recordImport sends records in batches and sums the answers.
type recordImport struct {
	a       *invocation
	req     *api.Request
	format  importer.Format
	last    []*api.ImportRecord // summaries, whose evidence the other records contain
	batch   strings.Builder     // records as JSON lines
	size    int                 // of the batch in a request, in bytes
	count   int                 // records in earlier batches
	pending int                 // records in the batch
	seen    map[string][32]byte // digests of records by id
	sum     api.ImportAnswer
}

// importArgument imports a file, an archive, the files below a directory, or
// standard input.
func (r *recordImport) importArgument(cmd *cobra.Command, arg string) error {
	ctx := cmd.Context()
	if arg == "-" {
		in := bufio.NewReaderSize(cmd.InOrStdin(), 64<<10)
		start, _ := in.Peek(in.Size()) // an error occurs again
		place := fmt.Sprintf("/standard input %x", sha256.Sum256(start))
		return r.importInput(ctx, inputFile{shown: "-", name: "standard input", place: place}, io.NopCloser(in))
	}
	info, err := os.Stat(arg)
	if err != nil {
		return err
	}
	place, err := filepath.Abs(arg)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	}
	place = filepath.ToSlash(place)
	if info.IsDir() {
		return filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || !r.format.Match(entry.Name()) {
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
			return r.importInput(ctx, inputFile{path, filepath.ToSlash(name), place, filepath.ToSlash(name), true}, file)
		})
	}
	file, err := os.Open(arg)
	if err != nil {
		return err
	}
	start := make([]byte, 4)
	n, _ := file.ReadAt(start, 0)
	if !importer.IsArchive(start[:n]) {
		return r.importInput(ctx, inputFile{arg, filepath.Base(arg), place, "", true}, file)
	}
	defer file.Close()
	inputs, err := importer.Archive(r.format, file, info.Size())
	if err == nil && len(inputs) == 0 {
		err = fmt.Errorf("it contains no file of %s", r.format.Program)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", arg, err)
	}
	for _, input := range inputs {
		in, err := input.Open()
		if err == nil {
			err = r.importInput(ctx, inputFile{arg + "/" + input.Name, input.Name, place, input.Name, false}, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type inputFile struct {
	shown  string // name in messages
	name   string // for titles
	place  string // absolute path of the argument
	below  string // path below a directory or in an archive, else empty
	onDisk bool   // a file can be written beside it
}

// source returns the file as a format reads it. Its origin is the name of the file with
// a digest of its place. Both files of an export as JSON lines have the origin of their
// directory.
func (r *recordImport) source(f inputFile) importer.Source {
	isHalf := func(name string) bool { return path.Base(name) == shortTermFile || path.Base(name) == longTermFile }
	if r.format.Program == "jsonl" && isHalf(f.name) {
		f.below = strings.TrimPrefix(path.Dir(f.below), ".")
		if isHalf(f.place) {
			f.place = path.Dir(f.place)
		}
	}
	return importer.Source{Name: f.name, Origin: originName(f.place, f.below), Location: r.a.out.reader.Location}
}

// originName returns the name of a place, which can be a part of the names of daily
// notes.
func originName(place, below string) string {
	place = path.Join(place, below)
	base := strings.ToLower(path.Base(place))
	base = strings.TrimSuffix(base, path.Ext(base))
	base = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, base)
	sum := sha256.Sum256([]byte(place))
	return strings.Trim(base[:min(len(base), 40)]+"_"+hex.EncodeToString(sum[:4]), "_")
}

// importInput imports the records of a file. Invalid lines of JSON are kept in a
// file beside it.
func (r *recordImport) importInput(ctx context.Context, f inputFile, in io.ReadCloser) (err error) {
	defer func() { err = errors.Join(err, in.Close()) }()
	var invalid []byte
	for record, err := range r.format.Read(r.source(f), in) {
		problem, skipped := errors.AsType[*importer.Problem](err)
		switch {
		case skipped:
			r.addFailure(fmt.Sprintf("%s: %v", f.shown, problem))
			if len(problem.Text) > 0 && r.format.Program == "jsonl" {
				invalid = append(append(invalid, problem.Text...), '\n')
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", f.shown, err)
		case record.Summary != "":
			r.last = append(r.last, record)
			continue
		}
		if err := r.addParts(ctx, f.shown, record); err != nil {
			return err
		}
	}
	if dry, _ := paramGiven(r.req, "dry_run"); len(invalid) == 0 || dry == "true" || !f.onDisk {
		return nil
	}
	return keepInvalid(f.shown, invalid)
}

// addParts adds a record, as several if it is too large for a request.
func (r *recordImport) addParts(ctx context.Context, file string, record *api.ImportRecord) error {
	if record.Path != "" { // a file of entries
		line, err := api.EncodeJSON(record)
		if err != nil {
			return err
		}
		if quoted, err := json.Marshal(string(line)); err != nil || len(quoted) >= maxImportFile {
			r.addFailure(fmt.Sprintf("%s: %s has more than %d KiB", file, record.Path, maxImportFile>>10))
			return err
		}
		return r.add(ctx, file, record)
	}
	for _, part := range importer.Split(record, maxImportText) {
		if err := r.add(ctx, file, part); err != nil {
			return err
		}
	}
	return nil
}

// keepInvalid writes the invalid lines of a file to FILE.invalid beside it, unless this
// file has them already. It replaces no file and follows no link, because the directory may be
// another user's.
func keepInvalid(file string, lines []byte) error {
	name := file + ".invalid"
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(lines)
		return errors.Join(err, f.Close())
	}
	info, failure := os.Lstat(name)
	if failure == nil && info.Mode().IsRegular() && info.Size() == int64(len(lines)) {
		if kept, failure := os.ReadFile(name); failure == nil && bytes.Equal(kept, lines) {
			return nil
		}
	}
	return fmt.Errorf("keep the invalid lines: %w; move that file away", err)
}

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
	for name, n := range answer.Changes {
		if r.sum.Changes == nil {
			r.sum.Changes = map[string]int{}
		}
		r.sum.Changes[name] += n
	}
	r.sum.Redacted += answer.Redacted
	r.sum.DryRun, r.sum.Disabled = answer.DryRun, answer.Disabled
	r.count += r.pending
	r.batch.Reset()
	r.size, r.pending = 0, 0
	return nil
}

// finish sends the last batch, prints the sum and returns the error of the
// command. If a request has failed, the sum is that of the earlier ones.
func (r *recordImport) finish(ctx context.Context, form *api.Command, err error) error {
	if err == nil {
		err = r.send(ctx)
	}
	for _, record := range r.last {
		if err == nil {
			err = r.addParts(ctx, record.ID, record)
		}
	}
	if err == nil {
		err = r.send(ctx)
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
		return fmt.Errorf("%s: %s not imported", form.Words, api.Plural(r.sum.Failed, "record"))
	}
	return nil
}
