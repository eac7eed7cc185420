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

// current fails where a generated page is not what the sources say; with
// -update it writes it anew. What its consoles show is for [TestPagesAsTyped]:
// here it counts what is typed.
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

// comments are what the sources say of the types of a package and their fields,
// as Type and Type.Field.
type comments map[string]string

// commentsOf reads the sources of a package of ours.
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

// remarks is what comments say, as one line.
func remarks(groups ...*ast.CommentGroup) string {
	var texts []string
	for _, g := range groups {
		if g != nil {
			texts = append(texts, strings.Fields(g.Text())...)
		}
	}
	return strings.Join(texts, " ")
}

// cell is text as it may stand in a table.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s) }

// elem is what a type is made of: without pointers and lists.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}
