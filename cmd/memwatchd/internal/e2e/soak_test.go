package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A soak is one daemon under concurrent load for a long time: people, agents
// and tools save, move and delete files, clients send requests, read slowly and
// disconnect, and an operator rebuilds and reloads.
//
// In the end files and index agree, and the daemon uses no more
// resources than before.
type soak struct {
	*live
	length time.Duration
	files  int // in each of the larger directories
	seed   uint64

	words   atomic.Int64 // number of words created, each for one entry only
	saves   atomic.Int64
	asked   atomic.Int64
	again   atomic.Int64 // requests that were repeated because the daemon restarted
	reloads atomic.Int64
}

// An actor repeats one action. It writes to directories that no other actor
// writes to.
type actor struct {
	name    string
	pause   time.Duration // between actions, on average
	prepare func() error  // before the daemon starts
	act     func(context.Context) error
	end     func() error // when the time is over
}

// soakLength returns the length of the soak, which SOAK sets, such as 1h.
func soakLength(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("SOAK"); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SOAK: %v", err)
		}
		return length
	}
	if testing.Short() {
		return 5 * time.Second
	}
	return 30 * time.Second
}

func TestRaceSoak(t *testing.T) {
	t.Parallel()
	s := &soak{live: newLive(t, t.TempDir(), ""), length: soakLength(t), files: 20, seed: rand.Uint64()}
	if s.length >= 5*time.Minute {
		s.files = 400
	}
	s.configureSoak()
	actors := append(s.writers(), s.askers()...)
	for _, a := range actors {
		if a.prepare == nil {
			continue
		}
		if err := a.prepare(); err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
	}
	s.start()
	s.sync()
	s.wantAgreement()
	before := s.quiet()
	samples := s.run(actors)
	t.Logf("in %s %d saves, %d questions (%d asked again), %d reloads; %d words were made; seed %d",
		s.length, s.saves.Load(), s.asked.Load(), s.again.Load(), s.reloads.Load(), s.words.Load(), s.seed)
	if t.Failed() {
		return
	}
	s.sync()
	s.wantAgreement()
	s.flat(before, samples, s.quiet())
	if err := s.stop(); err != nil {
		t.Fatalf("the daemon ended with: %v", err)
	}
	s.start()
	s.sync()
	s.wantAgreement()
}

// run runs the actors until the time is over, and samples the daemon.
func (s *soak) run(actors []*actor) (samples []figures) {
	ctx, cancel := context.WithTimeout(context.Background(), s.length)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for i, a := range actors {
		random := s.random(100 + i)
		group.Go(func() error {
			for ctx.Err() == nil {
				if err := a.act(ctx); err != nil && ctx.Err() == nil {
					return fmt.Errorf("%s: %w", a.name, err)
				}
				wait(ctx, time.Duration(float64(a.pause)*2*random.Float64()))
			}
			if a.end == nil {
				return nil
			}
			return a.end()
		})
	}
	group.Go(func() error {
		for wait(ctx, min(max(s.length/100, 200*time.Millisecond), 5*time.Second)) {
			if one, err := s.sample(); err == nil {
				samples = append(samples, one)
			} else if ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		s.t.Error(err)
	}
	return samples
}

// random returns an actor's own random source, so that its actions can be
// repeated.
func (s *soak) random(n int) *rand.Rand { return rand.New(rand.NewPCG(s.seed, uint64(n))) }

// wait reports whether d passed before the context ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// word returns a new, unique word.
func (s *soak) word() string { return letters(int(s.words.Add(1))) }

// fixed returns the path of a socket that sees public text and an account's.
func (s *soak) fixed() string { return filepath.Join(filepath.Dir(s.socket), "f") }

// configureSoak writes one of two versions of the configuration, so that a
// reload has an effect. It replaces the file, because commands read it meanwhile.
func (s *soak) configureSoak() error {
	text := fmt.Sprintf(`memory: {dir: %q, timezone: %s, users: [alice]}
visibility: {daily: public_ok, sessions: public_ok}
ipc:
  listeners:
    - path: %q
    - {path: %q, subject: "acct:42", context: public}
  max_connections: 64
watch: {reconcile: 5s, settle: %dms}
write: {quiet: 1s}
`, s.root, testkit.Zone, s.socket, s.fixed(), 30+10*(s.reloads.Load()%2))
	if err := os.WriteFile(s.config+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(s.config+".new", s.config)
}

// reload makes the daemon reload its configuration.
func (s *soak) reload() error {
	s.reloads.Add(1)
	if err := s.configureSoak(); err != nil {
		return err
	}
	return s.cmd.Process.Signal(syscall.SIGHUP)
}
