package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// TestFormat checks that templates have all JSON fields, with escaped texts, and no
// others.
func TestFormat(t *testing.T) {
	answer := &api.SearchAnswer{Hits: []api.Hit{{Path: "a b.md", Text: "\x1b[31mred\tone\n", Tags: []string{"tea"}, Time: time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC)}}}
	for format, want := range map[string]string{
		`{{range .hits}}{{.path}} {{.time.Format "Jan 2"}} {{.task}}{{end}}`: "a b.md Feb 5 \n",
		`{{(index .hits 0).text}}`:                                   `\x1b[31mred` + "\tone\n",
		`{{range .hits}}{{json .tags}}{{"\x00"}}{{end}}`:             `["tea"]` + "\x00",
		`{{len .hits}} {{.redacted}} {{.index.degraded}} {{.total}}`: "1 0 false 0\n",
		`{{file "x"}}`:     "x!\n",
		`{{.nothing}}`:     "error",
		`{{range .hits}}`:  "error",
		`{{.hits.Secret}}`: "error",
	} {
		o := output{format: format}
		var b bytes.Buffer
		err := o.parse(func(path string) string { return path + "!" })
		if err == nil {
			err = o.printFormatted(&b, answer)
		}
		if err != nil {
			b.Reset()
			b.WriteString("error")
		}
		if b.String() != want {
			t.Errorf("%s prints %q (%v), want %q", format, b.String(), err, want)
		}
	}
}
