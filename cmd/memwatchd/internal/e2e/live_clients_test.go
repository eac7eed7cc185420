package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEndlessRequest checks that an endless request is neither read to its end
// nor kept in memory.
func TestEndlessRequest(t *testing.T) {
	t.Parallel()
	size := 64 << 20
	if os.Getenv("FAULTS") != "" {
		size = 1 << 30
	}
	l := startLive(t, t.TempDir(), "")
	l.write("a.md", "- quince\n")
	l.sync()
	before := l.peak()
	for name, beginning := range map[string]string{
		"a body":   fmt.Sprintf("POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: %d\r\n\r\n", size) + `{"query":"`,
		"a header": "POST /v1/search HTTP/1.1\r\nHost: m\r\nX-Long: ",
		"a line":   "",
	} {
		c, err := net.Dial("unix", l.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var answer strings.Builder
		var reader sync.WaitGroup
		reader.Go(func() {
			line, _ := bufio.NewReader(c).ReadString('\n')
			answer.WriteString(line)
		})
		c.SetDeadline(time.Now().Add(time.Minute))
		sent, err := io.WriteString(c, beginning)
		for chunk := strings.Repeat("x", 1<<20); err == nil && sent < size; {
			n := 0
			n, err = io.WriteString(c, chunk)
			sent += n
		}
		if os.IsTimeout(err) {
			t.Errorf("%s without end: it is neither taken nor refused", name)
		}
		if limit := 16 << 20; sent > limit {
			t.Errorf("%s without end: %d MiB are taken", name, sent>>20)
		}
		if a := l.search(owner, "quince", nil); a.Total != 1 {
			t.Errorf("%s without end: another question is answered with %+v", name, a)
		}
		c.Close()
		reader.Wait()
		t.Logf("%s without end: %d KiB are taken, the answer is %q", name, sent>>10, strings.TrimSpace(answer.String()))
	}
	if held := l.peak() - before; held > 64 && !raced() {
		t.Errorf("%d MiB were held for it", held)
	}
}

// TestRaceBesideHardQuestions checks that a simple request is answered while other
// clients send expensive ones.
func TestRaceBesideHardQuestions(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	for n := range 500 {
		l.write(fmt.Sprintf("2026-01-%02d/s%d.md", n%28+1, n), strings.Repeat(fmt.Sprintf("- tea coffee the same word%d\n", n), 20)+"- [ ] medlar\n")
	}
	l.write("2026-02-04/a.md", "- quince\n")
	l.start()
	var many strings.Builder
	for n := range 30000 {
		fmt.Fprintf(&many, "w%d tea ", n)
	}
	over := make(chan struct{})
	var clients sync.WaitGroup
	defer clients.Wait()
	defer close(over)
	for range 8 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				hard := []fields{
					{"query": many.String()}, {"query": "tea coffee the same", "limit": 100, "explain": true, "mode": "overlap", "all": true},
					{"query": "tea", "path": strings.Repeat("*a", 60) + "*x"}, {"query": strings.Repeat("茶水", 100000)},
				}[n%4]
				if err := l.ask("search", owner.with(hard), &struct{}{}); err != nil && !strings.Contains(err.Error(), `"code":"invalid"`) && !strings.Contains(err.Error(), `"code":"unavailable"`) {
					t.Errorf("a hard question: %.300v", err)
				}
			}
		})
	}
	for n := range 20 {
		l.write("2026-02-04/a.md", fmt.Sprintf("- quince %d\n", n))
		l.until("a save is found", func() bool { return l.search(owner, fmt.Sprintf(`"quince %d"`, n), nil).Total == 1 })
	}
}
