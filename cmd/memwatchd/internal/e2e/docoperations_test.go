package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// operationsDir is the directory of the generated pages.
const operationsDir = "docs/operations"

// An operationGroup is one page of the reference.
type operationGroup struct {
	file  string
	title string
	intro string // first paragraph of the page
	names []string
}

var operationGroups = []operationGroup{{
	file: "search.md", title: "Search and read",
	intro: "Find entries, read files, follow links and list names.",
	names: []string{"search", "get", "recent", "related", "files", "complete"},
}, {
	file: "context.md", title: "Context for agents",
	intro: "Render memory as text for the start of a session or for a prompt.",
	names: []string{"load", "context"},
}, {
	file: "notes.md", title: "Notes, sessions and summaries",
	intro: "Append notes to the daily log, write session files, save facts permanently and summarize subjects and projects.",
	names: []string{"note", "capture", "session", "remember", "profile", "project"},
}, {
	file: "tasks.md", title: "Tasks",
	intro: "List tasks and change their state in all files that contain them.",
	names: []string{"todos", "todo", "todo_add"},
}, {
	file: "items.md", title: "Items",
	intro: "Store values under a namespace and a key, and look them up exactly.",
	names: []string{
		"item_put", "item_get", "item_list", "item_delete", "item_delete_namespace", "item_visibility", "item_import",
	},
}, {
	file: "files.md", title: "Files, journal and undo",
	intro: "Edit files directly, list the changes that memwatchd made to files, and undo changes.",
	names: []string{"edit", "write", "journal", "undo"},
}, {
	file: "transfer.md", title: "Import and export",
	intro: "Write the records of other programs to files, and read all memory in pages.",
	names: []string{"import", "export"},
}, {
	file: "forget.md", title: "Remove memory permanently",
	intro: "Remove entries, or all memory of a subject, from files, archive, index and journal.",
	names: []string{"forget", "wipe_subject"},
}, {
	file: "identities.md", title: "Identities",
	intro: "Link the users of channels, such as a chat account, to subjects.",
	names: []string{"resolve", "link", "unlink", "links"},
}, {
	file: "maintenance.md", title: "Maintenance",
	intro: "Archive, restore, summarize and check the files of a memory.",
	names: []string{"compact", "restore", "compress", "conflicts", "conflicts_merge", "check"},
}, {
	file: "sharing.md", title: "Sharing between machines",
	intro: "Publish entries to a [store that several machines share](../weaviate.md). The examples show a memory that shares nothing.",
	names: []string{"share_status", "share_push", "share_forget_host"},
}, {
	file: "daemon.md", title: "Daemon and index",
	intro: "Show the state of the daemon, wait for the index, rebuild the index and follow events.",
	names: []string{"status", "sync", "rebuild", "embed", "operations", "events"},
}}

// operations returns the operations of the group, in order.
func (g *operationGroup) operations(t *testing.T) []*api.Operation {
	t.Helper()
	var list []*api.Operation
	for _, name := range g.names {
		op, err := api.LookUp(name)
		if err != nil {
			t.Fatalf("%s: %v", g.file, err)
		}
		list = append(list, op)
	}
	return list
}

// TestPagesOperations checks that the pages in docs/operations consist of the
// table of operations with an example of each: a page with the conventions, and
// a page for each group. The descriptions of answer fields come from the
// comments in the sources.
func TestPagesOperations(t *testing.T) {
	r := &reference{t: t, comments: map[string]comments{}, typed: typedOperations(t), pageOf: map[reflect.Type]string{}}
	head, err := os.ReadFile("testdata/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	grouped := map[string]string{} // pages of the operations
	for _, g := range operationGroups {
		for _, op := range g.operations(t) {
			if grouped[op.Name] != "" {
				t.Errorf("operation %s is in two groups", op.Name)
			}
			grouped[op.Name] = g.file
			r.assign(reflect.TypeOf(op.NewAnswer()).Elem(), g.file)
		}
	}
	for _, op := range api.Operations {
		if grouped[op.Name] == "" {
			t.Fatalf("operation %s is in no group of operationGroups", op.Name)
		}
	}
	generated := map[string]string{}
	for _, g := range operationGroups {
		generated[g.file] = r.group(&g)
	}
	generated[commonPage] = r.common(string(head))
	for name, text := range generated {
		current(t, path.Join(operationsDir, name), text)
	}
	files, err := filepath.Glob(filepath.Join(repository, operationsDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := generated[filepath.Base(f)]; !ok {
			t.Errorf("%s/%s is not a generated page", operationsDir, filepath.Base(f))
		}
	}
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

// commonPage contains the conventions, the list of operations and the types
// that several groups use.
const commonPage = "README.md"

// A reference generates the pages, one after the other.
type reference struct {
	strings.Builder // page under construction

	t        *testing.T
	comments map[string]comments     // by package
	typed    map[string]string       // examples, by operation
	pageOf   map[reflect.Type]string // page of each struct in answers
	types    []reflect.Type          // keys of pageOf, in the order of their first use
	file     string                  // name of the page
}

func (r *reference) printf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// assign assigns the structs in the fields of a struct, including nested ones,
// to a page. Structs that several pages use belong to the common page.
func (r *reference) assign(of reflect.Type, file string) {
	for _, f := range jsonFields(of) {
		t := elem(f.Type)
		if !isPart(t) {
			continue
		}
		switch r.pageOf[t] {
		case "":
			r.pageOf[t] = file
			r.types = append(r.types, t)
		case file:
			continue
		case commonPage:
			continue
		default:
			r.pageOf[t] = commonPage
		}
		r.assign(t, r.pageOf[t])
	}
}

// begin starts a page.
func (r *reference) begin(file string) {
	r.Reset()
	r.file = file
}

// common returns the page with the conventions and the list of operations.
func (r *reference) common(head string) string {
	r.begin(commonPage)
	r.WriteString(head)
	r.scope()
	r.errors()
	r.contents()
	r.parts()
	return r.String()
}

// group returns the page of a group.
func (r *reference) group(g *operationGroup) string {
	r.begin(g.file)
	r.printf("# %s\n\n%s\n", g.title, g.intro)
	r.printf("Read [the conventions](%s) for the scope of requests and the errors.\n\n", commonPage)
	r.printf("The examples use [this function](%s#examples):\n\n```console\n%s\n```\n", commonPage, askFunction)
	for _, op := range g.operations(r.t) {
		r.operation(op)
	}
	r.parts()
	return r.String()
}

// askFunction is the command that defines the function of the examples.
const askFunction = "$ ask() { curl -s --unix-socket $XDG_RUNTIME_DIR/memwatchd/memwatchd.sock http://memwatchd/v1/$1 -d \"$2\" | jq 'del(.index)'; }"

// contents writes the list of operations.
func (r *reference) contents() {
	r.printf("\n## Operations\n")
	for _, g := range operationGroups {
		r.printf("\n### [%s](%s)\n\n| operation | purpose | command | MCP tool |\n|---|---|---|---|\n", g.title, g.file)
		for _, op := range g.operations(r.t) {
			var words []string
			for _, c := range op.Commands {
				words = append(words, "`"+c.Words+"`")
			}
			r.printf("| [%s](%s#%s)%s | %s | %s | %s |\n", op.Name, g.file, anchor(op.Name), diamond(op), cell(op.Summary),
				strings.Join(words, ", "), toolOf(op))
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
	if rows == 0 {
		r.printf("\nThe request has no fields besides the [scope](%s#scope).\n", commonPage)
	}
	word := "Answer"
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
		r.t.Errorf("the example of %s does not call curl", op.Name)
	}
	r.printf("\n```console\n%s\n```\n", example)
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
		target := r.pageOf[t]
		if target == r.file {
			target = ""
		}
		return fmt.Sprintf("[%s](%s#%s)", t.Name(), target, anchor(t.Name()))
	default:
		return "integer"
	}
}

// parts writes the structs that belong to the page.
func (r *reference) parts() {
	title := "\n## Types\n"
	for _, t := range r.types {
		if r.pageOf[t] != r.file {
			continue
		}
		r.printf("%s\n### %s\n\n%s\n\n", title, t.Name(), cmp.Or(r.of(t)[t.Name()], "…"))
		r.fields(t)
		title = ""
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
