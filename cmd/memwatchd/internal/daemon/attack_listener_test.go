package daemon

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// guardedFiles is a memory with private words of every subject, and with public
// words.
var guardedFiles = map[string]string{
	"_longterms/_identities.yaml":           identities,
	"MEMORY.md":                             "- zorbowner\n",
	"MEMORY.public.md":                      "---\nvisibility: public_ok\n---\n- openowner\n",
	"_longterms/acct_42/_index.md":          "---\nsubject_id: acct:42\n---\n- zorbmine\n",
	"_longterms/acct_42/_index.public.md":   "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n- openmine\n",
	"_longterms/ext_telegram_1/x.md":        "- zorblinked\n- nothing <!-- visibility=public_ok -->\n",
	"_longterms/ext_telegram_1/x.public.md": "---\nvisibility: public_ok\n---\n- openlinked\n",
	"_longterms/bob/_index.md":              "- zorbbob\n",
	"_longterms/bob/_index.public.md":       "---\nvisibility: public_ok\n---\n- openbob\n",
	"2026-02-04/s.md":                       "---\nvisibility: public_ok\n---\n- openall\n",
	"2026-02-04/s.private.md":               "- zorbsession\n",
	"2026-02-04/zorbpath.md":                "- zorbinside <!-- visibility=private_only -->\n",
	"_longterms/acct_42/zorbfile.md":        "- zorbtext\n",
	"2026-02-05/mine.md":                    "---\nsubject_id: acct:42\nsummary: zorbsummary\nvisibility: private_only\n---\n- zorbprivate\n",
	"2026-02-05/telegram.md":                "---\nsubject_id: ext:telegram:1\nvisibility: public_ok\n---\n- openchat\n",
	"_longterms/acct_42/preference.md":      "- **zorbkey**: zorbvalue\n",
}

// startGuarded serves guarded on these sockets: "s" without a fixed scope,
// "public" for the public text of one subject, "private" for all its text,
// "nobody" for anonymous callers, and "few" for a few operations.
func startGuarded(t *testing.T) *target {
	t.Helper()
	return serveTree(t, guardedFiles, func(c *config.Config, base string) {
		for name, l := range map[string]config.Listener{
			"public":  {Subject: "acct:42", Context: "public"},
			"private": {Subject: "acct:42", Context: "private"},
			"nobody":  {Context: "private"},
			"few":     {Subject: "acct:42", Context: "public", Operations: []string{"search", "status", "check", "events"}},
		} {
			l.Path = filepath.Join(base, name)
			c.IPC.Listeners = append(c.IPC.Listeners, l)
		}
		slices.SortFunc(c.IPC.Listeners[1:], func(a, b config.Listener) int { return strings.Compare(a.Path, b.Path) })
	})
}

// post sends body unchanged.
func (g *target) post(t testing.TB, c *http.Client, path, body string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://memwatchd"+path, strings.NewReader(body))
	testkit.Must(t, err)
	if header != nil {
		r.Header = header
	}
	res, err := c.Do(r)
	testkit.Must(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	return res.StatusCode, string(answer)
}

// TestFixedScopeIsNotWidened checks that a request can narrow a fixed scope,
// but nothing in a request widens it.
func TestFixedScopeIsNotWidened(t *testing.T) {
	g := startGuarded(t)
	c := g.dial("public")
	all := `"query":"zorbowner zorbmine zorblinked zorbbob zorbsession zorbinside zorbtext zorbsummary zorbprivate zorbkey zorbvalue openowner openmine openlinked openbob openall openchat","limit":100,"include_archived":true`
	within := func(body string) {
		t.Helper()
		for _, no := range []string{"zorb", "openbob", "openowner"} {
			// The words of the query are not repeated in the answer.
			if strings.Contains(body, no) {
				t.Errorf("%q is in the answer: %s", no, body)
			}
		}
	}
	status, body := g.post(t, c, "/v1/search", "{"+all+"}", nil)
	if status != http.StatusOK || !strings.Contains(body, "openmine") || !strings.Contains(body, "openlinked") || !strings.Contains(body, "openall") {
		t.Fatalf("the scope itself: %d %s", status, body)
	}
	within(body)

	for _, narrow := range []string{`"subject":""`, `"external_key":""`, `"context":"unknown"`, `"context":"public"`, `"subject":"acct:42"`, `"external_key":"telegram:1"`, `"subject":null`, `"context":null`, `"context":""`} {
		status, body := g.post(t, c, "/v1/search", "{"+narrow+","+all+"}", nil)
		if narrow == `"context":""` {
			if status == http.StatusOK {
				within(body)
			}
			continue
		}
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", narrow, status, body)
		}
		within(body)
	}

	// The refusal of a wider scope does not reveal whether that scope exists.
	refused := map[string]bool{}
	for _, wide := range []string{
		`"subject":"owner"`, `"subject":"bob"`, `"subject":"acct:43"`, `"subject":"nosuch"`, `"subject":"?acct_42"`, `"subject":"acct_42"`, `"subject":"ext:telegram:1"`, `"subject":"\u0000"`,
		`"context":"private"`, `"subject":"acct:42","context":"private"`, `"subject":"","context":"private"`,
		`"external_key":"telegram:2"`, `"external_key":"slack:U9"`, `"external_key":"garbage"`, `"external_key":"telegram:1","context":"private"`,
	} {
		status, body := g.post(t, c, "/v1/search", "{"+wide+","+all+"}", nil)
		if status != http.StatusForbidden {
			t.Errorf("%s: %d %s", wide, status, body)
		}
		refused[body] = true
		within(body)
	}
	if len(refused) != 1 {
		t.Errorf("the refusals differ: %v", refused)
	}

	// JSON tricks, all of which are rejected as invalid.
	for _, trick := range []string{
		`{"subject":"acct:42","subject":"owner",` + all + `}`, `{"subject":"owner","subject":"acct:42",` + all + `}`,
		`{"context":"public","context":"private",` + all + `}`, `{"Subject":"owner",` + all + `}`, `{"SUBJECT":"owner",` + all + `}`,
		`{"Context":"private",` + all + `}`, `{"ſubject":"owner",` + all + `}`, `{"subject ":"owner",` + all + `}`, `{"sub\u006aect":"acct:42","subject":"owner",` + all + `}`,
		`{"scope":{"subject":"owner"},` + all + `}`, `{"Scope":{"Subject":"owner"},` + all + `}`, `{"aliases":["owner"],` + all + `}`, `{"fixed":null,` + all + `}`,
		`{"subject":["owner"],` + all + `}`, `{"subject":{"":"owner"},` + all + `}`, `{"subject":42,` + all + `}`, `{"context":1,` + all + `}`, `{"context":"PRIVATE",` + all + `}`,
		`{` + all + `}{"subject":"owner"}`, `{` + all + `} x`, `[{` + all + `}]`, `null`, `{` + all, `{` + all + `,}`, `{"subject":"owner"` + all + `}`, "\xef\xbb\xbf{" + all + `}`,
		`{"subject":"acct:42","external_key":"telegram:1",` + all + `}`, "{\"subj\xff\":\"owner\"," + all + "}", `{"":"owner",` + all + `}`, `{"query":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`,
		`{"query":` + strings.Repeat(`{"a":`, 20000) + `1` + strings.Repeat(`}`, 20000) + `}`, `{"limit":1e400,` + strings.Replace(all, `"limit":100,`, "", 1) + `}`, `{"limit":101}`, `{"offset":-1}`, `{"limit":99999999999999999999}`,
		`{"tags":[` + strings.Repeat(`"a",`, 200) + `"a"]}`, `{"path":"` + strings.Repeat("{a,a}", 40) + `"}`, `{"query":"` + strings.Repeat(`\"a\" \"b\" `, 1) + manyPhrases(40) + `"}`, `{"exclude":"` + strings.Repeat("a b ", 200) + `"}`,
	} {
		status, body := g.post(t, c, "/v1/search", trick, nil)
		if status != http.StatusBadRequest || errorCode(t, body) != api.Invalid {
			t.Errorf("%.100s: %d %.300s", trick, status, body)
		}
		within(strings.ReplaceAll(body, "zorbowner", "")) // an error may quote the query
	}

	// Headers, and constructs that a proxy or a framework would interpret.
	for _, h := range []http.Header{
		{"Memwatchd-As-Owner": {"1"}}, {"Memwatchd-Subject": {"owner"}, "Memwatchd-Context": {"private"}}, {"memwatchd-as-owner": {"1"}},
		{"X-Http-Method-Override": {"GET"}}, {"Content-Type": {"application/x-www-form-urlencoded"}}, {"Content-Type": {"multipart/form-data; boundary=x"}},
		{"Content-Type": {"text/plain; charset=utf-16"}}, {"X-Forwarded-Host": {"a.b"}}, {"Authorization": {"Bearer x"}}, {"Cookie": {"subject=owner"}},
		{"Content-Encoding": {"gzip"}}, {"Upgrade": {"h2c"}, "Connection": {"Upgrade, HTTP2-Settings"}, "Http2-Settings": {""}},
	} {
		status, body := g.post(t, c, "/v1/search", "{"+all+"}", h)
		if status != http.StatusOK {
			t.Errorf("%v: %d %s", h, status, body)
		}
		within(body)
	}
}

func manyPhrases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `\"p%d\" `, i)
	}
	return b.String()
}

// TestFixedScopeDoesNotAdminister checks that administration cannot be reached
// through a fixed scope, however it is spelled.
func TestFixedScopeDoesNotAdminister(t *testing.T) {
	g := startGuarded(t)
	for _, name := range []string{"public", "private", "nobody", "few"} {
		c := g.dial(name)
		for _, op := range []string{"check", "rebuild", "events"} {
			for _, body := range []string{"{}", `{"subject":""}`, `{"path":"MEMORY.md"}`, "", "x"} {
				status, answer := g.post(t, c, "/v1/"+op, body, nil)
				if status != http.StatusForbidden || strings.Contains(answer, "zorb") {
					t.Errorf("%s: %s %q: %d %s", name, op, body, status, answer)
				}
			}
		}
		for _, path := range []string{
			"/metrics", "/v1/events", "/v1/check", "/v1/rebuild", "/v1/events?subject=owner&context=private", "/metrics/", "//metrics", "/v1/../metrics", "/v1//check", "/%6detrics", "/v1/%63heck", "/v1/check/", "/v1/check?x=1",
			"/v1/check%00", "/v1/Check", "/v1/CHECK", "/v1", "/v1/", "/debug/pprof/", "/debug/vars", "/", "*",
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch, "TRACE", "PROPFIND", "get"} {
				status, answer := g.sendRaw(t, name, method+" "+path+" HTTP/1.1\r\nHost: memwatchd\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
				if status < 400 || strings.Contains(answer, "zorb") || strings.Contains(answer, "memwatchd_") || strings.Contains(answer, g.root) {
					t.Errorf("%s: %s %s: %d %s", name, method, path, status, answer)
				}
			}
		}
		status, answer := g.post(t, c, "/v1/status", "{}", nil)
		if want := "{\"healthy\":true}\n"; status != http.StatusOK || answer != want {
			t.Errorf("%s: status: %d %s", name, status, answer)
		}
	}
	for _, op := range []string{"get", "recent", "related", "load", "context", "todos", "sync"} {
		if status, answer := g.post(t, g.dial("few"), "/v1/"+op, `{"path":"2026-02-04/s.md"}`, nil); status != http.StatusForbidden {
			t.Errorf("%s although it is not listed: %d %s", op, status, answer)
		}
	}
	if status, answer := g.sendRequest(t, g.dial("nobody"), "search", object{"query": "zorbowner openall openmine openbob"}); status != http.StatusOK || strings.Contains(withoutEcho(answer), "zorb") || strings.Contains(withoutEcho(answer), "openmine") || !strings.Contains(answer, "openall") {
		t.Errorf("nobody finds %s", answer)
	}
	if status, answer := g.sendRequest(t, g.dial("private"), "search", object{"query": "zorbmine zorbowner zorbbob zorbsession"}); status != http.StatusOK || !strings.Contains(withoutEcho(answer), "zorbmine") || strings.Contains(withoutEcho(answer), "zorbowner") || strings.Contains(withoutEcho(answer), "zorbbob") || strings.Contains(withoutEcho(answer), "zorbsession") {
		t.Errorf("the private listener finds %s", answer)
	}
}

// sendRaw sends a request and returns the status of the first response and all
// bytes of the response.
func (g *target) sendRaw(t testing.TB, socket, request string) (int, string) {
	t.Helper()
	c, err := net.Dial("unix", g.socket(socket))
	testkit.Must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(c, request); err != nil {
		return 0, "" // the daemon closed the connection
	}
	answer, _ := io.ReadAll(c)
	status := 0
	fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
	return status, string(answer)
}

// TestNotFoundTakesAsLongForWhatIsThere checks that the time until a "not
// found" answer does not reveal whether the file exists.
func TestNotFoundTakesAsLongForWhatIsThere(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	files := map[string]string{"2026-02-04/open.md": "- open\n"}
	for i := range 20 {
		files[fmt.Sprintf("_longterms/bob/large%02d.md", i)] = strings.Repeat("- a line of some length, of which there are very many\n", 500)
	}
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	g := startTarget(t, root, nil)
	c := g.dial("s")
	took := map[string][]time.Duration{}
	for n := range 600 {
		for _, path := range []string{fmt.Sprintf("_longterms/bob/large%02d.md", n%20), fmt.Sprintf("_longterms/bob/absent%02d.md", n%20)} {
			kind := path[len("_longterms/bob/") : len("_longterms/bob/")+3]
			start := time.Now()
			status, _ := g.sendRequest(t, c, "get", object{"path": path, "subject": "acct:42", "context": "private", "sync": false})
			took[kind] = append(took[kind], time.Since(start))
			if status != http.StatusNotFound {
				t.Fatalf("%s: %d", path, status)
			}
		}
	}
	for _, list := range took {
		slices.Sort(list)
	}
	there, absent := took["lar"][300], took["abs"][300]
	t.Logf("median of what is there: %v, of what is not: %v", there, absent)
	if there > 2*absent+200*time.Microsecond {
		t.Errorf("what is there and may not be read takes %v, what is not there %v", there, absent)
	}
}
