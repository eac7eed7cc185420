package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// A spool is a private directory of requests that the daemon did not accept,
// because it was not running or did not answer in time. Each is a file; their
// names are in the order of the requests. A later hook delivers them.
type spool struct{ dir string }

const (
	spoolSuffix    = ".json"
	maxSpooled     = 1000               // requests in a spool
	maxSpooledSize = 1 << 20            // bytes of a request
	maxFailed      = 3                  // failed requests in one delivery, so that time remains for a new request
	maxAge         = 7 * 24 * time.Hour // of the reports of reportOnce, and of incomplete requests
	lockName       = "lock"
	lockRetry      = 5 * time.Millisecond
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

// add appends a request. The file appears complete or not at all.
func (s spool) add(r spooled) error {
	if r.Session == "" {
		r.Session = "hook-" + rand.Text()[:8] // the daemon recognizes a capture that is delivered twice by its session
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	names, err := s.names()
	if err != nil {
		return err
	}
	if len(names) >= maxSpooled {
		return fmt.Errorf("%d requests wait for the daemon: start it", len(names))
	}
	removeOld(s.dir) // incomplete requests
	name := s.newPath()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(name, name+spoolSuffix)
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}

// newPath returns a path, without spoolSuffix, for the last request of the spool.
func (s spool) newPath() string {
	return filepath.Join(s.dir, fmt.Sprintf("%020d-%s", time.Now().UnixNano(), rand.Text()[:8]))
}

// names returns the names of the captures, in order.
func (s spool) names() (names []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), spoolSuffix) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// deliver sends the requests in order and removes each one when send returns. If
// the daemon answers a request with an error, or the request cannot be read, deliver
// adds the error to failed and moves the request behind the others; it does so
// maxFailed times. An error that affects all requests stops it. Only one process
// delivers at a time; the others wait for it until the context ends.
func (s spool) deliver(ctx context.Context, send func(spooled) error) (failed []error, err error) {
	names, err := s.names()
	if err != nil {
		return []error{err}, nil
	}
	if len(names) == 0 {
		return nil, nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return []error{err}, ctx.Err()
	}
	defer unlock()
	names, err = s.names()
	if err != nil {
		return []error{err}, nil
	}
	for _, name := range names {
		path := filepath.Join(s.dir, name)
		r, err := readSpooled(path)
		if err == nil {
			err = send(r)
			if stopsDelivery(err) {
				return failed, err
			}
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err == nil {
			continue
		}
		os.Rename(path, s.newPath()+spoolSuffix) // fails for a damaged request, which has another name
		failed = append(failed, err)
		if len(failed) == maxFailed {
			break
		}
	}
	return failed, nil
}

// readSpooled reads a capture. It renames a damaged one, so that the following
// ones can be delivered.
func readSpooled(path string) (r spooled, err error) {
	f, info, err := config.OpenFile(path, syscall.O_NOFOLLOW)
	if err != nil {
		return r, err
	}
	defer f.Close()
	if info.Size() <= maxSpooledSize {
		err = json.NewDecoder(f).Decode(&r)
	}
	if err != nil || info.Size() > maxSpooledSize {
		damaged := strings.TrimSuffix(path, spoolSuffix) + ".damaged"
		return r, cmp.Or(os.Rename(path, damaged), fmt.Errorf("%s cannot be read", damaged))
	}
	return r, nil
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
	dir := filepath.Join(s.dir, "reported")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return true
	}
	sum := sha256.Sum256([]byte(key))
	f, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(sum[:8])), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return !errors.Is(err, fs.ErrExist)
	}
	f.Close()
	removeOld(dir)
	return true
}

// removeOld removes the files without an extension that are older than maxAge. It
// keeps the lock.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != "" || e.Name() == lockName {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > maxAge {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// isAway reports whether an error means that the daemon is not running, does not
// answer, serves another memory or is temporarily unable to execute the request. The
// same request can succeed later.
func isAway(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return stopsDelivery(err) || ok && e.Code == api.Unavailable
}

// stopsDelivery reports whether an error means that other requests fail now, too.
// [api.Unavailable] can concern a single request, such as one for an excluded file.
func stopsDelivery(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return err != nil && (!ok || slices.Contains([]api.Code{api.Busy, api.RateLimited, api.Misdirected}, e.Code))
}
