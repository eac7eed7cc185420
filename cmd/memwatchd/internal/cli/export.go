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
func addExport(c *cobra.Command, g *Globals) flow {
	formats := []string{"jsonl", "md", "zip"}
	format := c.Flags().String("format", "jsonl",
		"format: jsonl (an entry a line), md (a directory of Markdown) or zip (an archive of Markdown)")
	output := c.Flags().String("output", "",
		"new directory for jsonl and md, new file for zip; default: standard output, which md does not support")
	g.CompleteFlag(c, "format", CompleteWords(formats...))
	c.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case !slices.Contains(formats, *format):
			return Usagef("export: --format: %q is not one of jsonl, md, zip", *format)
		case *format == "md" && *output == "":
			return Usagef("export: --output is missing: name a new directory for the files")
		}
		return NoArgs(cmd, args)
	}
	return func(a *invocation, _ []string) error {
		if *format == "jsonl" {
			if err := a.req.SetNamed("entries", "true"); err != nil {
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
		return errors.Join(a.exportPages(out), out.close())
	}
}

// exportPages requests the export page by page and writes it to out.
func (a *invocation) exportPages(out *export) error {
	files, masks, notice := 0, 0, ""
	for {
		page, _, err := requestAnswer[api.ExportAnswer](a.cmd.Context(), a, a.req)
		if err != nil {
			return err
		}
		for i := range page.Files {
			if err := out.add(&page.Files[i]); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
		files, masks = files+len(page.Files), masks+page.Redacted
		notice = cmp.Or(notice, page.Index.Notice)
		if page.Next == "" {
			break
		}
		if err := a.req.SetNamed("cursor", page.Next); err != nil {
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
type export struct {
	add   func(*api.ExportFile) error
	close func() error
}

// newExport returns an export to an output, or to w without one. An existing
// output is an error, because an export replaces nothing.
func newExport(format, output string, w io.Writer) (*export, error) {
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
		return &export{fileAdder(write), func() error { return errors.Join(archive.Close(), closeFile()) }}, nil
	}
	if output == "" {
		return &export{lineAdder(w, w), func() error { return nil }}, nil
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
		return &export{fileAdder(write), root.Close}, nil
	}
	short, err := root.Create(shortTermFile)
	if err != nil {
		return nil, err
	}
	long, err := root.Create(longTermFile)
	if err != nil {
		return nil, err
	}
	return &export{lineAdder(short, long),
		func() error { return errors.Join(short.Close(), long.Close(), root.Close()) }}, nil
}

// fileAdder returns a function that writes a file at its path, with a number if another
// file has that name. Files have equal names if these differ only in masked credentials,
// or, on many machines, in case.
func fileAdder(write func(name, text string) error) func(*api.ExportFile) error {
	names := map[string]bool{} // of the files written so far, in lower case
	return func(f *api.ExportFile) error {
		if !fs.ValidPath(f.Path) {
			return fmt.Errorf("%q is not a path", f.Path)
		}
		name, ext := f.Path, path.Ext(f.Path)
		for n := 2; names[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.Path, ext), n, ext)
		}
		names[strings.ToLower(name)] = true
		return write(name, f.Text)
	}
}

// lineAdder returns a function that writes the entries of a file as JSON lines: summaries
// of subjects and projects to long, and all others to short.
func lineAdder(short, long io.Writer) func(*api.ExportFile) error {
	return func(f *api.ExportFile) error {
		for _, entry := range f.Entries {
			line, w := importer.LineOf(entry), short
			if line.RecordType != importer.MemoryItem {
				w = long
			}
			if _, err := w.Write(AsJSON(line)); err != nil {
				return err
			}
		}
		return nil
	}
}
