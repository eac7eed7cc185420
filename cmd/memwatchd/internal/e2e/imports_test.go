package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

const module = "github.com/memwatchd/memwatchd"

// internal is the directory of the program's own packages.
const internal = "cmd/memwatchd/internal/"

// layers returns the layer of each package, from the tables of
// docs/internals/architecture.md.
func layers(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "docs/internals/architecture.md"))
	testkit.Must(t, err)
	engine, program, ok := strings.Cut(string(text), "The program is below")
	if !ok {
		t.Fatal("docs/internals/architecture.md has no table of the program's packages")
	}
	layers := map[string]int{"cmd/memwatchd": 12}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\| ([0-9]+) \\|")
	for prefix, table := range map[string]string{"": engine, internal: program} {
		for _, m := range row.FindAllStringSubmatch(table, -1) {
			layers[prefix+m[1]], _ = strconv.Atoi(m[2])
		}
	}
	return layers
}

// shortName returns a package without the directory of internal packages.
func shortName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, internal), "internal/")
}

// forbidden lists the packages that a package must not import although they are
// in a lower layer.
var forbidden = map[string][]string{
	"cli":   {"ops", "index", "vault", "watcher"},
	"setup": {"ops", "index", "vault", "watcher"},
	"hook":  {"ops", "index", "vault", "watcher"},
	// doctor has its own probes of the disk: vault and watcher.
	"doctor": {"ops", "index"},
}

// libraries lists the packages that may import a library by which text could leave the
// program or the index could be bypassed, those of the program by their short names. A
// prefix stands for everything below it.
var libraries = map[string][]string{
	"github.com/blevesearch/":          {"index"},
	"github.com/modelcontextprotocol/": {"ipc/mcp"},
	"github.com/sashabaranov/":         {"llm"},
	"golang.org/x/sys/unix":            {"vault", "watcher", "peer", "ipc", "daemon", "setup", "doctor"},
	"net":                              {"service", "console", "ui", "ipc", "ipc/client", "llm", "outbound", "peer", "config", "daemon", "testkit"},
	"net/http":                         {"api", "ipc", "ipc/client", "ipc/mcp", "ntfy", "llm", "outbound", "ui", "weaviate"},
	"os/exec":                          {"daemon", "service", "cli", "console", "setup", "doctor"},
	"testing":                          {"testkit"},
}

// openers are the files outside the vault and the program that may open or
// change files, none of them files of users. A trailing slash stands for a
// whole package.
var openers = map[string]string{
	"vault/":                  "people's files",
	"vault/journal/":          "the journal, in a directory of the state",
	internal:                  "configuration, and where things are",
	"index/":                  "its own directory",
	"internal/meaning/":       "its own directory",
	"internal/state/":         "files of the state, and replacing files of other programs",
	"watcher/sync.go":         "cookies, in a directory of the state",
	"watcher/system_linux.go": "the kernel's limit of watches",
	"ipc/listener.go":         "sockets",
	"internal/importer/":      "the files to import",
	"internal/ops/erase.go":   "the file of pending erasures, in a directory of the state",
	"internal/ops/context.go": "the directory of an agent, for its project",
}

// starters are the files that start other programs: systemctl, journalctl, the
// daemon, git, an editor and a browser.
var starters = []string{
	internal + "service/background.go", internal + "service/commands.go", internal + "service/unit.go", internal + "cli/editor.go",
	internal + "console/console.go", internal + "daemon/filetimes.go",
}

// fileCalls are the functions with a file name as argument.
var fileCalls = []string{
	"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "DirFS", "Create", "CreateTemp", "WriteFile", "Mkdir",
	"MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Link", "Symlink", "Truncate", "Chmod", "Chown", "Chtimes", "CopyFS",
	"Openat", "Openat2", "Renameat", "Renameat2", "Unlink", "Unlinkat", "Creat",
}

// fakes are the servers and helpers of tests. Only tests import them.
const fakes = "internal/fakes/"

// goList returns the output of go list -json for a system.
func goList[T any](t *testing.T, system string, args ...string) (list []T) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := cmd.Output()
	testkit.Must(t, err)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var one T
		testkit.Must(t, dec.Decode(&one))
		list = append(list, one)
	}
	return list
}

// allPackages returns the packages of the module by path, without fakes.
func allPackages(t *testing.T) map[string]listedPackage {
	t.Helper()
	packages := map[string]listedPackage{}
	for _, p := range goList[listedPackage](t, runtime.GOOS, "-json=ImportPath,Dir,Imports,GoFiles,IgnoredGoFiles", module+"/...") {
		if name := strings.TrimPrefix(p.ImportPath, module+"/"); !strings.HasPrefix(name, fakes) {
			packages[name] = p
		}
	}
	return packages
}

type listedPackage struct {
	ImportPath, Dir                  string
	Imports, GoFiles, IgnoredGoFiles []string
}

// TestLayers checks that each package is in docs/internals/architecture.md and imports
// packages of lower layers only.
func TestLayers(t *testing.T) {
	layers, packages := layers(t), allPackages(t)
	for name, p := range packages {
		layer, ok := layers[name]
		if !ok {
			t.Errorf("%s is not in docs/internals/architecture.md", name)
			continue
		}
		for _, other := range p.Imports {
			if below, ours := strings.CutPrefix(other, module+"/"); ours {
				if layers[below] >= layer || strings.HasPrefix(below, fakes) {
					t.Errorf("%s, in layer %d, imports %s, in layer %d", name, layer, below, layers[below])
				}
				if short, ok := strings.CutPrefix(name, internal); ok && slices.Contains(forbidden[short], shortName(below)) {
					t.Errorf("%s imports %s", name, below)
				}
			}
			for library, users := range libraries {
				matches := other == library || strings.HasSuffix(library, "/") && strings.HasPrefix(other, library)
				if matches && !slices.Contains(users, shortName(name)) {
					t.Errorf("%s imports %s, which is for %v", name, other, users)
				}
			}
		}
	}
	for name := range layers {
		if _, ok := packages[name]; !ok {
			t.Errorf("docs/internals/architecture.md has %s, which is no package", name)
		}
	}
}

// TestClientDependencies checks that the client has few dependencies.
func TestClientDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+"/ipc/client").Output()
	testkit.Must(t, err)
	got := strings.Fields(string(out))
	slices.Sort(got)
	want := []string{
		"github.com/adrg/xdg", "github.com/adrg/xdg/internal/pathutil", "github.com/adrg/xdg/internal/userdirs",
		module + "/api", module + "/internal/peer", module + "/ipc/client", "golang.org/x/sys/unix",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ipc/client depends on other packages (-want +got):\n%s", diff)
	}
}

func TestOnlyTheVaultOpensFiles(t *testing.T) {
	used := map[string]bool{}
	for name, p := range allPackages(t) {
		for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) { // including files for other systems
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			where := path.Join(name, file)
			for _, call := range callsOf(t, filepath.Join(p.Dir, file)) {
				switch {
				case strings.HasPrefix(call, "exec."):
					if !slices.Contains(starters, where) {
						t.Errorf("%s calls %s: other programs are started by %v only", where, call, starters)
					}
				case call == "time.Now" && name == "memory":
					t.Errorf("%s asks for the time", where)
				case !strings.HasPrefix(call, "time."):
					if openers[where] == "" && openers[name+"/"] == "" && !strings.HasPrefix(where, internal) {
						t.Errorf("%s calls %s: files are for the vault", where, call)
					}
					used[where], used[name+"/"] = true, true
					used[internal] = used[internal] || strings.HasPrefix(where, internal)
				}
			}
		}
	}
	for where := range openers {
		if !used[where] {
			t.Errorf("%s opens nothing any more: take it off the list", where)
		}
	}
}

// callsOf returns the calls of a file that the checks above restrict.
func callsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	testkit.Must(t, err)
	var calls []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch x.Name {
		case "os", "unix", "syscall":
			if slices.Contains(fileCalls, sel.Sel.Name) {
				calls = append(calls, x.Name+"."+sel.Sel.Name)
			}
		case "exec":
			if strings.HasPrefix(sel.Sel.Name, "Command") {
				calls = append(calls, "exec."+sel.Sel.Name)
			}
		case "time":
			calls = append(calls, "time."+sel.Sel.Name)
		}
		return true
	})
	return calls
}

var licenseFile = regexp.MustCompile(`(?i)^(?:LICEN[SC]E|COPYING|NOTICE|PATENTS)(?:[-.].*)?$`)

// TestLicenses compares the embedded licenses with those of the modules that the
// program contains on any supported system. Modules with the same text share
// one copy of it.
func TestLicenses(t *testing.T) {
	type linked struct{ Path, Version, Dir string }
	modules := map[string]linked{}
	for _, system := range []string{"linux", "darwin"} {
		for _, p := range goList[struct{ Module *linked }](t, system, "-deps", "-json=Module", module+"/cmd/memwatchd") {
			if p.Module != nil && p.Module.Path != module {
				modules[p.Module.Path] = *p.Module
			}
		}
	}
	users := map[string][]string{} // by text
	for _, m := range modules {
		entries, err := os.ReadDir(m.Dir)
		testkit.Must(t, err)
		found := false
		for _, e := range entries {
			if !licenseFile.MatchString(e.Name()) || e.IsDir() {
				continue
			}
			data, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
			testkit.Must(t, err)
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n")) + "\n"
			users[text] = append(users[text], m.Path+" "+m.Version)
			found = true
		}
		if !found {
			t.Errorf("%s has no license file", m.Path)
		}
	}
	var sections []string
	for text, list := range users {
		slices.Sort(list)
		sections = append(sections, fmt.Sprintf("\n%s\n%s\n\n%s", strings.Repeat("-", 72), strings.Join(list, "\n"), text))
	}
	slices.Sort(sections)
	all := "This program contains the following libraries.\n" + strings.Join(sections, "")
	golden := filepath.Join(repository, internal, "build", "licenses.txt")
	if *update {
		testkit.Must(t, os.WriteFile(golden, []byte(all), 0o644))
	}
	want, err := os.ReadFile(golden)
	testkit.Must(t, err)
	if string(want) != all {
		t.Errorf("%s is not current, run go test ./cmd/memwatchd/internal/e2e -run TestLicenses -update (-file +now):\n%.2000s",
			golden, cmp.Diff(string(want), all))
	}
}
