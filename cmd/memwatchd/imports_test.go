package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/memwatchd/memwatchd"

// floors says on which floor a package stands. A package imports those of lower
// floors only: the machines of one floor know nothing of each other.
var floors = map[string]int{
	"api": 0, "memory": 0,
	"vault": 1, "watcher": 1, "index": 1, "secrets": 1, "ntfy": 1, "llm": 1, "agents": 1, "transcript": 1, "service": 1,
	"ipc/client": 1,
	"todosync":   2, "compactor": 2, "brief": 2,
	"ipc/mcp": 3,
	"ops":     4, "ipc": 4,
	"cmd/memwatchd/internal/clock": 0,
	"cmd/memwatchd":                5,
}

// technology says which packages may import a library. A prefix stands for
// everything below it.
var technology = map[string][]string{
	"github.com/blevesearch/":          {"index"},
	"github.com/fsnotify/":             {"watcher"},
	"github.com/yuin/goldmark":         {"memory"},
	"github.com/prometheus/":           {"ipc"},
	"github.com/modelcontextprotocol/": {"ipc/mcp"},
	"github.com/spf13/":                {"cmd/memwatchd"},
	"github.com/sashabaranov/":         {"llm"},
	"net":                              {"ipc", "ipc/client", "llm"},
	"net/http":                         {"api", "ipc", "ipc/client", "ipc/mcp", "ntfy", "llm"},
	"github.com/robfig/":               {"compactor"},
	"os/exec":                          {"cmd/memwatchd"},
	"os":                               {"vault", "watcher", "index", "ipc", "ipc/client", "cmd/memwatchd"},
	"log/slog":                         {"compactor", "todosync", "vault", "watcher", "index", "ntfy", "ipc", "cmd/memwatchd"},
	"golang.org/x/sys/unix":            {"vault", "watcher", "ipc", "cmd/memwatchd"},
	"github.com/rogpeppe/":             {},
	"golang.org/x/tools/":              {},
	"github.com/google/go-cmp/":        {},
	"testing":                          {},
	"gopkg.in/yaml.v3":                 {"memory", "cmd/memwatchd"},
	"github.com/adrg/xdg":              {"ipc/client", "cmd/memwatchd"},
	"golang.org/x/text/":               {"memory", "index"},
	"github.com/bmatcuk/":              {"compactor", "index", "cmd/memwatchd"}, // patterns of paths
	"golang.org/x/sync/errgroup":       {"index", "ipc", "cmd/memwatchd"},
	"golang.org/x/term":                {"cmd/memwatchd"},
	"github.com/rivo/":                 {"brief", "cmd/memwatchd"}, // characters as they are seen
	"github.com/coreos/":               {"cmd/memwatchd"},
	"github.com/pelletier/":            {"agents"},
}

// openers are the files, outside the vault and the roof, that may open or change
// files: none of them people's. A slash at the end stands for a whole package.
var openers = map[string]string{
	"vault/":                  "people's files",
	"cmd/memwatchd/":          "configuration, and where things are",
	"index/":                  "its own directory",
	"watcher/sync.go":         "cookies, in a directory of the state",
	"watcher/system_linux.go": "the kernel's limit of watches",
	"ipc/listener.go":         "sockets",
}

// starters are the files that start other programs: those that manage services.
var starters = []string{"cmd/memwatchd/servicesystemd.go", "cmd/memwatchd/servicelaunchd.go"}

// fileCalls are the functions that take the name of a file.
var fileCalls = []string{
	"Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadFile", "ReadDir", "DirFS", "Create", "CreateTemp", "WriteFile", "Mkdir",
	"MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Link", "Symlink", "Truncate", "Chmod", "Chown", "Chtimes", "CopyFS",
	"Openat", "Openat2", "Renameat", "Renameat2", "Unlink", "Unlinkat", "Creat",
}

// goList lists the packages of the module.
func goList(t *testing.T) map[string]listedPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles,IgnoredGoFiles", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]listedPackage{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, module+"/")] = p
	}
}

type listedPackage struct {
	ImportPath, Dir                  string
	Imports, GoFiles, IgnoredGoFiles []string
}

func TestImportsGoDown(t *testing.T) {
	for name, p := range goList(t) {
		floor, ok := floors[name]
		if !ok {
			t.Errorf("%s stands on no floor: give it one, here and in the README", name)
			continue
		}
		for _, other := range p.Imports {
			if below, ours := strings.CutPrefix(other, module+"/"); ours && floors[below] >= floor {
				t.Errorf("%s, on floor %d, imports %s, on floor %d", name, floor, below, floors[below])
			}
			for library, who := range technology {
				if (other == library || strings.HasSuffix(library, "/") && strings.HasPrefix(other, library)) && !slices.Contains(who, name) {
					t.Errorf("%s imports %s, which is for %v", name, other, who)
				}
			}
		}
	}
}

// What the README says of how it is built is so: each package on its floor, and
// each library that is there for something.
func TestReadmeSaysHowItIsBuilt(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	for name, floor := range floors {
		where := fmt.Sprintf("floor %d", floor)
		if floor == floors["cmd/memwatchd"] {
			where = "roof"
		}
		if !regexp.MustCompile(`(?m)^` + name + `/ +` + where + ` `).MatchString(readme) {
			t.Errorf("README.md does not say that %s is on: %s", name, where)
		}
	}
	for library := range technology {
		if parts := strings.Split(library, "/"); parts[0] == "github.com" && !strings.Contains(readme, parts[1]+"/") {
			t.Errorf("README.md does not say what %s is for", library)
		}
	}
}

func TestOnlyTheVaultOpensFiles(t *testing.T) {
	used := map[string]bool{}
	for name, p := range goList(t) {
		for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) { // those of other systems too
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
					if openers[where] == "" && openers[name+"/"] == "" {
						t.Errorf("%s calls %s: files are for the vault", where, call)
					}
					used[where], used[name+"/"] = true, true
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

// callsOf lists the functions that a file uses and that matter here.
func callsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
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
