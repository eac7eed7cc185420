package cli

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/importer"
)

// Names of the files of JSON lines.
const (
	shortTermFile = "short_term.jsonl"
	longTermFile  = "long_term.jsonl"
)

// addExport makes the command write all pages of the answer in one of several
// formats.
func addExport(c *cobra.Command, op *api.Operation, req *api.Request, g *Globals) {
	formats := []string{"jsonl", "md", "zip"}
	format := c.Flags().String("format", "jsonl",
		"format: jsonl (an entry a line), md (a directory of Markdown) or zip (an archive of Markdown)")
	output := c.Flags().String("output", "",
		"new directory for jsonl and md, new file for zip; default: standard output, which md does not support")
	g.CompleteFlag(c, "format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	c.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case !slices.Contains(formats, *format):
			return Usagef("export: --format: %q is not one of jsonl, md, zip", *format)
		case *format == "md" && *output == "":
			return Usagef("export: --output is missing: name a new directory for the files")
		}
		return NoArgs(cmd, args)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := newInvocation(cmd, op, req, g)
		if err != nil {
			return err
		}
		if *format == "jsonl" {
			if err := setParam(req, "entries", "true"); err != nil {
				return err
			}
		}
		out, err := newExport(*format, *output, g.Stdout)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("export: --output: %s exists already: name a new file or directory", *output)
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return errors.Join(a.exportPages(cmd, req, out), out.Close())
	}
}

func (a *invocation) exportPages(cmd *cobra.Command, req *api.Request, out export) error {
	files, masks, notice := 0, 0, ""
	for {
		page, _, err := requestAnswer[api.ExportAnswer](cmd.Context(), a, req)
		if err != nil {
			return err
		}
		for i := range page.Files {
			if err := out.Add(&page.Files[i]); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
		files, masks = files+len(page.Files), masks+page.Redacted
		notice = cmp.Or(notice, page.Index.Notice)
		if page.Next == "" {
			break
		}
		if err := setParam(req, "cursor", page.Next); err != nil {
			return err
		}
	}
	a.out.addHint(term.AsBad, "%s", notice)
	if files == 0 && notice == "" {
		a.out.addHint(term.AsText, "nothing was exported, because there is no file that you can read")
	}
	if masks > 0 {
		a.out.addHint(term.AsText, "credentials are masked in the export")
	}
	return a.out.flush()
}

// An export writes exported files in a format.
type export interface {
	Add(*api.ExportFile) error
	Close() error
}

// newExport returns an export to an output, or to w without one. An existing
// output is an error, because an export replaces nothing.
func newExport(format, output string, w io.Writer) (export, error) {
	if format == "zip" {
		closeFile := func() error { return nil }
		if output != "" {
			file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return nil, err
			}
			w, closeFile = file, file.Close
		}
		archive := zip.NewWriter(w)
		write := func(name, text string) error {
			file, err := archive.Create(name)
			if err == nil {
				_, err = io.WriteString(file, text)
			}
			return err
		}
		return &fileExport{write, func() error { return errors.Join(archive.Close(), closeFile()) }, map[string]bool{}}, nil
	}
	if output == "" {
		return &lineExport{short: w, long: w}, nil
	}
	if err := os.Mkdir(output, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(output) // which the names of files cannot leave
	if err != nil {
		return nil, err
	}
	if format == "md" {
		write := func(name, text string) error {
			if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
				return err
			}
			return root.WriteFile(name, []byte(text), 0o600)
		}
		return &fileExport{write, root.Close, map[string]bool{}}, nil
	}
	short, err := root.Create(shortTermFile)
	if err != nil {
		return nil, err
	}
	long, err := root.Create(longTermFile)
	if err != nil {
		return nil, err
	}
	return &lineExport{short, long, []io.Closer{short, long, root}}, nil
}

type fileExport struct {
	write func(name, text string) error
	close func() error
	names map[string]bool // of the files written so far, in lower case
}

// Add writes a file at its path, with a number if another file has that name. Files
// have equal names if these differ only in masked credentials, or, on many machines,
// in case.
func (e *fileExport) Add(f *api.ExportFile) error {
	if !fs.ValidPath(f.Path) {
		return fmt.Errorf("%q is not a path", f.Path)
	}
	name, ext := f.Path, path.Ext(f.Path)
	for n := 2; e.names[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.Path, ext), n, ext)
	}
	e.names[strings.ToLower(name)] = true
	return e.write(name, f.Text)
}

func (e *fileExport) Close() error { return e.close() }

// A lineExport writes entries as JSON lines: summaries of subjects and projects to
// long, and all others to short.
type lineExport struct {
	short, long io.Writer
	close       []io.Closer
}

func (e *lineExport) Add(f *api.ExportFile) error {
	for _, entry := range f.Entries {
		line := importer.LineOf(entry)
		w := e.short
		if line.RecordType != importer.MemoryItem {
			w = e.long
		}
		if _, err := w.Write(AsJSON(line)); err != nil {
			return err
		}
	}
	return nil
}

func (e *lineExport) Close() error {
	var list []error
	for _, c := range e.close {
		list = append(list, c.Close())
	}
	return errors.Join(list...)
}
