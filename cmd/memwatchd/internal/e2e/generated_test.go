package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc/mcp"
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
	shown := map[string]string{}
	(&docPage{name, string(text)}).each("console", func(_, text string) {
		for _, step := range stepsOf(text) {
			shown[step.line] = step.output
		}
	})
	want = (&docPage{name, want}).replaced("console", func(text string) string {
		var out strings.Builder
		for _, step := range stepsOf(text) {
			out.WriteString(step.typed() + shown[step.line])
		}
		return out.String()
	})
	if *update {
		testkit.Must(t, os.WriteFile(path, []byte(want), 0o644))
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is stale; run go test ./cmd/memwatchd/internal/e2e -run TestPages -update (-want +got):\n%s", name, diff)
	}
}

// cell returns s escaped for a table.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s) }

// TestPagesConfiguration checks that docs/configuration.md consists of its
// introduction and all keys of the configuration.
func TestPagesConfiguration(t *testing.T) {
	head, err := os.ReadFile("testdata/configuration.md")
	testkit.Must(t, err)
	var b strings.Builder
	b.Write(head)
	section := ""
	for _, k := range config.Keys {
		if first, _, nested := strings.Cut(k.Name, "."); nested && first != section {
			section = first
			fmt.Fprintf(&b, "\n### %s\n\n", section)
		}
		means := k.Tag("doc")
		if item := k.Field.Type.Elem; k.Field.Type.Kind() == reflect.Slice && item().Kind() == reflect.Struct {
			means += fmt.Sprintf(" [listed below](#%s)", anchor(entriesOf(k)))
		}
		describe(&b, k, means)
	}
	for _, k := range config.Keys {
		if k.Field.Type.Kind() != reflect.Slice || k.Field.Type.Elem().Kind() != reflect.Struct {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n", entriesOf(k))
		for _, below := range config.KeysOf(k.Field.Type.Elem()) {
			describe(&b, below, below.Tag("doc"))
		}
	}
	current(t, "docs/configuration.md", b.String())
}

// describe writes the line of a key.
func describe(b *strings.Builder, k config.Key, means string) {
	value := ""
	if d := k.Tag("default"); d != "" {
		value = fmt.Sprintf(" (`%s`)", cell(d))
	}
	fmt.Fprintf(b, "- `%s`%s: %s%s\n", k.Name, value, cell(means), between(k))
}

// entriesOf returns the heading of the keys of a list's entries.
func entriesOf(k config.Key) string { return "Entries of " + k.Name }

// between returns the bounds of a key in parentheses.
func between(k config.Key) string {
	switch low, high := k.Tag("min"), k.Tag("max"); {
	case low != "" && high != "":
		return fmt.Sprintf(" (%s to %s)", low, high)
	case low != "":
		return fmt.Sprintf(" (at least %s)", low)
	}
	return ""
}

const operationsPage = "docs/operations.md"

// TestPagesOperations checks that docs/operations.md consists of the conventions in
// testdata/operations.md and the table of operations.
func TestPagesOperations(t *testing.T) {
	head, err := os.ReadFile("testdata/operations.md")
	testkit.Must(t, err)
	r := &reference{t: t, types: []reflect.Type{reflect.TypeFor[api.IndexState]()}} // of commonFields
	r.WriteString(string(head))
	r.printf("\n## Operations\n")
	for _, op := range api.Operations {
		r.operation(op)
	}
	r.printf("\n## Types in answers\n")
	for i := 0; i < len(r.types); i++ { // writing one can add others
		r.printf("\n### %s\n\n", r.types[i].Name())
		r.fields(r.types[i])
	}
	for _, code := range []api.Code{
		api.Invalid, api.NoSubject, api.Forbidden, api.NotFound, api.Conflict, api.SubjectConflict, api.Busy, api.Limit,
		api.Misdirected, api.Secret, api.TooLarge, api.RateLimited, api.Unavailable, api.Internal,
	} {
		if row := fmt.Sprintf("| `%s` %d |", code, code.Status()); !strings.Contains(string(head), row) {
			t.Errorf("testdata/operations.md has no row %s", row)
		}
	}
	current(t, operationsPage, r.String())
}

// A reference generates the page.
type reference struct {
	strings.Builder

	t     *testing.T
	types []reflect.Type // structs in answers, in the order of their first use
}

func (r *reference) printf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

// reachedBy returns the commands and the tool of an operation.
func reachedBy(op *api.Operation) string {
	var list []string
	for _, c := range op.Commands {
		list = append(list, "`"+c.Words+"`")
	}
	for _, t := range mcp.Tools {
		if slices.Contains(t.Operations, op) {
			list = append(list, "`"+t.Name+"`")
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " " + strings.Join(list, ", ") + "."
}

func (r *reference) operation(op *api.Operation) {
	r.printf("\n### %s\n\n%s.%s%s\n\n", op.Name, op.Summary, facts(op), reachedBy(op))
	rows := 0
	for _, p := range op.Params() {
		if p.Scope || p.Name == "sync" { // described once
			continue
		}
		rows++
		r.printf("- `%s`%s: %s\n", p.Name, kindOf(p), cell(meaning(p)))
	}
	if rows > 0 {
		r.printf("\n")
	}
	answer := reflect.TypeOf(op.NewAnswer()).Elem()
	i := slices.IndexFunc(api.Operations, func(o *api.Operation) bool { return reflect.TypeOf(o.NewAnswer()).Elem() == answer })
	switch first := api.Operations[i]; {
	case op.Stream:
		r.printf("Each event: ")
		r.fields(answer)
	case first != op:
		r.printf("Answer: as of [%s](#%[1]s).\n", first.Name)
	default:
		r.printf("Answer: ")
		r.fields(answer)
	}
}

func facts(op *api.Operation) string {
	var needs []string
	switch op.Needs {
	case api.AnySubject:
		needs = append(needs, "a subject")
	case api.InPrivate:
		need := "a subject in private"
		if op.InInbox {
			need += ", or an inbox"
		} else if !op.Admin {
			need += ", not with a fixed scope"
		}
		needs = append(needs, need)
	case api.TheOwner:
		needs = append(needs, "the owner in private")
	case api.Operator:
		needs = append(needs, "the owner in private, or no subject")
	}
	if op.Admin {
		needs = append(needs, "no fixed scope")
	}
	if len(needs) == 0 {
		return ""
	}
	return " Requires " + strings.Join(needs, "; ") + "."
}

// kindOf returns the type of a field after a space, or "" for a string.
func kindOf(p *api.Param) string {
	switch p.Kind() {
	case "string":
		return ""
	case "strings":
		return " list"
	}
	return " " + p.Kind()
}

// meaning returns the description of a field with its bounds.
func meaning(p *api.Param) string {
	s := p.Doc
	if p.Need {
		s = "required; " + s
	}
	if bounds := p.Min + " to " + p.Max; p.Min != "" && p.Max != "" && !strings.Contains(s, bounds) {
		s += ", " + bounds
	}
	if p.Default != "" {
		s += "; default: " + p.Default
	}
	for _, v := range p.Enum {
		if !strings.Contains(p.Doc, v) {
			return s + ": " + strings.Join(p.Enum, ", ")
		}
	}
	return s
}

// fields writes the JSON names and types of the fields of a struct.
func (r *reference) fields(of reflect.Type) {
	var list []string
	for _, f := range jsonFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(commonFields, name) {
			list = append(list, "`"+name+"`"+r.kind(f.Type))
		}
	}
	if len(list) == 0 {
		list = []string{"no fields of its own"}
	}
	r.printf("%s.\n", strings.Join(list, ", "))
}

// commonFields are fields of most answers, which testdata/operations.md describes.
var commonFields = []string{"index", "disabled", "redacted"}

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

// kind returns the type of a value after a space: list, object or a link to a
// struct, or "" for strings, numbers and booleans.
func (r *reference) kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return r.kind(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return ""
		}
		if of := r.kind(t.Elem()); strings.HasPrefix(of, " [") {
			return " [" + of[1:] + "]"
		}
		return " list"
	case reflect.Map, reflect.Interface:
		return " object"
	}
	if !isPart(t) {
		return ""
	}
	if !slices.Contains(r.types, t) {
		r.types = append(r.types, t)
	}
	return fmt.Sprintf(" [%s](#%s)", t.Name(), anchor(t.Name()))
}
