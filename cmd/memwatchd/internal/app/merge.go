package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
)

// newMerge returns the merge driver for git. It needs neither a daemon nor a
// configuration, so that a clone of the memory can be merged anywhere.
func newMerge() *cobra.Command {
	return cli.AcceptGlobals(&cobra.Command{
		Use:   "merge -- BASE OURS THEIRS [PATH]",
		Short: "Merge two versions of a file entry by entry, for git",
		Long: `Merge the file THEIRS into the file OURS, entry by entry. BASE is the last common version, or an empty file. PATH is the path in the repository.

The merge keeps the additions of both versions. An entry that both versions changed differently is written between conflict markers, and the command fails, as git expects of a merge driver.`,
		Example: "  git config merge.memwatchd.driver 'memwatchd merge -- %O %A %B %P'\n" +
			"  echo '*.md merge=memwatchd' >> .gitattributes",
		GroupID: "ask",
		// A configuration without -- passes names such as --help.md. A driver that
		// fails before it merges would leave our version without conflict markers.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.DisableFlagParsing = false
			cmd.Flags().SetInterspersed(false) // flags end before the first file
			err := cmd.ParseFlags(args)
			if help, _ := cmd.Flags().GetBool("help"); help || errors.Is(err, pflag.ErrHelp) {
				return cmd.Help()
			}
			if err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			args = cmd.Flags().Args()
			if len(args) < 3 {
				return cli.Usagef("merge takes three files and a path, but got %d arguments", len(args))
			}
			path := args[1]
			if len(args) > 3 {
				path = args[3]
			}
			if err := mergeFiles(args[0], args[1], args[2], path); err != nil {
				return fmt.Errorf("merge %s: %w", path, err)
			}
			return nil
		},
	})
}

// mergeFiles writes the merge of three files to ours. It returns an error if there
// are conflicts. If the base cannot be read, both versions are between conflict markers.
func mergeFiles(base, ours, theirs, path string) error {
	var texts [3][]byte
	var errs [3]error
	for i, name := range []string{base, ours, theirs} {
		texts[i], errs[i] = os.ReadFile(name)
	}
	if err := cmp.Or(errs[1], errs[2]); err != nil {
		return err
	}
	if len(texts[0]) == 0 {
		texts[0] = nil // both versions created the file
	}
	if _, below, ok := strings.Cut("/"+path, "/_longterms/"); ok {
		path = "_longterms/" + below // the memory may be a directory of the repository
	}
	m := new(memory.Layout).MergeVersions(path, texts[0], texts[1], texts[2])
	merged, err := m.Text(memory.KeepMarked)
	if errs[0] != nil && !bytes.Equal(texts[1], texts[2]) {
		merged = memory.MarkVersions(texts[1], texts[2])
	}
	if err == nil {
		err = overwrite(ours, merged)
	}
	switch err, n := cmp.Or(err, errs[0]), len(m.Conflicts); {
	case err != nil:
		return err
	case m.Whole:
		return fmt.Errorf("the versions cannot be merged entry by entry; %s", mergeRemedy)
	case n > 0:
		return fmt.Errorf("both versions changed %s; %s", api.Plural(n, "entry"), mergeRemedy)
	}
	return nil
}

const mergeRemedy = "edit the text between the conflict markers"

// overwrite replaces a file that exists and keeps its mode. On failure the file is
// unchanged.
func overwrite(name string, data []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return state.Replace(name, 0o600, data, func(f *os.File) error { return f.Chmod(info.Mode().Perm()) })
}
