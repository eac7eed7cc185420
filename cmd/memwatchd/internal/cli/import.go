package cli

import (
	"bufio"
	"bytes"
	"cmp"
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
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/importer"
)

const (
	// maxImportBatch bounds the lines of one request, encoded twice, in bytes, so that
	// a request stays below the limit of the daemon.
	maxImportBatch = 512 << 10
	// maxImportLine bounds a line, such as a file of entries, encoded twice.
	maxImportLine = 900 << 10
	// maxImportText bounds the text of one record. Encoded twice, it takes at most four
	// times as many bytes. Longer records become several files.
	maxImportText = 192 << 10
)

// addImport makes a command read the files that its arguments name and send their items
// or records in batches.
func addImport(c *cobra.Command, form *api.Command, op *api.Operation) flow {
	items := op.Name == "item_import"
	format, ok := importer.FormatOf(form.Set["source"])
	if !ok && !items {
		panic("no format for the command " + form.Words) // a mistake in the table; every test would fail
	}
	c.Use = c.Name() + " file" + api.TextIf(!items, "...")
	c.ValidArgsFunction = nil // names of files
	c.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case items && len(args) != 1:
			return Usagef("%s: name one file, or - for standard input", form.Words)
		case len(args) == 0:
			return Usagef("%s: name the exported files, or - for standard input", form.Words)
		}
		return nil
	}
	return func(a *invocation, args []string) error {
		if items {
			return a.importItems(form, args[0])
		}
		r := &recordImport{a: a, format: format, seen: map[string][32]byte{},
			batch: &batch{a: a, words: form.Words, req: a.req, param: "records"}}
		r.batch.send = r.send
		r.sum.Records = []api.ImportedRecord{}
		var err error
		for _, arg := range args {
			if err = r.importArgument(a.cmd, arg); err != nil {
				break
			}
		}
		return r.finish(a.cmd.Context(), err)
	}
}

// A batch collects the lines of a parameter and sends them in requests.
type batch struct {
	a     *invocation
	words string // of the command
	req   *api.Request
	param string
	send  func(ctx context.Context, before int) error // sends the request; before is the number of earlier lines

	lines       strings.Builder
	size        int // in a request, in bytes
	count, sent int // lines
}

var errTooLarge = fmt.Errorf("has more than %d KiB", maxImportLine>>10)

// add adds a line, and sends the lines before if the batch would become too large.
func (b *batch) add(ctx context.Context, line string) error {
	quoted, _ := json.Marshal(line) // every text can be encoded
	if len(quoted) >= maxImportLine {
		return errTooLarge
	}
	if b.size > 0 && b.size+len(quoted) > maxImportBatch {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	b.lines.WriteString(line)
	b.size += len(quoted)
	b.count++
	return nil
}

// flush sends the lines that wait.
func (b *batch) flush(ctx context.Context) error {
	if b.size == 0 {
		return nil
	}
	if err := b.req.SetNamed(b.param, b.lines.String()); err != nil {
		return err
	}
	if err := b.send(ctx, b.sent); err != nil {
		return err
	}
	b.lines.Reset()
	b.size, b.sent = 0, b.count
	return nil
}

// finish prints the sum of the answers and returns the error of the command, if the import
// has failed or there are failed lines or records. If a request has failed, the sum is that
// of the earlier ones, and rest begins the error: "the lines from 5 on were".
func (b *batch) finish(sum any, failed int, noun, rest string, err error) error {
	if err != nil && b.sent == 0 && failed == 0 {
		return err
	}
	if _, failure := b.a.printResponse(AsJSON(sum)); failure != nil {
		return failure
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %s not imported: %w", b.words, rest, err)
	case failed > 0:
		return fmt.Errorf("%s: %s not imported", b.words, api.Plural(failed, noun))
	}
	return nil
}

// importItems sends the lines of a file and prints the sum of the answers.
func (a *invocation) importItems(form *api.Command, name string) error {
	cmd, req := a.cmd, a.req
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	sum := api.ItemImportAnswer{Invalid: []api.LineProblem{}}
	b := &batch{a: a, words: form.Words, req: req, param: "lines"}
	b.send = func(ctx context.Context, before int) error {
		answer, _, err := requestAnswer[api.ItemImportAnswer](ctx, a, req)
		if err != nil {
			return err
		}
		for i := range answer.Invalid {
			answer.Invalid[i].Line += before
		}
		sum.Add(answer)
		return nil
	}
	var err error
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxImportBatch)
	for err == nil && lines.Scan() {
		line := lines.Text()
		if !utf8.ValidString(line) {
			sum.Invalid = append(sum.Invalid, api.LineProblem{Line: b.count + 1, Reason: "text is not valid UTF-8"})
			line = "" // keeps the numbers of the lines after it
		}
		err = b.add(cmd.Context(), line+"\n")
	}
	if err == nil {
		err = b.flush(cmd.Context())
	}
	err = cmp.Or(err, lines.Err())
	if errors.Is(err, bufio.ErrTooLong) || err == errTooLarge {
		err = fmt.Errorf("line %d is too large for a request", b.count+1)
	}
	slices.SortStableFunc(sum.Invalid, func(a, b api.LineProblem) int { return cmp.Compare(a.Line, b.Line) })
	return b.finish(sum, len(sum.Invalid), "line", fmt.Sprintf("the lines from %d on were", b.sent+1), err)
}

// A recordImport sends records in batches and sums the answers.
type recordImport struct {
	a      *invocation
	format importer.Format
	batch  *batch
	last   []*api.ImportRecord // summaries, whose evidence the other records contain
	seen   map[string][32]byte // digests of records by id
	sum    api.ImportAnswer
}

type inputFile struct {
	shown  string // name in messages
	name   string // for titles
	place  string // absolute path, also in an archive
	onDisk bool   // a file can be written beside it
	open   func() (io.ReadCloser, error)
}

// importArgument imports a file, an archive, the files below a directory, or
// standard input.
func (r *recordImport) importArgument(cmd *cobra.Command, arg string) error {
	files, err := r.listFiles(cmd.InOrStdin(), arg)
	for _, f := range files {
		if err == nil {
			err = r.importInput(cmd.Context(), f)
		}
	}
	return err
}

func (r *recordImport) listFiles(stdin io.Reader, arg string) (list []inputFile, err error) {
	if arg == "-" {
		in := bufio.NewReaderSize(stdin, 64<<10)
		start, _ := in.Peek(in.Size()) // an error occurs again
		place := fmt.Sprintf("/standard input %x", sha256.Sum256(start))
		open := func() (io.ReadCloser, error) { return io.NopCloser(in), nil }
		return []inputFile{{"-", "standard input", place, false, open}}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	place, err := filepath.Abs(arg)
	if err != nil {
		return nil, err
	}
	place = config.RealPath(place)
	if info.IsDir() {
		err = filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && r.format.Match(entry.Name()) {
				below, _ := filepath.Rel(arg, path) // cannot fail: path begins with arg
				open := func() (io.ReadCloser, error) { return os.Open(path) }
				list = append(list, inputFile{path, below, filepath.Join(place, below), true, open})
			}
			return err
		})
		return list, err
	}
	file, err := os.Open(arg)
	if err != nil {
		return nil, err
	}
	start := make([]byte, 4)
	n, _ := file.ReadAt(start, 0)
	if !importer.IsArchive(start[:n]) {
		open := func() (io.ReadCloser, error) { return file, nil }
		return []inputFile{{arg, filepath.Base(arg), place, true, open}}, nil
	}
	inputs, err := importer.Archive(r.format, file, info.Size()) // which stays open
	if err == nil && len(inputs) == 0 {
		err = fmt.Errorf("it contains no file of %s", r.format.Program)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", arg, err), file.Close())
	}
	for _, in := range inputs {
		list = append(list, inputFile{arg + "/" + in.Name, in.Name, path.Join(place, in.Name), false, in.Open})
	}
	return list, nil
}

// originOf returns a name for the origin of a file: the name of the file, as a part of the
// names of daily notes, with a digest of its place. Both files of an export as JSON lines have
// the origin of their directory.
func (r *recordImport) originOf(place string) string {
	base := path.Base(place)
	if r.format.Program == "jsonl" && (base == shortTermFile || base == longTermFile) {
		place = path.Dir(place)
		base = path.Base(place)
	}
	base = strings.ToLower(base)
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
func (r *recordImport) importInput(ctx context.Context, f inputFile) (err error) {
	in, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	source := importer.Source{Name: f.name, Origin: r.originOf(f.place), Location: r.a.out.reader.Location}
	var invalid []byte
	for record, err := range r.format.Read(source, in) {
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
		if err := r.add(ctx, f.shown, record); err != nil {
			return err
		}
	}
	if dry, _ := r.batch.req.GivenValue("dry_run"); len(invalid) == 0 || dry == "true" || !f.onDisk {
		return nil
	}
	return keepInvalid(f.shown, invalid)
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
	r.sum.Add(&api.ImportAnswer{Records: []api.ImportedRecord{{State: "failed", Reason: reason}}})
}

// add adds a record to the batch, as several if its text is too large for a request. The
// first of several records with an id is imported.
func (r *recordImport) add(ctx context.Context, file string, record *api.ImportRecord) error {
	parts := []*api.ImportRecord{record}
	if record.Path == "" { // else a file of entries
		parts = importer.Split(record, maxImportText)
	}
	for _, part := range parts {
		line, err := api.EncodeJSON(part)
		if err != nil {
			return err
		}
		digest := sha256.Sum256(line)
		switch first, known := r.seen[part.ID]; {
		case known && first == digest:
			continue
		case known:
			r.addFailure(fmt.Sprintf("%s: another record has the id %q too", file, part.ID))
			continue
		}
		r.seen[part.ID] = digest
		err = r.batch.add(ctx, string(line))
		if err == errTooLarge {
			r.addFailure(fmt.Sprintf("%s: %s %v", file, cmp.Or(part.Path, part.ID), err))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// send sends the request of a batch and adds the answer to the sum.
func (r *recordImport) send(ctx context.Context, before int) error {
	answer, _, err := requestAnswer[api.ImportAnswer](ctx, r.a, r.batch.req)
	if err != nil {
		return err
	}
	for i := range answer.Records {
		answer.Records[i].Line += before
	}
	r.sum.Add(answer)
	return nil
}

// finish sends the last batch and the summaries, and finishes the import.
func (r *recordImport) finish(ctx context.Context, err error) error {
	if err == nil {
		err = r.batch.flush(ctx)
	}
	for _, record := range r.last {
		if err == nil {
			err = r.add(ctx, record.ID, record)
		}
	}
	if err == nil {
		err = r.batch.flush(ctx)
	}
	if err == nil && r.batch.sent == 0 && r.sum.Failed == 0 {
		r.a.out.addHint(term.AsText, "%s: the files contain no records", r.batch.words)
	}
	return r.batch.finish(r.sum, r.sum.Failed, "record", "the rest was", err)
}
