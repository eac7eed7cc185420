// Package console is the command ui, which serves the page of package ui and opens
// it in a browser.
package console

import (
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/ui"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// idle is the time after which the console ends if no page is open.
const idle = 30 * time.Minute

// NewCommand returns the command ui.
func NewCommand(g *cli.Globals) *cobra.Command {
	noOpen, readOnly, port, editor := false, false, 0, ""
	c := &cobra.Command{
		Use:     "ui",
		Short:   "Search, review and undo in your browser",
		GroupID: "ask",
		Long: `Serve a page on 127.0.0.1 that shows what is in memory and what was changed, and takes changes back. Open it in your browser.

The page acts as the owner. Its address contains a key that works once; other users and other web pages get nothing without it. The command ends with Ctrl-C, or 30 minutes after the last page was closed. To use the page on another machine, forward the port: ssh -L 8080:127.0.0.1:8080 HOST memwatchd ui --no-open --port 8080`,
		Example: "  memwatchd ui\n  memwatchd ui --read-only",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, dc, err := g.ConnectOrStart(cmd)
			if err != nil {
				return err
			}
			dc.Program = api.NewProgram("console", rand.Text()[:8])
			status, err := client.Call(cmd.Context(), dc, api.StatusRequest{})
			if err != nil {
				return err
			}
			opener := editorAddress(editor)
			if opener == "" && editor != "" {
				return cli.Usagef("--editor: %q is neither an address with {path} nor one of %s", editor, editorNames())
			}
			root := ""
			if status.Status != nil {
				root = status.Root
			}
			l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return err
			}
			var leader string // file that leads to the address
			remove := func() { os.Remove(leader) }
			defer func() { remove() }()
			console := ui.New(dc, l.Addr().String(), ui.Options{
				ReadOnly: readOnly, Idle: idle, Root: root, Editor: opener,
				Opened: func() { remove() },
				Warn:   func(s string) { fmt.Fprintf(g.Stderr, "memwatchd ui: %s\n", s) },
			})
			address := console.URL()
			fmt.Fprintln(g.Stdout, address)
			if noOpen {
				fmt.Fprintln(g.Stderr, "memwatchd ui: open this address in a browser, once; Ctrl-C stops the console")
			} else {
				leader, err = openBrowser(address)
				if err != nil {
					fmt.Fprintf(g.Stderr, "memwatchd ui: no browser was opened: %v: open the address above\n", err)
				}
			}
			return console.Serve(cmd.Context(), l)
		},
	}
	c.Flags().BoolVar(&noOpen, "no-open", false, "only print the address")
	c.Flags().BoolVar(&readOnly, "read-only", false, "refuse changes")
	c.Flags().StringVar(&editor, "editor", "", "editor that the page opens files in: "+editorNames()+
		", or an address with {path} and {line}; default: that of $VISUAL or $EDITOR, if it is one of these")
	c.Flags().IntVar(&port, "port", 0, "port of the address; 0 selects a free one")
	return cli.AcceptGlobals(c, cli.CallerFlags)
}

// editors maps the programs that open files by an address to its form.
var editors = map[string]string{
	"code": "vscode://file{path}:{line}", "codium": "vscodium://file{path}:{line}",
	"cursor": "cursor://file{path}:{line}",
	"zed":    "zed://file{path}:{line}", "subl": "subl://open?url=file://{path}&line={line}",
	"obsidian": "obsidian://open?path={path}",
}

func editorNames() string { return strings.Join(slices.Sorted(maps.Keys(editors)), ", ") }

// editorAddress returns the address that opens a file in an editor: an address as given,
// that of a known program, or without a name that of the user's editor. It returns an
// empty text if there is none.
func editorAddress(name string) string {
	if strings.Contains(name, "{path}") {
		return name
	}
	for _, command := range []string{name, os.Getenv("VISUAL"), os.Getenv("EDITOR")} {
		if words := strings.Fields(command); len(words) > 0 {
			return editors[filepath.Base(words[0])]
		}
	}
	return ""
}

// openBrowser opens an address in the user's browser. Because other users can
// see the arguments of programs, it opens a private file that leads to the
// address, and returns its name.
func openBrowser(address string) (string, error) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	program, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "memwatchd-*.html") // only the user may read it
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!doctype html><meta charset=utf-8><title>memwatchd</title>"+
		"<meta http-equiv=refresh content=\"0;url=%s\"><a href=\"%[1]s\">memwatchd</a>\n", html.EscapeString(address))
	if err := errors.Join(err, f.Close()); err != nil {
		return f.Name(), err
	}
	cmd := exec.Command(program, "file://"+filepath.ToSlash(f.Name()))
	if err := cmd.Start(); err != nil {
		return f.Name(), err
	}
	go cmd.Wait()
	return f.Name(), nil
}
