package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMakefileListsShortTests checks that make test runs every test in full that
// does less with -short. The tests of this package run with -short only if they
// run with the race detector.
func TestMakefileListsShortTests(t *testing.T) {
	full, raced := makefileList(t, "FULL"), makefileList(t, "RACED")
	var short []string
	for _, pattern := range []string{repository + "/*", repository + "/ipc/*", repository + "/internal/*", repository + "/cmd/memwatchd/internal/*"} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			for _, name := range shortTests(t, dir) {
				if filepath.Base(dir) != "e2e" || slices.Contains(raced, name) {
					short = append(short, name)
				}
			}
		}
	}
	slices.Sort(short)
	if diff := cmp.Diff(short, full); diff != "" {
		t.Errorf("FULL in the Makefile lists other tests than those that call testing.Short (-calls +listed):\n%s", diff)
	}
}

// TestMakefileListsRacedTests checks that the tests in RACED exist.
func TestMakefileListsRacedTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(data)
	}
	for _, name := range makefileList(t, "RACED") {
		if !strings.Contains(source.String(), "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("RACED in the Makefile contains %s, which does not exist", name)
		}
	}
}

// makefileList returns the tests in a variable of the Makefile.
func makefileList(t *testing.T, variable string) []string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^` + variable + ` += (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatalf("the Makefile does not set %s", variable)
	}
	return strings.Split(string(list[1]), "|")
}

// shortTests returns the tests of a directory that call testing.Short, directly
// or through other functions of its tests.
func shortTests(t *testing.T, dir string) (tests []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]map[string]bool{} // names that each function uses
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			names := map[string]bool{}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "testing" && n.Sel.Name == "Short" {
						names["testing.Short"] = true
					}
					ast.Inspect(n.X, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							names[id.Name] = true
						}
						return true
					})
					return false // ignores methods with the name of a function
				case *ast.Ident:
					names[n.Name] = true
				}
				return true
			})
			calls[f.Name.Name] = names
		}
	}
	short := map[string]bool{"testing.Short": true}
	for found := true; found; {
		found = false
		for name, uses := range calls {
			for use := range uses {
				if short[use] && !short[name] {
					short[name], found = true, true
				}
			}
		}
	}
	for name := range short {
		if strings.HasPrefix(name, "Test") {
			tests = append(tests, name)
		}
	}
	return tests
}
