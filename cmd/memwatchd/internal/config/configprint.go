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
func FormatYAML(c *Config, header string) (string, error) {
	var b strings.Builder
	b.WriteString(header)
	if err := printKeys(&b, reflect.ValueOf(c).Elem(), ""); err != nil {
		return "", err
	}
	return b.String(), nil
}

func printKeys(b *strings.Builder, v reflect.Value, indent string) error {
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
			if err := printKeys(b, v.Field(i), indent+"  "); err != nil {
				return err
			}
			continue
		}
		text, err := scalarYAML(v.Field(i).Interface())
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s# %s", indent, f.Tag.Get("doc"))
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			b.WriteString(":\n")
			printItemKeys(b, f.Type.Elem(), indent)
		} else {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s%s:%s\n", indent, name, strings.ReplaceAll(text, "\n", "\n"+indent))
	}
	return nil
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
func scalarYAML(v any) (string, error) {
	switch x := v.(type) {
	case time.Duration:
		v = ShortDuration(x)
	case size:
		v = x.String()
	case []string:
		node := &yaml.Node{}
		if err := node.Encode(x); err != nil {
			return "", err
		}
		node.Style = yaml.FlowStyle
		v = node
	}
	separator := " "
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.Len() > 0 {
		separator = "\n"
	}
	text, err := yaml.Marshal(v)
	return separator + strings.TrimSuffix(string(text), "\n"), err
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
