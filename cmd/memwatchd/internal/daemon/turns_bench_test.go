package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// largeDraft returns a draft that replaces 500 of the items in largeSession.
func largeDraft(round int) object {
	facts := make([]object, 500)
	for i := range facts {
		facts[i] = object{"title": fmt.Sprintf("Topic %d", i*40), "text": fmt.Sprintf("is now at version %d", round)}
	}
	return object{"facts": facts}
}

// largeSession appends n facts to the session file at name.
func largeSession(t testing.TB, name string, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- **Topic %d**: is at version zero\n", i)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(b.String()); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkNoteDuringDrafts measures the notes of one listener while four
// connections of another listener send the largest drafts without pause into a
// file of 20,000 items, and for comparison without drafts.
func BenchmarkNoteDuringDrafts(b *testing.B) {
	for _, connections := range []int{0, 4} {
		b.Run(fmt.Sprintf("%d", connections), func(b *testing.B) { benchmarkNotes(b, connections) })
	}
}

func benchmarkNotes(b *testing.B, connections int) {
	isolateHome(b)
	root := filepath.Join(b.TempDir(), "m")
	writeTree(b, root, map[string]string{"MEMORY.md": "- tea\n"}, time.Now().Add(-time.Hour))
	g := startTarget(b, root, func(c *config.Config, base string) {
		c.IPC.Listeners = append(c.IPC.Listeners, config.Listener{Path: filepath.Join(base, "drafts"), Mode: "0600",
			Subject: "acct:42", Context: "private"})
	})
	var answer struct{ Path string }
	body := g.mustSend(b, g.dial("drafts"), "session", object{"session": "s1",
		"draft": object{"summary": "large", "subject_id": "acct:42", "facts": []object{{"title": "First", "text": "fact"}}}})
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		b.Fatal(err)
	}
	largeSession(b, filepath.Join(root, answer.Path), 20_000)

	over := make(chan struct{})
	var group sync.WaitGroup
	var drafts atomic.Int64
	for n := range connections {
		c := g.dial("drafts")
		group.Go(func() {
			for round := n; ; round += connections {
				select {
				case <-over:
					return
				default:
				}
				data, _ := json.Marshal(object{"session": "s1", "draft": largeDraft(round)})
				res, err := c.Post("http://memwatchd/v1/session", "application/json", bytes.NewReader(data))
				if err != nil {
					b.Error(err)
					return
				}
				text, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					b.Errorf("draft: %d %.200s", res.StatusCode, text)
					return
				}
				drafts.Add(1)
			}
		})
	}
	owner := g.dial("s")
	time.Sleep(2 * time.Second)
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		start := time.Now()
		status, body := g.sendRequest(b, owner, "note", object{"subject": "owner", "context": "private",
			"text": fmt.Sprintf("note %d", n)})
		took = append(took, time.Since(start))
		if status != http.StatusOK {
			b.Errorf("note %d: %d %s", n, status, body)
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(over)
	group.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "max-ms")
	b.ReportMetric(float64(drafts.Load()), "drafts")
}
