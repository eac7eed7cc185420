package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// SourceComment returns a comment with the source of a configuration.
func SourceComment(c *Config) string {
	comment := "# No configuration file; defaults and environment only.\n"
	if c.File != "" {
		comment = "# Read from " + term.EscapeLine(c.File) + "\n"
	}
	if c.Warning != "" {
		comment += "# Warning: " + c.Warning + "\n"
	}
	return comment
}

// FormatYAML returns a configuration as YAML, each key with its description. Reading
// the YAML gives the same configuration.
func FormatYAML(c *Config, header string) string {
	var b strings.Builder
	b.WriteString(header)
	printKeys(&b, reflect.ValueOf(c).Elem(), "")
	return b.String()
}

// printKeys writes the keys of a struct as YAML, each with its documentation as a comment.
func printKeys(b *strings.Builder, v reflect.Value, indent string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		if name == "" {
			continue
		}
		if indent == "" {
			b.WriteByte('\n')
		}
		if f.Type.Kind() == reflect.Struct {
			fmt.Fprintf(b, "%s%s:\n", indent, name)
			printKeys(b, v.Field(i), indent+"  ")
			continue
		}
		fmt.Fprintf(b, "%s# %s", indent, f.Tag.Get("doc"))
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			b.WriteString(":\n")
			printItemKeys(b, f.Type.Elem(), indent)
		} else {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s%s:%s\n", indent, name,
			strings.ReplaceAll(scalarYAML(v.Field(i).Interface()), "\n", "\n"+indent))
	}
}

// printItemKeys writes the keys of a list item as comments.
func printItemKeys(b *strings.Builder, item reflect.Type, indent string) {
	for _, k := range KeysOf(item) {
		def := k.Tag("default")
		if def != "" {
			def = " (default " + def + ")"
		}
		fmt.Fprintf(b, "%s#   %s: %s%s\n", indent, k.Name, k.Tag("doc"), def)
	}
}

// scalarYAML returns the YAML of a value, starting with the separator after the
// colon.
func scalarYAML(v any) string {
	switch x := v.(type) {
	case time.Duration:
		v = ShortDuration(x)
	case []string:
		node := &yaml.Node{}
		_ = node.Encode(x) // every text can be encoded
		node.Style = yaml.FlowStyle
		v = node
	}
	separator := " "
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.Len() > 0 {
		separator = "\n"
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		panic(err) // a type of a key that cannot be encoded; every test would fail
	}
	return separator + strings.TrimSuffix(string(text), "\n")
}

// ShortDuration formats a duration without zero units: 2m, not 2m0s. From a
// week on, whole days are formatted as days.
func ShortDuration(d time.Duration) string {
	if day := 24 * time.Hour; d >= 7*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
