package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// mix lists requests that agents send at the same time, each with a unique word
// in all its text.
var mix = []struct {
	op  string
	req func(word string) fields
}{
	{"note", func(word string) fields { return fields{"text": "noted " + word, "topic": "mix"} }},
	{"capture", func(word string) fields { return fields{"bullets": []string{"captured " + word}} }},
	{"session", func(word string) fields {
		return fields{"session": "mix", "draft": fields{"facts": []fields{{"text": "said " + word}}}}
	}},
	{"session", func(word string) fields {
		return fields{"session": "mix", "draft": fields{"tasks": []fields{{"text": "do " + word}}}}
	}},
	{"item_put", func(word string) fields { return fields{"namespace": "fact", "key": "key " + word, "value": "v"} }},
	{"remember", func(word string) fields { // the title is in the summary, too
		return fields{"title": "of " + strings.TrimSuffix(word, "."), "text": "keep " + word, "explicit": true}
	}},
}

// TestMixKilled kills the daemon at any moment while agents and a person write
// to the same files. Acknowledged writes are there, nothing is duplicated, and
// no temporary files are left.
func TestMixKilled(t *testing.T) {
	t.Parallel()
	c := startChores(t, eager)
	log := "memory/" + testkit.DaysAgo(0) + ".md"
	c.write(log, "# Log\n")
	acked := map[string]string{} // word → operation that wrote it
	for round := range thorough(5, 60) {
		var mu sync.Mutex
		var all sync.WaitGroup
		dead := make(chan struct{})
		for i, m := range mix {
			all.Go(func() {
				for n := 0; ; n++ {
					word := fmt.Sprintf("q%dw%dn%d.", round, i, n)
					answer := json.RawMessage{}
					if err := c.ask(m.op, owner.with(m.req(word)), &answer); err == nil {
						mu.Lock()
						acked[word] = m.op
						mu.Unlock()
						continue
					} else if !strings.Contains(err.Error(), `"busy"`) { // caused by the person's saves
						if strings.HasPrefix(err.Error(), m.op+" ") && !strings.Contains(err.Error(), `"unavailable"`) {
							t.Errorf("%v", err)
						}
						return
					}
				}
			})
		}
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-dead:
					return
				case <-time.After(time.Millisecond):
				}
				word := fmt.Sprintf("q%dpn%d.", round, n)
				f, err := os.OpenFile(c.path(log), os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString("- typed " + word + "\n")
					f.Close()
				}
				if err == nil {
					mu.Lock()
					acked[word] = "a person"
					mu.Unlock()
				}
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
		time.Sleep(50*time.Millisecond + rand.N(500*time.Millisecond))
		c.kill()
		close(dead)
		all.Wait()
		c.start()
		c.sync()
		c.wantSettled()
		c.wantMix(acked)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d were acknowledged", len(acked))
}

var (
	mixWord = regexp.MustCompile(`q\d+(?:w\d+|p)n\d+\.`)
	mixID   = regexp.MustCompile(`<!-- id=(\w+)`)
)

// wantMix checks that each acknowledged word is in the files once and other
// words at most once, and that no section of a session's file and no id is
// duplicated.
func (c *chores) wantMix(acked map[string]string) {
	c.t.Helper()
	count := map[string]int{}
	err := filepath.WalkDir(c.root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range mixWord.FindAllString(string(data), -1) {
			count[word]++
		}
		seen := map[string]bool{}
		for _, id := range mixID.FindAllString(string(data), -1) {
			if seen[id] {
				c.t.Errorf("%s has %s twice", path, id)
			}
			seen[id] = true
		}
		for line := range strings.Lines(string(data)) {
			if heading := strings.TrimSpace(line); strings.HasSuffix(path, "mix.md") && strings.HasPrefix(heading, "#") {
				if seen[heading] {
					c.t.Errorf("%s has %q twice", path, heading)
				}
				seen[heading] = true
			}
		}
		return err
	})
	testkit.Must(c.t, err)
	for word, by := range acked {
		if count[word] != 1 {
			c.t.Errorf("%s of %s is there %d times", word, by, count[word])
		}
	}
	for word, n := range count {
		if n > 1 && acked[word] == "" {
			c.t.Errorf("%s is there %d times", word, n)
		}
	}
}
