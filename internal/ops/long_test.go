package ops

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestTextTooLong checks that note, capture, remember, profile and project reject a text
// over the size limit and then write nothing.
func TestTextTooLong(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{}).disk(t)
	c := d.callAs(t, "owner", "private")
	based := api.Basis{Evidence: []string{"https://example.com"}}
	for name, ask := range map[string]func(text string) error{
		"note": func(text string) error {
			_, err := d.memory.adminOps().note(t.Context(), c, &api.NoteRequest{Text: text})
			return err
		},
		"capture": func(text string) error {
			_, err := d.memory.adminOps().capture(t.Context(), c, &api.CaptureRequest{Bullets: []string{text}})
			return err
		},
		"remember": func(text string) error {
			_, err := d.memory.adminOps().remember(t.Context(), c, &api.RememberRequest{Text: text, Explicit: true})
			return err
		},
		"profile": func(text string) error {
			_, err := d.memory.adminOps().profile(t.Context(), c, &api.ProfileRequest{Name: "Profile", Text: text, Basis: based})
			return err
		},
		"project": func(text string) error {
			_, err := d.memory.adminOps().project(t.Context(), c, &api.ProjectRequest{Name: "p", Text: text, Basis: based})
			return err
		},
	} {
		fits, book := strings.Repeat("x", maxText), strings.Repeat("x", maxText+1)
		if err := ask(book); asError(err).Code != api.TooLarge || d.changes(t) != "" {
			t.Errorf("%s: %v", name, err)
		}
		if err := ask(fits); err != nil || d.changes(t) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
