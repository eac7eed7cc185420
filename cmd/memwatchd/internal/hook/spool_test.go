package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// capture returns the requests of a hook with one capture.
func capture(text string) []spooled {
	return []spooled{{CaptureRequest: api.CaptureRequest{Bullets: []string{text}}}}
}

// TestSpool checks that captures are delivered in order, each by one of several
// processes, and that an undelivered one stays the first.
func TestSpool(t *testing.T) {
	s := spool{filepath.Join(t.TempDir(), "spool")}
	var want []string
	for i := range 20 {
		text := strconv.Itoa(i)
		want = append(want, text)
		testkit.Must(t, s.add(capture(text)))
	}
	away := errors.New("away")
	if failed, err := s.deliver(t.Context(), func(spooled) error { return away }); failed != nil || !errors.Is(err, away) {
		t.Errorf("deliver returns %v, %v", failed, err)
	}
	names, err := s.files()
	if err != nil || len(names) != len(want) {
		t.Fatalf("%d captures remain, want %d; %v", len(names), len(want), err)
	}
	var mu sync.Mutex
	var got []string
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			failed, err := s.deliver(t.Context(), func(r spooled) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, r.Bullets...)
				return nil
			})
			if failed != nil || err != nil {
				t.Error(failed, err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
}

// TestSpoolFailed checks that requests that the daemon cannot execute do not block
// others, which are delivered after at most two calls here.
func TestSpoolFailed(t *testing.T) {
	for _, c := range []struct {
		code  api.Code
		stops bool
	}{
		{api.Unavailable, false},
		{api.Busy, true},
		{api.RateLimited, true},
		{api.Misdirected, true},
	} {
		s := spool{filepath.Join(t.TempDir(), "spool")}
		for _, text := range []string{"bad", "one", "bad", "bad", "bad", "two"} {
			testkit.Must(t, s.add(capture(text)))
		}
		var got []string
		for range 2 {
			_, err := s.deliver(t.Context(), func(r spooled) error {
				if r.Bullets[0] == "bad" {
					return api.Errorf(c.code, "excluded")
				}
				got = append(got, r.Bullets...)
				return nil
			})
			if (err != nil) != c.stops {
				t.Errorf("%s: deliver returns %v", c.code, err)
			}
		}
		want := []string{"one", "two"}
		if c.stops {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: delivered (-want +got):\n%s", c.code, diff)
		}
		if names, err := s.files(); err != nil || len(names)+len(got) != 6 {
			t.Errorf("%s: %d requests remain after %q; %v", c.code, len(names), got, err)
		}
	}
}

// TestSpoolWaits checks that a process does not deliver while another one does.
func TestSpoolWaits(t *testing.T) {
	s := spool{t.TempDir()}
	testkit.Must(t, s.add(capture("one")))
	unlock, err := s.lock(t.Context())
	testkit.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	send := func(spooled) error { t.Error("delivered"); return nil }
	if _, err := s.deliver(ctx, send); !errors.Is(err, context.Canceled) {
		t.Errorf("deliver returns %v", err)
	}
	unlock()
	if !s.reportOnce("a") || s.reportOnce("a") || !s.reportOnce("b") {
		t.Error("a session is not reported once")
	}
}

// TestSpoolRoots checks that requests for one memory directory are not delivered to
// another one.
func TestSpoolRoots(t *testing.T) {
	state := xdg.StateHome
	t.Cleanup(func() { xdg.StateHome = state })
	socket := filepath.Join(t.TempDir(), "absent")
	for _, c := range []struct {
		kept, root string
		sends      bool
	}{
		{"/a", "/a", true},
		{"/a", "/b", false},
		{"/a", "", false},
		{"", "/b", false},
		{"", "", true},
	} {
		xdg.StateHome = t.TempDir()
		kept := spoolOf(&client.Client{Socket: socket, Root: c.kept})
		testkit.Must(t, kept.add(capture("one")))
		h := &hook{client: &client.Client{Socket: socket, Root: c.root}}
		if err := h.deliverSpool(t.Context()); errors.Is(err, client.ErrNoDaemon) != c.sends {
			t.Errorf("kept for %q: a hook for %q returns %v", c.kept, c.root, err)
		}
	}
}

// TestSpoolDamaged checks that a damaged file is kept and blocks no others.
func TestSpoolDamaged(t *testing.T) {
	s := spool{t.TempDir()}
	testkit.Must(t, os.WriteFile(filepath.Join(s.dir, "01-A.json"), []byte(`[{"bullets": ["lo`), 0o600))
	testkit.Must(t, s.add(capture("one")))
	got := ""
	failed, err := s.deliver(t.Context(), func(r spooled) error { got += r.Bullets[0]; return nil })
	kept, _ := os.ReadFile(filepath.Join(s.dir, "01-A.json.unused"))
	if err != nil || failed == nil || got != "one" || len(kept) == 0 {
		t.Errorf("deliver returns %v, %v and delivers %q", failed, err, got)
	}
}
