package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// An output is a form of answers for other programs, as selected by flags.
type output struct {
	files   bool   // only the paths of the files
	null    bool   // a zero byte after each path
	vimgrep bool   // path:line:column:text
	quiet   bool   // nothing
	format  string // template for the answer

	template *template.Template // parsed format
}

// addOutputFlags adds the flags for the output of a command that lists something.
func addOutputFlags(c *cobra.Command, words string, o *output) {
	f := c.Flags()
	switch words {
	case "search", "recent", "related":
		f.BoolVar(&o.vimgrep, "vimgrep", false, "print path:line:column:text on one line each")
		fallthrough
	case "ls":
		f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing; the exit status is 0 if something was found, else 1")
		fallthrough
	case "journal":
		f.BoolVarP(&o.files, "files", "l", false, "print only the paths of the files, once each")
		f.BoolVarP(&o.null, "null", "0", false, "with --files, end each path with a zero byte")
		fallthrough
	case "stats", "tags":
		f.StringVar(&o.format, "format", "", "print the answer with this Go template, such as\n"+
			"'{{range .hits}}{{file .path}}{{end}}'; its fields are those of --json")
		rejectTogether(c, "json", "files", "vimgrep", "quiet", "format")
	}
}

// parse parses the template; printing calls locate for the function file of a template.
func (o *output) parse(locate func(string) string) error {
	switch {
	case o.null && !o.files:
		return Usagef("--null needs --files")
	case o.format == "":
		return nil
	}
	var err error
	o.template, err = template.New("--format").Option("missingkey=error").Funcs(template.FuncMap{
		"file": locate,
		"json": func(v any) string { return strings.TrimSuffix(string(AsJSON(v)), "\n") },
	}).Parse(o.format)
	if err != nil {
		return UsageError{Err: err}
	}
	return nil
}

func (o *output) printFormatted(w io.Writer, answer any) error {
	var b bytes.Buffer
	if err := o.template.Execute(&b, templateValue(reflect.ValueOf(answer))); err != nil {
		return UsageError{Err: err}
	}
	if b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte("\n")) && !bytes.HasSuffix(b.Bytes(), []byte{0}) {
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// templateValue returns a value for templates. Structs become maps with the names
// of their JSON fields, absent ones included, and texts are escaped for terminals.
func templateValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return templateValue(v.Elem())
	case reflect.String:
		return term.EscapeText(v.String())
	case reflect.Slice:
		if raw, ok := v.Interface().(json.RawMessage); ok {
			return string(letters.EscapeJSON(raw, false))
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = templateValue(v.Index(i))
		}
		return list
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			return t
		}
		fields := map[string]any{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "" || name == "-" {
				continue
			}
			if field, err := v.FieldByIndexErr(f.Index); err == nil { // an embedded pointer may be nil
				fields[name] = templateValue(field)
			}
		}
		return fields
	}
	return v.Interface()
}
