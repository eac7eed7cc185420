package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// TestPagesOperations checks that docs/operations.md consists of the table of
// operations with an example of each. The meanings of answer fields come from
// the comments in the sources.
func TestPagesOperations(t *testing.T) {
	r := &reference{t: t, comments: map[string]comments{}, typed: typedOperations(t)}
	head, err := os.ReadFile("testdata/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	r.WriteString(string(head))
	r.contents()
	r.errors()
	r.scope()
	for _, op := range api.Operations {
		r.operation(op)
	}
	r.parts()
	current(t, "docs/operations.md", r.String())
}

// typedOperations returns the examples by operation. In testdata/operations.txt
// the commands of an operation follow "# name".
func typedOperations(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/operations.txt")
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{}
	for _, part := range strings.Split("\n"+string(text), "\n# ")[1:] {
		name, lines, _ := strings.Cut(part, "\n")
		examples[name] = strings.TrimSuffix(lines, "\n")
	}
	return examples
}

// A reference is the page under construction.
type reference struct {
	strings.Builder
	t        *testing.T
	comments map[string]comments // by package
	typed    map[string]string   // examples, by operation
	below    []reflect.Type      // structs in answers, in the order of their first use
}

func (r *reference) printf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// contents writes the list of operations.
func (r *reference) contents() {
	r.printf("| operation | what it does | command | tool |\n|---|---|---|---|\n")
	for _, op := range api.Operations {
		var words []string
		for _, c := range op.Commands {
			words = append(words, "`"+c.Words+"`")
		}
		r.printf("| [%s](#%s)%s | %s | %s | %s |\n", op.Name, anchor(op.Name), diamond(op), cell(op.Summary), strings.Join(words, ", "), toolOf(op))
	}
	r.printf("\n◆ On listeners without a fixed scope only. * Among the tools that an agent is given unless all are asked for.\n")
}

func diamond(op *api.Operation) string {
	if op.Admin {
		return " ◆"
	}
	return ""
}

// toolOf returns the MCP tool of an operation, or "".
func toolOf(op *api.Operation) string {
	for _, t := range mcp.Tools {
		switch {
		case t.Asks(op) && t.Core:
			return "`" + t.Name + "` *"
		case t.Asks(op):
			return "`" + t.Name + "`"
		}
	}
	return ""
}

// errors writes the list of error codes.
func (r *reference) errors() {
	r.printf("\n## Errors\n\nAn error is `{\"error\": {\"code\", \"message\", \"hint\"}}`; the hint is there where there is one.\n\n| code | status | means |\n|---|---|---|\n")
	says := r.of(reflect.TypeFor[api.Code]())
	for _, code := range []api.Code{
		api.Invalid, api.NoSubject, api.Forbidden, api.NotFound, api.Conflict, api.SubjectConflict, api.Busy, api.Limit,
		api.Secret, api.TooLarge, api.RateLimited, api.Unavailable, api.Internal,
	} {
		name := strings.ReplaceAll(titled(string(code)), "_", "")
		status, meaning, ok := strings.Cut(says[name], ": ")
		if !ok || status != fmt.Sprint(code.Status()) {
			r.t.Errorf("%s is sent with %d, and its comment says %q", name, code.Status(), says[name])
		}
		r.printf("| `%s` | %d | %s |\n", code, code.Status(), meaning)
	}
}

// titled returns s in camel case: it removes underscores and capitalizes each
// word.
func titled(s string) string {
	words := strings.Split(s, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// scope writes the fields that every request has.
func (r *reference) scope() {
	r.printf("\n## Who asks\n\nEvery request has these fields beside its own. What is missing is what the listener fixes; without that, the request is\nnobody's, in an unknown context, which counts as public.\n\n")
	r.printf("| field | kind | means |\n|---|---|---|\n")
	for _, p := range api.Operations[0].Params {
		if p.Scope {
			r.printf("| `%s` | %s | %s |\n", p.Name, p.Kind(), cell(p.Doc))
		}
	}
}

func (r *reference) operation(op *api.Operation) {
	r.printf("\n## %s\n\n%s.%s\n", op.Name, op.Summary, facts(op))
	rows := 0
	for _, p := range op.Params {
		if p.Scope {
			continue
		}
		rows++
		if rows == 1 {
			r.printf("\n| field | kind | default | means |\n|---|---|---|---|\n")
		}
		r.printf("| `%s` | %s | %s | %s |\n", p.Name, p.Kind(), code(p.Default), cell(meaning(p)))
	}
	if rows == 0 {
		r.printf("\nIt has no fields of its own.\n")
	}
	word := "The answer"
	if op.Stream {
		word = "Each event"
	}
	r.printf("\n%s:\n\n", word)
	r.fields(reflect.TypeOf(op.NewAnswer()).Elem())
	example, ok := r.typed[op.Name]
	if !ok {
		r.t.Errorf("testdata/operations.txt has no example of %s", op.Name)
	}
	for _, c := range op.Commands {
		if !strings.Contains(example, "memwatchd "+c.Words) {
			r.t.Errorf("the example of %s does not type memwatchd %s", op.Name, c.Words)
		}
	}
	if !strings.Contains(example, "/v1/"+op.Name) && !strings.Contains(example, "ask "+op.Name+" ") {
		r.t.Errorf("the example of %s does not ask by curl", op.Name)
	}
	r.printf("\n```console\n%s\n```\n", example)
}

// facts returns the properties of an operation in the table, apart from its
// fields.
func facts(op *api.Operation) string {
	var list []string
	if op.ReadOnly {
		list = append(list, "It changes nothing.")
	}
	switch {
	case op.Needs == api.TheOwner:
		list = append(list, "Only for the owner, in private, on listeners without a fixed scope.")
	case op.Admin:
		list = append(list, "Only on listeners without a fixed scope.")
	}
	switch op.Needs {
	case api.Someone:
		list = append(list, "It wants a subject.")
	case api.InPrivate:
		list = append(list, "It wants a subject, and a private context.")
	}
	if op.People {
		list = append(list, "For people only: no agent is given it as a tool.")
	}
	if op.Programs {
		list = append(list, "For programs: it has no command.")
	}
	if len(list) == 0 {
		return ""
	}
	return " " + strings.Join(list, " ")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// meaning returns the description of a field with its bounds.
func meaning(p *api.Param) string {
	s := p.Doc
	switch {
	case p.Min != "" && p.Max != "":
		s += fmt.Sprintf(" (%s to %s)", p.Min, p.Max)
	case p.Min != "":
		s += fmt.Sprintf(" (at least %s)", p.Min)
	case p.Max != "":
		s += fmt.Sprintf(" (at most %s)", p.Max)
	}
	for _, v := range p.Enum {
		if !strings.Contains(p.Doc, v) {
			return s + ": " + strings.Join(p.Enum, ", ")
		}
	}
	return s
}

// fields writes the fields of a struct with their JSON names.
func (r *reference) fields(of reflect.Type) {
	r.printf("| field | kind | means |\n|---|---|---|\n")
	for _, f := range reflect.VisibleFields(of) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" || hides(of, f) {
			continue
		}
		owner := of
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = elem(owner.Field(i).Type)
		}
		says := r.of(owner)[owner.Name()+"."+f.Name]
		if strings.HasPrefix(option, "omit") {
			says = strings.TrimSuffix("may be missing; "+says, "; ")
		}
		r.printf("| `%s` | %s | %s |\n", name, r.kind(f.Type), cell(says))
	}
}

// hides reports whether a less nested field has the same name.
func hides(of reflect.Type, f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return slices.ContainsFunc(reflect.VisibleFields(of), func(g reflect.StructField) bool {
		other, _, _ := strings.Cut(g.Tag.Get("json"), ",")
		return other == name && len(g.Index) < len(f.Index)
	})
}

// kind returns the type of a value in words. A struct is linked and added to
// r.below.
func (r *reference) kind(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return r.kind(t.Elem())
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[json.RawMessage]():
		return "JSON"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float64, reflect.Float32:
		return "number"
	case reflect.Slice, reflect.Array:
		return "list of " + r.kind(t.Elem())
	case reflect.Map, reflect.Interface:
		return "object"
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()) {
			return "string"
		}
		if !slices.Contains(r.below, t) {
			r.below = append(r.below, t)
		}
		return fmt.Sprintf("[%s](#%s)", t.Name(), anchor(t.Name()))
	default:
		return "integer"
	}
}

// parts writes the structs in answers, including nested ones.
func (r *reference) parts() {
	r.printf("\n# Parts of answers\n")
	for i := 0; i < len(r.below); i++ {
		t := r.below[i]
		r.printf("\n## %s\n\n%s\n\n", t.Name(), cmp.Or(r.of(t)[t.Name()], "…"))
		r.fields(t)
	}
}

// of returns the comments in the package of a type.
func (r *reference) of(t reflect.Type) comments {
	pkg := t.PkgPath()
	if r.comments[pkg] == nil {
		r.comments[pkg] = commentsOf(r.t, pkg)
	}
	return r.comments[pkg]
}
