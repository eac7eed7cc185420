package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/fakes/llmtest"
)

// embedded waits until all texts have vectors, and returns the status.
func (l *live) embedded() *api.EmbedStatus {
	l.t.Helper()
	l.sync()
	var s *api.EmbedStatus
	l.until("all texts have vectors", func() bool {
		s = l.mustStatus().Embed
		return s != nil && s.Dimensions > 0 && s.Pending == 0
	})
	return s
}

func (l *live) vectorFiles() (size int64) {
	l.t.Helper()
	filepath.WalkDir(filepath.Dir(l.config), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just been deleted
		}
		info, err := e.Info()
		if err == nil && filepath.Ext(path) == ".vec" {
			size += info.Size()
			if info.Mode().Perm() != 0o600 {
				l.t.Errorf("%s has the mode %v", path, info.Mode())
			}
		}
		return nil
	})
	return size
}

// TestLiveEmbeddings checks that texts are found by meaning, that each is sent once
// even if its file moves and the daemon restarts, that private text and credentials
// are not sent, and that forget removes vectors.
func TestLiveEmbeddings(t *testing.T) {
	t.Parallel()
	service := llmtest.NewServer(t)
	l := newLive(t, t.TempDir(), "")
	key := filepath.Join(filepath.Dir(l.config), "key")
	testkit.Must(t, os.WriteFile(key, []byte("sk-local\n"), 0o600))
	settings := fmt.Sprintf("embed: {endpoint: %q, model: tiny, key_file: %q, query_timeout: 10s}\n", service.URL, key)
	l.configure(settings)
	l.write("2026-02-04/a.md", "# Log\n\n- We bought a new automobile in Berlin\n- The staging server listens on port 8080\n")
	l.write("2026-02-04/b.md", "- Lunch with Mira was really nice today\n- Nobody knows of the zebra yet <!-- visibility=private_only -->\n")
	l.start()
	if s := l.embedded(); s.Embedded != 3 || s.Model != "tiny" || s.LastError != "" {
		t.Errorf("%+v", s)
	}
	find := func(who fields, query string) string {
		t.Helper()
		var a api.SearchAnswer
		l.must("search", who.with(fields{"query": query, "mode": "hybrid"}), &a)
		if a.Index.Semantic == nil {
			t.Fatalf("%s: no state", query)
		}
		if len(a.Hits) == 0 {
			return a.Index.Semantic.State
		}
		return a.Index.Semantic.State + " " + a.Hits[0].Text
	}
	if got := find(fields{"subject": "owner", "context": "public"}, "purchase of some car there"); got != "used - We bought a new automobile in Berlin" {
		t.Errorf("found %q", got)
	}
	if got := find(owner, "who knows of the zebra"); !strings.HasPrefix(got, "private ") {
		t.Errorf("a private query: %q", got)
	}
	texts := func() (list []string) {
		for _, text := range service.Texts() {
			if strings.HasPrefix(text, "Log") || strings.HasPrefix(text, "2026") {
				list = append(list, text)
			}
		}
		return list
	}
	if n := len(texts()); n != 3 {
		t.Errorf("sent %d texts: %q", n, service.Texts())
	}
	for name, do := range map[string]func(){
		"restart": func() {
			testkit.Must(t, l.stop())
			l.start()
		},
		"rebuild": func() { l.must("rebuild", owner, new(api.RebuildAnswer)) },
		"move": func() {
			testkit.Must(t, os.Rename(l.path("2026-02-04/b.md"), l.path("2026-02-04/c.md")))
		},
		"touch": func() { l.write("2026-02-04/a.md", "# Log\n\n- The staging server listens on port 8080\n") },
		"restore": func() {
			l.write("2026-02-04/a.md", "# Log\n\n- The staging server listens on port 8080\n- We bought a new automobile in Berlin\n")
		},
	} {
		do()
		l.embedded()
		if n := len(texts()); n != 3 {
			t.Errorf("%s: sent %d texts: %q", name, n, service.Texts())
		}
	}

	l.write("2026-02-04/a.md", "# Log\n\n- The staging server listens on port 8080\n- We bought a new automobile in Berlin\n- The word "+quark+" is in a sentence\n")
	l.embedded()
	before := l.vectorFiles()
	l.forget(owner, quark)
	if s := l.embedded(); s.Embedded != 3 {
		t.Errorf("%+v", s)
	}
	if after := l.vectorFiles(); before-after != 12+llmtest.Dimensions {
		t.Errorf("vectors of %d bytes, then %d", before, after)
	}

	if sent := strings.Join(service.Texts(), "\n"); strings.Contains(sent, "zebra") {
		t.Errorf("sent %s", sent)
	}
	if got := service.Header().Get("Authorization"); got != "Bearer sk-local" {
		t.Errorf("key %q", got)
	}
	for _, never := range []string{"automobile", "zebra", "sk-local"} {
		if strings.Contains(l.log.String(), never) {
			t.Errorf("%q is in the log", never)
		}
	}
}
