package daemon

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCopiesOfPrivateFiles checks that a conflict copy reveals nothing that its
// file restricts: whatever the copy says about itself, in whatever directory.
func TestCopiesOfPrivateFiles(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	const suffix = ".sync-conflict-20260205-120000-ABCDEFG.md"
	front := func(lines string) string { return "---\n" + lines + "\n---\n" }
	public := front("visibility: public_ok")
	files := map[string]string{
		"notes/private.md":                   front("visibility: private_only") + "- shared\n",
		"notes/private" + suffix:             public + "- canary of a private file <!-- visibility=public_ok -->\n",
		"notes/mixed.md":                     public + "- shared\n- hidden <!-- visibility=private_only -->\n",
		"notes/mixed" + suffix:               public + "- canary of a mixed file\n",
		"2026-02-05/chat.md":                 front("subject_id: acct:42\nvisibility: private_only") + "- shared\n",
		"2026-02-05/chat" + suffix:           front("subject_id: acct:7\nvisibility: public_ok") + "- canary of another subject\n",
		"_longterms/acct_42/_index.md":       front("subject_id: acct:42") + "- shared\n",
		"_longterms/acct_42/_index" + suffix: front("subject_id: acct:7\nvisibility: public_ok") + "- canary in the directory of acct:42\n",
		"_longterms/acct_9/_index" + suffix:  front("subject_id: acct:7\nvisibility: public_ok") + "- canary in a directory without a claim\n",
		"notes/ignored.md":                   "- shared\n",
		"notes/ignored" + suffix:             public + "- canary of an ignored file\n",
		"notes/gone" + suffix:                public + "- canary of a file that is gone\n",
		"notes/broken.md":                    public + "- shared\n<private>\n- secret\n",
		"notes/broken" + suffix:              public + "- canary of a broken file\n",
		"notes/open.md":                      public + "- shared\n",
		"notes/open" + suffix:                public + "- canary for everybody\n",
		".memwatchdignore":                   "ignored.md\n",
	}
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	g := startTarget(t, root, nil)
	c := g.dial("s")
	for _, who := range []object{{"subject": "acct:7", "context": "private"}, {"subject": "owner", "context": "public"}, {"context": "public"}, {}} {
		for _, op := range []string{"search", "recent", "load", "context", "complete", "todos"} {
			request := object{"what": "path", "prefix": "notes/"}
			switch op {
			case "search":
				request = object{"query": "canary", "limit": 100}
			case "recent":
				request = object{"hours": 100000, "limit": 100}
			case "load", "context", "todos":
				request = object{}
			}
			for key, value := range who {
				request[key] = value
			}
			if op == "todos" || op == "load" || op == "context" {
				delete(request, "what")
			}
			status, body := g.sendRequest(t, c, op, request)
			if status != http.StatusOK {
				t.Errorf("%v: %s: %d %s", who, op, status, body)
			}
			text := strings.ReplaceAll(body, "canary for everybody", "")
			for _, secret := range []string{"canary of", "canary in", "private.sync", "mixed.sync", "gone.sync", "broken.sync"} {
				if strings.Contains(text, secret) {
					t.Errorf("%v: %s has %q: %d %s", who, op, secret, status, body)
				}
			}
		}
		status, body := g.sendRequest(t, c, "search", merged(object{"query": "canary", "limit": 100}, who))
		var a struct {
			Total int `json:"total"`
		}
		if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK || a.Total > 1 {
			t.Errorf("%v: %d hits: %d %s", who, a.Total, status, body)
		}
		for path := range files {
			if !strings.HasSuffix(path, suffix) || strings.Contains(path, "open") {
				continue
			}
			if status, body := g.sendRequest(t, c, "get", merged(object{"path": path}, who)); status != http.StatusNotFound {
				t.Errorf("%v reads %s: %d %s", who, path, status, body)
			}
		}
	}
	// The owner finds the copies of the owner's files.
	status, body := g.sendRequest(t, c, "search", object{"query": "canary", "limit": 100, "subject": "owner", "context": "private"})
	for _, found := range []string{"private file", "mixed file", "gone", "broken file", "everybody"} {
		if !strings.Contains(body, found) {
			t.Errorf("the owner does not find the copy with %q: %d %s", found, status, body)
		}
	}
	if strings.Contains(body, "another subject") || strings.Contains(body, "ignored file") {
		t.Errorf("the owner finds %s", body)
	}
	for _, op := range []string{"edit", "write"} {
		request := object{"path": "notes/open" + suffix, "old_text": "canary", "new_text": "changed", "text": "changed\n", "subject": "owner", "context": "private"}
		if op == "edit" {
			delete(request, "text")
		} else {
			delete(request, "old_text")
			delete(request, "new_text")
		}
		if status, body := g.sendRequest(t, c, op, request); status == http.StatusOK {
			t.Errorf("%s changes a conflict copy: %s", op, body)
		}
	}
}

// merged returns the fields of both requests.
func merged(a, b object) object {
	for key, value := range b {
		a[key] = value
	}
	return a
}
