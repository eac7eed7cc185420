package main

import (
	"bytes"
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
// does less with -short.
func TestMakefileListsShortTests(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^FULL = (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile does not set FULL")
	}
	listed := strings.Split(string(list[1]), "|")
	files, err := filepath.Glob("../../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var short []string
	for _, file := range slices.Concat(files, own) {
		short = append(short, shortTests(t, file)...)
	}
	slices.Sort(short)
	if diff := cmp.Diff(short, listed); diff != "" {
		t.Errorf("FULL in the Makefile lists other tests than those that call testing.Short (-calls +listed):\n%s", diff)
	}
}

// shortTests returns the tests of a file that call testing.Short, or a function
// of the same file that does.
func shortTests(t *testing.T, file string) (tests []string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(src, []byte("testing.Short()")) {
		return nil
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	calls := []string{"Short"}
	for range 2 { // the functions, then their callers
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || slices.Contains(calls, f.Name.Name) {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if ok && id != f.Name && slices.Contains(calls, id.Name) && !slices.Contains(calls, f.Name.Name) {
					calls = append(calls, f.Name.Name)
				}
				return true
			})
		}
	}
	return slices.DeleteFunc(calls, func(name string) bool { return !strings.HasPrefix(name, "Test") })
}
