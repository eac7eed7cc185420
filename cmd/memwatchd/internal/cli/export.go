package cli

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/importer"
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
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	c.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case !slices.Contains(formats, *format):
			return UsageError{Err: fmt.Errorf("export: --format: %q is not one of jsonl, md, zip", *format)}
		case *format == "md" && *output == "":
			return UsageError{Err: errors.New("export: --output is missing: name a new directory for the files")}
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
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return errors.Join(a.exportPages(cmd, req, out), out.Close())
	}
}

// exportPages writes all pages.
func (a *invocation) exportPages(cmd *cobra.Command, req *api.Request, out export) error {
	masks := 0
	for {
		page, err := requestAnswer[api.ExportAnswer](cmd.Context(), a, req)
		if err != nil {
			return err
		}
		for i := range page.Files {
			if err := out.Add(&page.Files[i]); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
		masks += page.Redacted
		if page.Next == "" {
			break
		}
		if err := setParam(req, "cursor", page.Next); err != nil {
			return err
		}
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
	switch {
	case format == "zip" && output == "":
		return &zipExport{w: zip.NewWriter(w)}, nil
	case format == "zip":
		file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		return &zipExport{w: zip.NewWriter(file), file: file}, nil
	case output == "":
		return &lineExport{short: w, long: w}, nil
	}
	if err := os.Mkdir(output, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(output)
	if err != nil || format == "md" {
		return &dirExport{root: root}, err
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

// exportNames are the names of the files written so far, in lower case. Files
// have equal names if these differ only in masked credentials, or, on many
// machines, in case.
type exportNames map[string]bool

// add returns the name for an exported file: its path, with a number if another
// file has that name.
func (e *exportNames) add(f *api.ExportFile) (string, error) {
	if !fs.ValidPath(f.Path) {
		return "", fmt.Errorf("%q is not a path", f.Path)
	}
	if *e == nil {
		*e = exportNames{}
	}
	name, ext := f.Path, path.Ext(f.Path)
	for n := 2; (*e)[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.Path, ext), n, ext)
	}
	(*e)[strings.ToLower(name)] = true
	return name, nil
}

// A dirExport writes Markdown below a directory, which the names of files cannot
// leave.
type dirExport struct {
	root  *os.Root
	names exportNames
}

func (e *dirExport) Add(f *api.ExportFile) error {
	name, err := e.names.add(f)
	if err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	if err := e.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return e.root.WriteFile(name, []byte(f.Text), 0o600)
}

func (e *dirExport) Close() error { return e.root.Close() }

// A zipExport writes Markdown to an archive.
type zipExport struct {
	w     *zip.Writer
	file  io.Closer // nil for standard output
	names exportNames
}

func (e *zipExport) Add(f *api.ExportFile) error {
	name, err := e.names.add(f)
	if err != nil {
		return err
	}
	w, err := e.w.Create(name)
	if err == nil {
		_, err = io.Copy(w, strings.NewReader(f.Text))
	}
	return err
}

func (e *zipExport) Close() error {
	err := e.w.Close()
	if e.file != nil {
		err = errors.Join(err, e.file.Close())
	}
	return err
}

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
