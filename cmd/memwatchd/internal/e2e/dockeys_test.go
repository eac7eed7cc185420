package e2e

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// TestPagesConfiguration checks that docs/configuration.md consists of its
// introduction and all keys of the configuration.
func TestPagesConfiguration(t *testing.T) {
	head, err := os.ReadFile("testdata/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
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
