package e2e

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// current checks that a generated page matches the sources; with -update it
// writes the page. It compares only the commands in console blocks, because
// [TestPagesAsTyped] checks their output.
func current(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(repository, name)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	old, err := parsePage(name, text)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	old.each("console", func(_, text string) {
		for _, step := range stepsOf(text) {
			shown[step.line] = step.output
		}
	})
	fresh, err := parsePage(name, []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	want = string(fresh.replaced("console", func(text string) string {
		var out strings.Builder
		for _, step := range stepsOf(text) {
			out.WriteString(step.typed() + shown[step.line])
		}
		return out.String()
	}))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is stale; run go test ./cmd/memwatchd -run 'TestPages' -update (-want +got):\n%s", name, diff)
	}
}

// comments are the comments on the types of a package and their fields. The
// keys are Type and Type.Field.
type comments map[string]string

// commentsOf parses the sources of a package of this module.
func commentsOf(t *testing.T, pkg string) comments {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, strings.TrimPrefix(pkg, module+"/"), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	c := comments{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				c.read(g)
			}
		}
	}
	return c
}

func (c comments) read(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				c[name.Name] = remarks(spec.Doc, spec.Comment)
			}
		case *ast.TypeSpec:
			c[spec.Name.Name] = remarks(g.Doc, spec.Doc)
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						c[spec.Name.Name+"."+name.Name] = remarks(f.Doc, f.Comment)
					}
				}
			}
		}
	}
}

// remarks returns the text of comments as one line.
func remarks(groups ...*ast.CommentGroup) string {
	var texts []string
	for _, g := range groups {
		if g != nil {
			texts = append(texts, strings.Fields(g.Text())...)
		}
	}
	return strings.Join(texts, " ")
}

// cell returns s escaped for a table.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s) }

// elem returns the element type without pointers and lists.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}
