package e2e

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// goSnippets checks the types of Go code in the pages: whole files, or
// statements that use ctx and the packages of snippetPrelude.
type goSnippets struct {
	t      *testing.T
	export map[string]string // files with export data, by import path
}

// snippetPrelude precedes statements.
const snippetPrelude = `package snippet

import (
	"context"
	"errors"
	"fmt"
	"log"
	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

func statements(ctx context.Context) {
`

func (s *goSnippets) check(where, text string) {
	if !strings.HasPrefix(text, "package ") {
		text = snippetPrelude + text + "}\n"
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, where, text, 0)
	if err != nil {
		s.t.Errorf("%s: %v", where, err)
		return
	}
	conf := types.Config{
		Importer: importer.ForCompiler(files, "gc", s.open),
		Error: func(err error) {
			if e, ok := err.(types.Error); !ok || !e.Soft { // soft errors: unused declarations are normal in so few lines
				s.t.Errorf("%s: %v", where, err)
			}
		},
	}
	conf.Check("snippet", files, []*ast.File{file}, nil)
}

// open returns the export data of a package.
func (s *goSnippets) open(path string) (io.ReadCloser, error) {
	if s.export == nil {
		out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", module+"/ipc/client", "log", "errors", "net/http").Output()
		if err != nil {
			s.t.Fatalf("go list: %v", err)
		}
		s.export = map[string]string{}
		for line := range bytes.Lines(out) {
			path, file, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
			s.export[path] = file
		}
	}
	return os.Open(s.export[path])
}
