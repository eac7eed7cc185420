package ops

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestWriteErrorHidesDirectories checks that an error of a write contains its
// reason, but not where the memory or the journal is.
func TestWriteErrorHidesDirectories(t *testing.T) {
	for _, reason := range []error{unix.ENOSPC, vault.ErrRoot} {
		err := fmt.Errorf("journal: %w", &fs.PathError{Op: "open", Path: "/home/mallory/memory", Err: reason})
		if got := writeError(err).Error(); strings.Contains(got, "mallory") || !strings.Contains(got, reason.Error()) {
			t.Errorf("the error is %q", got)
		}
	}
}

// liveToken has the form of a live token. It is split so that secret scanners
// do not match this file.
const liveToken = "glpat-" + "Zx81Kq" + "mR4vTw" + "9sLh7Bqw"

// privateKey is another credential; keyLine is the part of it that must stay
// hidden.
const (
	keyLine    = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj" + "AgEAAoIBAQC7VJTUt9Us8cKj"
	privateKey = "-----BEGIN PRIVATE " + "KEY-----\n" + keyLine + "\n" + keyLine + "\nqL5h==\n-----END PRIVATE " + "KEY-----"
)

// textTemplates holds files of one memory each. %s marks every place where text
// can stand.
var textTemplates = map[string]string{
	"text":        "- **zq000**: with %s or so <!-- id=i000 -->\n",
	"title":       "- **zq000 %s**: so\n",
	"task":        "## Tasks\n\n- [ ] zq000 %s\n- [x] another\n",
	"heading":     "## zq000 %s\n\n- so\n",
	"tag":         "- zq000 #%s\n",
	"link":        "- zq000 [so](%s.md) and [[%s]]\n",
	"link text":   "- zq000 [%s](b.md)\n",
	"attribute":   "- zq000 so <!-- id=x1 source=%s evidence=%s supersedes=%s author=%s -->\n",
	"id":          "- zq000 so <!-- id=%s -->\n",
	"anchor":      "- zq000 so ^%s\n",
	"code":        "zq000:\n\n```sh\nexport TOKEN=%s\n```\n",
	"html":        "<div title=\"%s\">zq000</div>\n",
	"table":       "| zq000 | b |\n|-|-|\n| %s | c |\n",
	"quote":       "> zq000 %s\n",
	"comment":     "- zq000\n\n<!-- %s -->\n",
	"summary":     "---\nsummary: zq000 %s\ntasks: 9/9\n---\n\n- zq000\n",
	"field":       "---\nsummary: zq000\nsource: %s\nchannel: \"%s\"\ncontact_id: a\ncontact_nickname: '%s'\ntags: [\"%s\", zq000]\nother: {a: [%s]}\nstatus: %s\n---\n\n- zq000\n",
	"field name":  "---\nsummary: zq000\n%s: a\n---\n\n- zq000\n",
	"ids":         "---\nsession_id: %s\nsubject_id: owner\ncontact_id: %s\n---\n\n- zq000\n",
	"broken":      "---\nsummary: [%s\n---\n\n- zq000\n",
	"wrong":       "---\nvisibility: %s\nupdated_at: %s\ntasks: %s\n---\n\n- zq000 <!-- visibility=%s updated=%s importance=%s -->\n",
	"beside":      "## Tasks\n\n- [ ] zq000\n\n%s\n\n- [x] another\n",
	"name":        "- zq000\n",
	"private key": "- zq000\n\n" + strings.ReplaceAll(privateKey, "%", "%%") + "\n\n- [ ] another\n",
}

// TestNoAnswerHasCredentials checks that no answer contains a credential from
// any place in a file or from the request.
func TestNoAnswerHasCredentials(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	for place, text := range textTemplates {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(text, "%s", liveToken)
			session := "2026-02-05/cli.md"
			if place == "name" {
				session = "2026-02-05/" + liveToken + ".md"
			}
			archive := &txtar.Archive{}
			for _, name := range []string{
				session, "2026-02-04/old.md", "memory/2026-02-05.md", "_longterms/owner/_index.md", "_longterms/owner/preference.md", "MEMORY.md", "SOUL.md", "written: MEMORY.md",
			} {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
			}
			archive.Files = append(archive.Files, txtar.File{Name: "written: MEMORY.md", Data: []byte(text + "- more\n")})
			c := readOpsCase(t, archive)
			d := c.start(t)
			socket := serveOps(t, d.memory)
			for _, op := range api.Operations {
				if op.Stream {
					continue
				}
				for _, request := range requestsFor(t, op, session) {
					answer := postOps(t, socket, &opsRequest{op: op}, []byte(request))
					for _, secret := range []string{liveToken, keyLine[:40]} {
						if strings.Contains(answer, secret) || strings.Contains(answer, strings.ReplaceAll(secret, "/", `\/`)) {
							t.Errorf("%s %s answers\n%s", op.Name, request, answer)
						}
					}
				}
			}
		})
	}
}

// requestsFor returns requests of an operation: those about an entry of a file, one without
// parameters, and with a credential in each.
func requestsFor(t *testing.T, op *api.Operation, path string) (list []string) {
	entry := &target{testFile: &testFile{path: path, kind: memory.Session, front: []string{"session_id: cli"}}}
	requests := []fields{{}, {liveToken: 1}}
	for _, r := range requestPlans[op.Name].requests(entry) {
		requests = append(requests, r.request)
	}
	for _, p := range op.Params() {
		requests = append(requests, fields{p.Name: liveToken}, fields{p.Name: []string{liveToken}}, fields{p.Name: fields{"summary": liveToken}})
	}
	return convertEach(requests, func(r fields) string { return encodeRequest(t, r) })
}

// TestRedactedCopies checks that redaction leaves unencoded fields and shared
// parts of an answer unchanged.
func TestRedactedCopies(t *testing.T) {
	type part struct {
		Name  string
		Map   map[string]any
		Many  []string
		inner string
	}
	type answer struct {
		Parts []*part
		Any   any
		api.Redaction
	}
	shared := []string{"a", liveToken}
	a := &answer{Parts: []*part{{Name: "x " + liveToken, Map: map[string]any{liveToken: []any{liveToken}}, Many: shared, inner: "i"}}, Any: liveToken}
	got := redactValue(a)
	if text := fmt.Sprintf("%+v %+v", got, got.Parts[0]); strings.Contains(text, liveToken) || got.Redacted != 5 || got.Parts[0].inner != "i" {
		t.Errorf("redacted: %s", text)
	}
	if shared[1] != liveToken || a.Parts[0].Name != "x "+liveToken || a.Redacted != 0 {
		t.Error("what was given has been changed")
	}
	if clear := (&answer{Parts: []*part{{Name: "a", Many: shared[:1]}}}); redactValue(clear) != clear {
		t.Error("an answer without credentials is not as it was")
	}
	if secrets.MatchingRule(liveToken) == "" || secrets.MatchingRule(privateKey) == "" {
		t.Error("the tests' credentials are none")
	}
}

// TestEditOfAPrivateKey checks that edits of any lines of a multi-line
// credential never show it and never write a mask.
func TestEditOfAPrivateKey(t *testing.T) {
	d := newDisk(t, map[string]string{"MEMORY.md": "- a\n"})
	c := d.call(t, owner)
	path := filepath.Join(d.dir, "MEMORY.md")
	const above, below = "- a\n\n", "\n\n- b\n"
	done := 0
	for from := range 5 {
		for to := from + 1; to <= 5; to++ {
			for _, by := range []struct{ end, text string }{{"\n", ""}, {"", "none"}, {"\n", "none"}, {"", ""}} {
				checkError(t, os.WriteFile(path, []byte(above+privateKey+below), 0o600))
				doc, err := d.memory.readOps().loadFile(c, "MEMORY.md")
				checkError(t, err)
				old := strings.Join(doc.Shown(c.View).Lines[2+from:2+to], "\n") + by.end
				_, err = do[api.EditAnswer](t, d.memory, owner, api.EditRequest{Path: "MEMORY.md", OldText: old, NewText: by.text})
				data := d.read(t, "MEMORY.md")
				doc, failed := d.memory.readOps().loadFile(c, "MEMORY.md")
				checkError(t, failed)
				text := doc.Shown(c.View).Text()
				if strings.Contains(text, keyLine) || strings.Contains(text, "qL5h") || strings.Contains(data, "REDA") {
					t.Fatalf("%q in place of %q: %v, %v\n%s\nis shown as\n%s", by.text, old, err, failed, data, text)
				}
				if err == nil {
					done++
				} else if from == 0 && to == 5 && by.text != "none" {
					t.Errorf("all of it: %v", err)
				}
			}
		}
	}
	t.Logf("%d edits were made", done)
}

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
			api.RequestOf(api.NoteRequest{Text: text}), api.RequestOf(api.CaptureRequest{Bullets: []string{"y" + text[1:]}}),
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
