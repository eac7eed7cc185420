package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// docs/configuration.md is the keys of the configuration, written out behind
// what there is to say of them together.
func TestPagesConfiguration(t *testing.T) {
	head, err := os.ReadFile("testdata/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(head)
	section := ""
	for _, k := range configKeys {
		if first, _, nested := strings.Cut(k.name, "."); section == "" || nested && first != section {
			if section = first; !nested {
				section = "-" // the keys that stand by themselves
			} else {
				fmt.Fprintf(&b, "\n## %s\n\n", section)
			}
			fmt.Fprintf(&b, "| key | default | means |\n|---|---|---|\n")
		}
		means := k.tag("doc")
		if item := k.field.Type.Elem; k.field.Type.Kind() == reflect.Slice && item().Kind() == reflect.Struct {
			means += " what is below"
		}
		fmt.Fprintf(&b, "| `%s`<br>`%s` | %s | %s%s |\n", k.name, k.env(), code(k.tag("default")), cell(means), between(k))
	}
	for _, k := range configKeys {
		if k.field.Type.Kind() != reflect.Slice || k.field.Type.Elem().Kind() != reflect.Struct {
			continue
		}
		fmt.Fprintf(&b, "\n### Each of %s\n\n| key | default | means |\n|---|---|---|\n", k.name)
		for _, below := range keysOf(k.field.Type.Elem()) {
			fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", below.name, code(below.tag("default")), cell(below.tag("doc")), between(below))
		}
	}
	current(t, "docs/configuration.md", b.String())
}

// between is the bounds of a key, in parentheses.
func between(k key) string {
	switch low, high := k.tag("min"), k.tag("max"); {
	case low != "" && high != "":
		return fmt.Sprintf(" (%s to %s)", low, high)
	case low != "":
		return fmt.Sprintf(" (at least %s)", low)
	}
	return ""
}
