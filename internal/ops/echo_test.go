package ops

import (
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestEchoes checks that no error repeats a long text of its request.
func TestEchoes(t *testing.T) {
	m := newTestMemory(t, nil, nil).memory
	long := strings.Repeat("ü", api.MaxName/2)
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			if op.Stream || op.Long || p.Kind() != "string" && p.Kind() != "strings" {
				continue
			}
			req := op.NewRequest()
			checkError(t, req.Set(p, long))
			_, err := m.Do(t.Context(), owner, req)
			if err == nil {
				err = req.Check()
			}
			if err != nil && len(err.Error()) > 800 {
				t.Errorf("%s: %s: %.1000s", op.Name, p.Name, err)
			}
		}
	}
}

// TestPublicCharacters checks that no text of a public writer contains
// characters that a reader does not see, in any parameter.
func TestPublicCharacters(t *testing.T) {
	m := newTestMemory(t, nil, nil).memory
	for _, op := range api.Operations {
		if op.ReadOnly || op.Needs != api.AnySubject {
			continue
		}
		for _, p := range op.Params() {
			if p.Scope || p.Kind() != "string" && p.Kind() != "strings" && p.Kind() != "object" {
				continue
			}
			text := "co\u00adoperate"
			if p.Kind() == "object" {
				text = `{"items": {"Notes": [{"text": "co\u00adoperate"}]}}`
			}
			for _, context := range []string{"public", "private"} {
				req := op.NewRequest()
				checkError(t, req.Set(p, text))
				_, err := m.Do(t.Context(), as("owner", context), req)
				if refused := err != nil && strings.Contains(err.Error(), "U+00AD"); refused != (context == "public") {
					t.Errorf("%s in %s: %s: %v", op.Name, context, p.Name, err)
				}
			}
		}
	}
}

// TestTextTooLong checks that note, capture, remember, profile and project reject a text
// over the size limit and then write nothing.
func TestTextTooLong(t *testing.T) {
	d := newDisk(t, nil)
	based := api.Basis{Evidence: []string{"https://example.com"}}
	for n, want := range map[int]api.Code{maxText: "", maxText + 1: api.TooLarge} {
		text := strings.Repeat("x", n)
		for _, r := range []*api.Request{
			api.RequestOf(api.NoteRequest{Text: text}), api.RequestOf(api.CaptureRequest{Bullets: []string{text}}),
			api.RequestOf(api.RememberRequest{Text: text, Explicit: true}),
			api.RequestOf(api.ProfileRequest{Name: "Profile", Text: text, Basis: based}),
			api.RequestOf(api.ProjectRequest{Name: "p", Text: text, Basis: based}),
		} {
			_, err := d.memory.Do(t.Context(), owner, r)
			if changed := d.changes(t) != ""; changed != (want == "") || err != nil && asError(err).Code != want {
				t.Errorf("%s: %v, changed %t", r.Operation().Name, err, changed)
			}
		}
	}
}
