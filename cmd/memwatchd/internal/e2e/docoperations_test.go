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

// operationsPage is the generated page.
const operationsPage = "docs/operations.md"

// An operationGroup is a heading in the list of operations.
type operationGroup struct {
	title string
	names []string
}

var operationGroups = []operationGroup{{
	title: "Search and read",
	names: []string{"search", "get", "recent", "related", "files", "complete"},
}, {
	title: "Context for agents",
	names: []string{"load", "context"},
}, {
	title: "Notes, sessions and summaries",
	names: []string{"note", "capture", "session", "remember", "profile", "project"},
}, {
	title: "Tasks",
	names: []string{"todos", "todo", "todo_add"},
}, {
	title: "Items",
	names: []string{
		"item_put", "item_get", "item_list", "item_delete", "item_delete_namespace", "item_visibility", "item_import",
	},
}, {
	title: "Files, journal and undo",
	names: []string{"edit", "write", "journal", "undo"},
}, {
	title: "Import and export",
	names: []string{"import", "export"},
}, {
	title: "Remove memory permanently",
	names: []string{"forget", "wipe_subject"},
}, {
	title: "Identities",
	names: []string{"resolve", "link", "unlink", "links"},
}, {
	title: "Maintenance",
	names: []string{"compact", "restore", "compress", "conflicts", "conflicts_merge", "check"},
}, {
	title: "Sharing between machines",
	names: []string{"share_status", "share_push", "share_forget_host"},
}, {
	title: "Daemon and index",
	names: []string{"status", "sync", "rebuild", "embed", "operations", "events"},
}}

// operations returns the operations of the group, in order.
func (g *operationGroup) operations(t *testing.T) []*api.Operation {
	t.Helper()
	var list []*api.Operation
	for _, name := range g.names {
		op, err := api.LookUp(name)
		if err != nil {
			t.Fatalf("%s: %v", g.title, err)
		}
		list = append(list, op)
	}
	return list
}

// TestPagesOperations checks that docs/operations.md consists of the conventions in
// testdata/operations.md and the table of operations. The descriptions of answer fields
// come from the comments in the sources.
func TestPagesOperations(t *testing.T) {
	head, err := os.ReadFile("testdata/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{t: t, comments: map[string]comments{}}
	r.kind(reflect.TypeFor[api.IndexState]()) // of commonFields
	r.WriteString(string(head))
	r.scope()
	r.errors()
	r.contents()
	for _, g := range operationGroups {
		for _, op := range g.operations(t) {
			r.operation(op)
		}
	}
	r.parts()
	current(t, operationsPage, r.String())
}

// A reference generates the page.
type reference struct {
	strings.Builder

	t        *testing.T
	comments map[string]comments // by package
	types    []reflect.Type      // structs in answers, in the order of their first use
}

func (r *reference) printf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// contents writes the list of operations.
func (r *reference) contents() {
	r.printf("\n## List\n")
	grouped := map[string]bool{}
	for _, g := range operationGroups {
		r.printf("\n**%s**\n\n| operation | purpose | command | MCP tool |\n|---|---|---|---|\n", g.title)
		for _, op := range g.operations(r.t) {
			if grouped[op.Name] {
				r.t.Errorf("operation %s is in two groups", op.Name)
			}
			grouped[op.Name] = true
			var words []string
			for _, c := range op.Commands {
				words = append(words, "`"+c.Words+"`")
			}
			r.printf("| [%s](#%s)%s | %s | %s | %s |\n", op.Name, anchor(op.Name), diamond(op), cell(op.Summary),
				strings.Join(words, ", "), toolOf(op))
		}
	}
	for _, op := range api.Operations {
		if !grouped[op.Name] {
			r.t.Errorf("operation %s is in no group of operationGroups", op.Name)
		}
	}
	r.printf("\n◆ Only on listeners without a fixed scope. * In the default set of tools; `--tools items` adds those for items, `--tools all` all others.\n")
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
		case slices.Contains(t.Operations, op) && t.Set == mcp.CoreTools:
			return "`" + t.Name + "` *"
		case slices.Contains(t.Operations, op):
			return "`" + t.Name + "`"
		}
	}
	return ""
}

// errors writes the list of error codes.
func (r *reference) errors() {
	r.printf("\n## Errors\n\nA failed request returns `{\"error\": {\"code\", \"message\", \"hint\"}}`. The hint may be missing. Programs can\n" +
		"rely on the codes, which do not change.\n\n| code | HTTP status | meaning |\n|---|---|---|\n")
	says := r.of(reflect.TypeFor[api.Code]())
	for _, code := range []api.Code{
		api.Invalid, api.NoSubject, api.Forbidden, api.NotFound, api.Conflict, api.SubjectConflict, api.Busy, api.Limit,
		api.Misdirected, api.Secret, api.TooLarge, api.RateLimited, api.Unavailable, api.Internal,
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
	r.printf("\n## Scope\n\nEvery request has these fields in addition to its own. If a field is missing, the fixed scope of the listener supplies it.\n" +
		"Without a fixed scope, the caller is anonymous and the context is unknown. An unknown context counts as public.\n\n")
	r.printf("| field | type | description |\n|---|---|---|\n")
	for _, p := range api.Operations[0].Params() {
		if p.Scope {
			r.printf("| `%s` | %s | %s |\n", p.Name, p.Kind(), cell(p.Doc))
		}
	}
}

func (r *reference) operation(op *api.Operation) {
	r.printf("\n## %s\n\n%s.%s\n", op.Name, op.Summary, facts(op))
	rows := 0
	for _, p := range op.Params() {
		if p.Scope {
			continue
		}
		rows++
		if rows == 1 {
			r.printf("\n| field | type | default | description |\n|---|---|---|---|\n")
		}
		r.printf("| `%s` | %s | %s | %s |\n", p.Name, paramKind(p), code(p.Default), cell(meaning(p)))
	}
	word := "Answer"
	if op.Stream {
		word = "Each event"
	}
	r.printf("\n%s:\n\n", word)
	r.fields(reflect.TypeOf(op.NewAnswer()).Elem())
}

// facts returns the properties of an operation in the table, apart from its
// fields.
func facts(op *api.Operation) string {
	var list, needs []string
	if op.ReadOnly {
		list = append(list, "Read-only.")
	}
	switch op.Needs {
	case api.AnySubject:
		needs = append(needs, "a subject")
	case api.InPrivate:
		needs = append(needs, "a subject", "a private context")
	case api.TheOwner:
		needs = append(needs, "the owner", "a private context")
	case api.Operator:
		needs = append(needs, "the owner in a private context (or no subject)")
	}
	if op.Admin {
		needs = append(needs, "a listener without a fixed scope")
	}
	if n := len(needs); n > 0 {
		text := needs[n-1]
		if n > 1 {
			text = strings.Join(needs[:n-1], ", ") + " and " + text
		}
		list = append(list, "Requires "+text+".")
	}
	if op.HumansOnly {
		list = append(list, "Not available to agents as a tool.")
	}
	if op.ProgramsOnly {
		list = append(list, "Has no command.")
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

// paramKind returns the type of a field in words.
func paramKind(p *api.Param) string {
	if p.Kind() == "strings" {
		return "list of strings"
	}
	return p.Kind()
}

// meaning returns the description of a field with its bounds.
func meaning(p *api.Param) string {
	s := p.Doc
	if p.Need {
		s = "required; " + s
	}
	switch {
	case p.Min != "" && p.Max != "" && strings.Contains(s, p.Min+" to "+p.Max): // contained in the description
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
	r.printf("| field | type | description |\n|---|---|---|\n")
	for _, f := range jsonFields(of) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(commonFields, name) {
			continue
		}
		owner := of
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = elem(owner.Field(i).Type)
		}
		says := cmp.Or(r.of(owner)[owner.Name()+"."+f.Name], usualFields[name])
		if strings.HasPrefix(option, "omit") {
			says = strings.TrimSuffix("optional; "+says, "; ")
		}
		r.printf("| `%s` | %s | %s |\n", name, r.kind(f.Type), cell(says))
	}
}

// commonFields are fields of most answers, which testdata/operations.md describes.
var commonFields = []string{"index", "disabled", "redacted"}

// usualFields contains the descriptions of answer fields that mean the same in
// all structs, for fields without a comment of their own.
var usualFields = map[string]string{
	"day":        "day, YYYY-MM-DD",
	"disabled":   "memory is disabled; nothing was written",
	"dry_run":    "the request was a dry run, which changes nothing",
	"end_line":   "last line",
	"hints":      "hints for the reader, such as a way to get more",
	"index":      "completeness of the answer",
	"kind":       "kind of the file: note, session, daily, longterm, items, identity or archive",
	"line":       "line number",
	"path":       "path of the file, relative to the memory directory",
	"problem":    "problem, for people",
	"project":    "name of the project",
	"reason":     "reason, for people",
	"section":    "heading above the entry",
	"session":    "id of the session",
	"state":      "state: open or done",
	"subject":    "id of the subject",
	"text":       "text, as visible to the caller",
	"title":      "title of the entry",
	"untrusted":  "written by others than the subject",
	"visibility": "private_only or public_ok",
}

// jsonFields returns the fields of a struct that are part of its JSON form.
func jsonFields(of reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return f.Anonymous || name == "" || name == "-" || hides(of, f)
	})
}

// isPart reports whether the reference describes the type in a section of its
// own.
func isPart(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() &&
		!t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
}

// hides reports whether a less nested field has the same name.
func hides(of reflect.Type, f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return slices.ContainsFunc(reflect.VisibleFields(of), func(g reflect.StructField) bool {
		other, _, _ := strings.Cut(g.Tag.Get("json"), ",")
		return other == name && len(g.Index) < len(f.Index)
	})
}

// kind returns the type of a value in words. It links structs.
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
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		of := r.kind(t.Elem())
		if isWord := !strings.ContainsAny(of, " []"); isWord && of != "JSON" {
			of += "s"
		}
		return "list of " + of
	case reflect.Map, reflect.Interface:
		return "object"
	case reflect.Struct:
		if !isPart(t) {
			return "string"
		}
		if !slices.Contains(r.types, t) {
			r.types = append(r.types, t)
		}
		return fmt.Sprintf("[%s](#%s)", t.Name(), anchor(t.Name()))
	default:
		return "integer"
	}
}

// parts writes the structs in answers. Writing one can add others.
func (r *reference) parts() {
	r.printf("\n## Types\n")
	for i := 0; i < len(r.types); i++ {
		t := r.types[i]
		r.printf("\n### %s\n\n%s\n\n", t.Name(), cmp.Or(r.of(t)[t.Name()], "…"))
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
