package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// prose matches a literal that a person may read: two words with a space between
// them.
var prose = regexp.MustCompile(`\p{L}{2,}[\p{L}.,:;%)"']* [%("'<]*\p{L}`)

// TestMessages compares all texts in the program's code that a person or a model may read (errors,
// hints, log lines, help, comments of the configuration, descriptions for MCP)
// with testdata/messages.txt, which shows them at a glance.
func TestMessages(t *testing.T) {
	texts := map[string][]string{} // by package
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "testdata", "testkit", "llmtest", "bench", "release", "rules", "browser", "example", "weaviatetest":
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(repository, filepath.Dir(path))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		texts[pkg] = append(texts[pkg], messagesOf(f)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(texts)) {
		list := texts[pkg]
		slices.Sort(list)
		list = slices.Compact(list)
		if len(list) > 0 {
			fmt.Fprintf(&b, "# %s\n%s\n\n", pkg, strings.Join(list, "\n"))
		}
	}
	golden := filepath.Join("testdata", "messages.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs (-file +code); if the new texts are right, run this test with -update:\n%s", golden, diff)
	}
}

// messagesOf returns the literals of a file that contain prose, one line each.
// Concatenated literals are one text.
func messagesOf(f *ast.File) []string {
	var list []string
	add := func(text string) {
		if prose.MatchString(text) {
			list = append(list, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "))
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				add(text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(n); ok {
				add(text)
			}
		}
		return true
	})
	return list
}

// joined returns the value of a literal or of a concatenation; operands that are
// no literals become "…". It reports whether there was a literal.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			x, okx := joined(e.X)
			y, oky := joined(e.Y)
			return x + y, okx || oky
		}
	case *ast.ParenExpr:
		return joined(e.X)
	}
	return "…", false
}
