package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

// A spool is a private directory of requests that the daemon has not answered. Each
// file holds the requests of one hook; the names of the files are in the order of the
// hooks. A hook writes its file first, and then delivers all files.
type spool struct{ dir string }

const (
	spoolSuffix = ".json"
	maxAge      = 7 * 24 * time.Hour // of the reports of reportOnce
	lockName    = "lock"
	lockRetry   = 5 * time.Millisecond
)

// A spooled is a request that waits for the daemon: a capture, or the draft of a
// session.
type spooled struct {
	api.CaptureRequest
	Draft *api.SessionRequest `json:"draft,omitempty"` // in place of the capture
}

// spoolOf returns the spool for requests of one caller to one daemon that serves
// one memory directory.
func spoolOf(c *client.Client) spool {
	text := func(p *string) string {
		if p == nil {
			return "-"
		}
		return "=" + *p
	}
	key := c.Socket + "\x00" + text(c.Scope.Subject) + "\x00" + text(c.Scope.Context)
	if c.Root != "" { // several directories can share the default socket
		key += "\x00" + c.Root
	}
	sum := sha256.Sum256([]byte(key))
	return spool{filepath.Join(config.SpoolDir(), hex.EncodeToString(sum[:8]))}
}

// add writes the requests of a hook to a new file, and the file to the disk.
func (s spool) add(requests []spooled) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("%020d-%s%s", time.Now().UnixNano(), rand.Text()[:8], spoolSuffix)
	return state.Save(filepath.Join(s.dir, name), requests)
}

// files returns the paths of the files, in order.
func (s spool) files() ([]string, error) { return state.Glob(s.dir, "*"+spoolSuffix) }

// waiting returns the texts in the spool, one line each and each once, the newest last.
func (s spool) waiting() (texts []string) {
	files, _ := s.files()
	seen := map[string]bool{"": true}
	for _, path := range files {
		var requests []spooled
		_ = state.Load(path, 0, &requests)
		for _, r := range requests {
			first, _, _ := strings.Cut(strings.TrimSpace(r.Text), "\n")
			for _, text := range append(r.Bullets, first) {
				text = memory.CleanLine(text)
				if !seen[text] {
					seen[text] = true
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}

// Waiting returns the number of statements in the spool for a daemon.
func Waiting(c *client.Client) int { return len(spoolOf(c).waiting()) }

// deliver sends the requests of each file in order and then removes the file. If the
// daemon answers a request with an error, the file stays, and one that cannot be read is
// renamed; failed contains the error. An error that affects all requests stops it. Only one
// process delivers at a time; the others wait for it until the context ends.
func (s spool) deliver(ctx context.Context, send func(spooled) error) (failed, err error) {
	unlock, failed := s.lock(ctx)
	switch {
	case errors.Is(failed, fs.ErrNotExist): // no hook has saved anything
		return nil, nil
	case failed != nil:
		return failed, ctx.Err()
	}
	defer unlock()
	files, failed := s.files()
	for _, path := range files {
		var requests []spooled
		err := state.Load(path, 0, &requests)
		for _, r := range requests {
			sent := send(r)
			if stopsDelivery(sent) {
				return failed, sent
			}
			err = cmp.Or(err, sent)
		}
		if err == nil {
			err = os.Remove(path)
		}
		failed = errors.Join(failed, err)
	}
	return failed, nil
}

// lock locks the spool. The lock ends with unlock, or with the process.
func (s spool) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(lockRetry):
		}
	}
}

// reportOnce reports whether this is the first call with a key, such as a
// session, of the last days.
func (s spool) reportOnce(key string) bool {
	first := !s.reported(key)
	if first {
		s.report(key)
	}
	return first
}

// reported reports whether a key was reported in the last days.
func (s spool) reported(key string) bool { return time.Since(s.reports()[key]) < maxAge }

// report records a key as reported.
func (s spool) report(key string) {
	reports := s.reports()
	maps.DeleteFunc(reports, func(_ string, at time.Time) bool { return time.Since(at) > maxAge })
	reports[key] = time.Now()
	if os.MkdirAll(s.dir, 0o700) == nil {
		_ = state.Save(s.reportsPath(), reports) // at worst, it is reported again
	}
}

func (s spool) reportsPath() string { return filepath.Join(s.dir, "reported.state") }

func (s spool) reports() map[string]time.Time {
	reports := map[string]time.Time{}
	_ = state.Load(s.reportsPath(), 0, &reports)
	return reports
}

// stopsDelivery reports whether an error means that other requests fail now, too, as
// if the daemon is not running or serves another memory. [api.Unavailable] can concern
// a single request, such as one for an excluded file.
func stopsDelivery(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return err != nil && (!ok || slices.Contains([]api.Code{api.Busy, api.RateLimited, api.Misdirected}, e.Code))
}

// canSucceed reports whether the same request can succeed later.
func canSucceed(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return stopsDelivery(err) || ok && e.Code == api.Unavailable
}
