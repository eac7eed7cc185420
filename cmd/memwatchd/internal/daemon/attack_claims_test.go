package daemon

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestFilesAreMadeInPlacesOfOnesOwn checks that creating files never gives a
// subject read access to the text of others: neither by making a directory its
// own, nor by writing where other subjects' files are read.
func TestFilesAreMadeInPlacesOfOnesOwn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	private := map[string]string{
		"proj/memory/2026-01-01.md": "- zorb one\n", "proj/memory/plan.md": "- zorb two\n", "proj/USER.md": "- zorb three\n", "proj/SOUL.md": "- zorb four\n",
		"kept/MEMORY.md": "- zorb five\n",
	}
	writeTree(t, root, private, time.Now().Add(-time.Hour))
	g := startTarget(t, root, publicDays)
	c := g.dial("s")
	write := func(subject, path, text string) (int, string) {
		return g.sendRequest(t, c, "write", object{"path": path, "text": text, "subject": subject, "context": "private"})
	}
	for _, subject := range []string{"proj", "kept", "eve"} {
		for _, path := range []string{
			"proj/MEMORY.md", "proj/memory/mine.md", "kept/memory/mine.md", "kept/memory/2026-01-01.md", "kept/memory/2026-01-01/s.md",
			"_longterms/_host.md", "_longterms/_identities.md", "MEMORY.md", "USER.md", "SOUL.md", "memory/" + testkit.DaysAgo(0) + ".md", "notes.md",
		} {
			for _, front := range []string{"subject_id: " + subject, "visibility: public_ok", "visibility: public_ok\nsubject_id: " + subject} {
				if status, body := write(subject, path, "---\n"+front+"\n---\n- mine\n"); status == http.StatusOK {
					t.Errorf("%s makes %s with %q", subject, path, front)
				} else if got := errorCode(t, body); got != "not_found" {
					t.Errorf("%s makes %s with %q: %s", subject, path, front, body)
				}
			}
		}
		body := g.mustSend(t, c, "search", object{"query": "zorb", "subject": subject, "context": "private"})
		if strings.Contains(body, "zorb ") {
			t.Errorf("%s finds %s", subject, body)
		}
	}
	for _, path := range []string{testkit.DaysAgo(0) + "/s.md", "2026-01-01/new.md"} { // shared by all subjects
		if status, body := write("proj", path, "- mine\n"); status != http.StatusForbidden {
			t.Errorf("proj makes %s: %s", path, body)
		}
	}
	for path, who := range map[string]string{
		testkit.DaysAgo(0) + "/s.md": rootOwner, "_longterms/eve/fact.md": "eve", "_longterms/kept/note.md": "kept", "notes.md": rootOwner, "new/MEMORY.md": rootOwner,
	} {
		if status, body := write(who, path, "- mine\n"); status != http.StatusOK {
			t.Errorf("%s cannot make %s: %s", who, path, body)
		}
	}
	for _, path := range []string{
		"_longterms/_identities.yaml", ".memwatchdignore", "notes.txt", "_longterms/owner/.hidden.md", ".hidden/a.md", "../out.md", "a/../b.md", "/abs.md", "a//b.md",
		"a\nb.md", "a\x00.md", "a/./b.md", "a.md/", "", "#a.md#", ".#a.md", "a.sync-conflict-20260101-120000-ABCDEFG.md", "notes.md/a.md", strings.Repeat("a", 300) + ".md",
	} {
		if status, body := write(rootOwner, path, "- mine\n"); status == http.StatusOK || errorCode(t, body) != "invalid" {
			t.Errorf("%q is made: %d %s", path, status, body)
		}
	}
}

// TestRestoreTellsNothingOfOthersFiles checks that restoring an entry whose marker names
// another subject's file reveals neither the content nor the existence of that file.
func TestRestoreTellsNothingOfOthersFiles(t *testing.T) {
	files, archived := map[string]string{}, ""
	for i, text := range []string{"", "- a\n", "- a\n<<<<<<< a\n=======\n>>>>>>> b\n", "- a\xff\n"} {
		for j, dir := range []string{"_longterms/alice/", "notes/"} {
			path := fmt.Sprintf("%s%d.md", dir, i)
			if i > 0 {
				files[path] = text
			}
			archived += fmt.Sprintf("- zorb <!-- id=k%d from=%s section=A archived=2026-01-01T00:00:00Z -->\n", 2*i+j, path)
		}
	}
	const archive = "_longterms/bob/_archive/2026-01.md"
	files[archive] = archived
	g := serveTree(t, files, nil)
	answers := map[string]bool{}
	for n := range 8 {
		id := fmt.Sprintf("%s#k%d", archive, n)
		status, body := g.sendRequest(t, g.dial("s"), "restore", object{"id": id, "subject": "bob", "context": "private"})
		path := fmt.Sprintf("%s%d.md", []string{"_longterms/alice/", "notes/"}[n%2], n/2)
		answers[strings.NewReplacer(id, "ID", path, "PATH").Replace(fmt.Sprint(status, " ", body))] = true
		if status == http.StatusOK {
			t.Errorf("%s: %s", path, body)
		}
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
}
