// Package setup implements the commands that install memwatchd: init creates a
// memory and a configuration, service installs the daemon as a service of the
// operating system, and install and uninstall edit the settings of agents. The
// texts come from the packages service and agents; this package reads and
// writes the files, and runs systemctl.
package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/memory"
)

// NewInit returns the command init.
func NewInit(g *cli.Globals) *cobra.Command {
	var example, public bool
	var template, host string
	c := &cobra.Command{
		Use:   "init",
		Short: "Create a memory directory and a configuration",
		Long: "Create a private memory directory, and a configuration with its path and time zone. Existing files " +
			"are not changed. The output names the layout of an existing directory, and the configuration contains the " +
			"settings that fit: the owner, the directories of users, and the directory of daily notes.\n\n" +
			"Daily notes and sessions are private, unless --public makes them public.\n\n" +
			"A configuration is for one directory. If it exists and --dir names another one, init fails.",
		Example: "  memwatchd init\n  memwatchd init --name work --dir ~/work/notes",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if template != "" && example {
				return cli.Usagef("init: --example contains a MEMORY.md: omit --example or --template")
			}
			if template != "" {
				if err := config.CheckOneOf(template, templates); err != nil {
					return cli.Usagef("init: --template: %w", err)
				}
			}
			if host != "" {
				if err := memory.ValidHost(host); err != nil {
					return cli.Usagef("init: --host: %w", err)
				}
			}
			if err := createMemory(g, example, public, template, host); err != nil {
				return err
			}
			about := flagsOf(g)
			fmt.Fprintf(g.Stdout, "\nSave a note, find it, and check the installation:\n    %s\n    %s\n    %s\n",
				about.Command("note The first note"), about.Command("search note"), about.Command("doctor"))
			return nil
		},
	}
	c.Flags().BoolVar(&example, "example", false, "create example files if the directory is empty")
	c.Flags().BoolVar(&public, "public", false,
		"let every context read sessions and daily notes, for a memory that serves groups")
	c.Flags().StringVar(&template, "template", "",
		"create a MEMORY.md from a template if there is none: pet (a pet agent, in Chinese)")
	c.Flags().StringVar(&host, "host", "",
		"name of this machine, if several machines write to the memory: daily notes are then files of one machine")
	g.CompleteFlag(c, "template", cli.CompleteWords(templates...))
	return cli.AcceptGlobals(c, cli.MemoryFlags)
}

// flagsOf returns the flags that select the new configuration.
func flagsOf(g *cli.Globals) config.Flags {
	if g.Config.File != "" {
		return config.Flags{File: g.Config.File}
	}
	return config.Flags{Name: g.Config.Name}
}

// templates lists the templates of MEMORY.md.
var templates = []string{"pet"}

// createMemory creates the missing files and directories, and changes no existing
// ones.
func createMemory(g *cli.Globals, example, public bool, template, host string, watch ...string) error {
	c, err := config.Load(config.Flags{Name: g.Config.Name, Dir: g.Config.Dir,
		File: config.ExistingPath(g.Config.File)},
		os.Environ())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if err := cmp.Or(checkSameMemory(g, c), checkEncoding(c)); err != nil {
		return err
	}
	layout := c.Layout()
	found := recognizeLayout(c.Memory.Dir, &layout, host)
	if len(watch) > 0 {
		found.settings = append(found.settings, setting{"imports", "watch: [" + strings.Join(watch, ", ") + "]"})
	}
	if err := os.MkdirAll(c.Memory.Dir, 0o700); err != nil {
		return err
	}
	note := ""
	if example {
		n, err := writeExample(c.Memory.Dir, config.Now().In(c.Location))
		if err != nil {
			return err
		}
		note = fmt.Sprintf(" (%s)", api.Plural(n, "example file"))
		if n == 0 {
			note = " (not empty: no example files)"
		}
	}
	if template != "" {
		made, err := writeIfMissing(filepath.Join(c.Memory.Dir, "MEMORY.md"), string(memory.NewPetMemory()))
		if err != nil {
			return err
		}
		note = " (with a MEMORY.md)"
		if !made {
			note = " (existing MEMORY.md)"
		}
	}
	path := cmp.Or(g.Config.File, filepath.Join(xdg.ConfigHome, "memwatchd", c.Name+".yaml"))
	// Printing comes last: the reader of the output may end the command.
	made, err := writeIfMissing(path, starterConfig(c, found, public))
	if err != nil {
		return err
	}
	line := func(label, text string) {
		fmt.Fprintln(g.Stdout, term.EscapeLine(strings.TrimRight(fmt.Sprintf("%-15s%s", label, text), " ")))
	}
	line("memory:", cli.RelativePath(c.Memory.Dir)+note)
	line("found:", strings.Join(found.layouts, ", "))
	if made {
		line("configuration:", path)
		label := "settings:"
		for _, s := range found.settings {
			line(label, s.section+"."+s.line)
			label = ""
		}
		if public {
			line("public:", "sessions and daily notes")
		}
	} else {
		line("configuration:", path+" (exists)")
	}
	return nil
}

// checkSameMemory returns an error if the configuration that exists is for
// another memory than the one that the flags name, or if the flags name only a
// new memory, and the default directory is that of another one.
func checkSameMemory(g *cli.Globals, c *config.Config) error {
	if other := config.NameOf(c.Memory.Dir); other != "" && c.File == "" && g.Config.File == "" && g.Config.Dir == "" {
		return cli.UsageError{Err: fmt.Errorf("init: %s is the memory directory of %s already; name another directory "+
			"with --dir", term.EscapeLine(c.Memory.Dir), term.EscapeLine(other))}
	}
	if g.Config.Dir == "" || c.File == "" {
		return nil
	}
	there, err := config.Load(config.Flags{File: c.File}, os.Environ())
	if err != nil || config.RealPath(there.Memory.Dir) == config.RealPath(c.Memory.Dir) {
		return nil
	}
	return cli.Usagef("init: %s is the configuration of %s, not of %s; add --name %s to create "+
		"a configuration of its own, or change memory.dir in the file", term.EscapeLine(c.File),
		term.EscapeLine(there.Memory.Dir), term.EscapeLine(c.Memory.Dir), config.NameFor(c.Memory.Dir))
}

// starterConfig returns a configuration file with the settings that differ by
// machine. It contains the name of the time zone: days must not shift when the
// machine moves.
func starterConfig(c *config.Config, found *recognized, public bool) string {
	zone := c.Memory.Timezone
	if zone == "Local" {
		zone = machineZone()
	}
	text := fmt.Sprintf("# Every key is in config.example.yaml, and `memwatchd config` prints the configuration "+
		"in effect.\n"+
		"name: %s\nmemory:\n  dir: %q\n  timezone: %s\n", c.Name, c.Memory.Dir, zone)
	settings := found.settings
	for _, key := range []string{"sessions", "daily"} {
		if public {
			settings = append(settings, setting{"visibility", key + ": " + memory.PublicOK.String()})
		}
	}
	section := "memory"
	for _, s := range settings {
		if s.section != section {
			section = s.section
			text += section + ":\n"
		}
		text += "  " + s.line + "\n"
	}
	return text
}

// checkEncoding returns an error if a configuration file cannot contain the path of
// the memory.
func checkEncoding(c *config.Config) error {
	if !utf8.ValidString(c.Memory.Dir) {
		return cli.Usagef("the path %q is not valid UTF-8, and a configuration cannot contain it: rename the directory",
			c.Memory.Dir)
	}
	return nil
}

// machineZone returns the IANA name of the local time zone, or "Local" if it
// cannot be determined.
func machineZone() string {
	candidates := []string{"/etc/localtime"}
	if zone, ok := os.LookupEnv("TZ"); ok {
		candidates = slices.Insert(candidates, 0, cmp.Or(strings.TrimPrefix(zone, ":"), "UTC"))
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(text)))
	}
	for _, name := range candidates {
		if filepath.IsAbs(name) {
			target, _ := filepath.EvalSymlinks(name)
			_, name, _ = strings.Cut(target, "zoneinfo/")
		}
		if name == "" || name == "Local" {
			continue
		}
		if _, err := time.LoadLocation(name); err == nil {
			return name
		}
	}
	return "Local"
}

// writeIfMissing writes a file unless it exists, and reports whether it did.
func writeIfMissing(path, text string) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	return err == nil, errors.Join(err, f.Close())
}
