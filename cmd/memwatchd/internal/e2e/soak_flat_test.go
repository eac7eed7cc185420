package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figures are measurements of the daemon, by name.
type figures map[string]float64

type sample struct {
	at time.Time
	figures
}

// bounds limit the growth of a figure from the first third of the time to the
// last: by a fraction of the figure, and by an amount for fluctuation. A leak
// with every save, or of one percent in a minute, exceeds the limit in the end.
var bounds = []struct {
	name       string
	part, more float64
	short      float64 // instead of more, in a short test in which caches have no time to fill
	raced      bool    // the race detector does not change it
}{
	{name: "anonymous MiB", part: 0.2, more: 10, short: 40},
	{name: "descriptors", more: 12, raced: true},
	{name: "segments", part: 0.5, more: 20, raced: true},
	{name: "watches", part: 0.1, more: 10, raced: true},
	{name: "index files", part: 0.5, more: 20, raced: true},
	{name: "index MiB", part: 0.25, more: 2, short: 4, raced: true},
	{name: "state files", more: 2, raced: true},
	{name: "state KiB", part: 0.2, more: 8, short: 40 /* eight versions of each file with tasks */, raced: true},
}

// sample measures the daemon, as far as possible from outside.
func (s *soak) sample() (sample, error) {
	c := newHTTPClient(s.socket)
	defer c.CloseIdleConnections()
	f, err := s.figures(context.Background(), c)
	if err != nil {
		return sample{}, err
	}
	if runtime.GOOS == "linux" {
		f["anonymous MiB"] = float64(s.kilobytes("RssAnon")) / (1 << 10)
		if err := s.descriptors(f); err != nil {
			return sample{}, err
		}
	}
	base := filepath.Dir(s.config)
	for prefix, dir := range map[string]string{"index": "cache", "state": "state"} {
		files, bytes := 0, int64(0)
		filepath.WalkDir(filepath.Join(base, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // deleted meanwhile
			case d.IsDir() && d.Name() == "journal":
				return fs.SkipDir // the journal keeps every change as long as it can be undone
			case d.IsDir():
				return nil
			}
			if info, err := d.Info(); err == nil {
				files, bytes = files+1, bytes+info.Size()
			}
			return nil
		})
		f[prefix+" files"] = float64(files)
		f[prefix+" MiB"], f[prefix+" KiB"] = float64(bytes)/(1<<20), float64(bytes)/(1<<10)
	}
	return sample{time.Now(), f}, nil
}

// figures returns the metrics that the daemon reports.
func (s *soak) figures(ctx context.Context, c *http.Client) (figures, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memwatchd/metrics", nil)
	if err != nil {
		return nil, err
	}
	s.asked.Add(1)
	text, status, err := do(c, r)
	if err != nil || status == http.StatusServiceUnavailable {
		s.again.Add(1)
		text, status, err = do(c, r) // the daemon restarts
	}
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("metrics: %d %w", status, err)
	}
	_, after, _ := strings.Cut(string(text), "\nmemwatchd_watched_directories ")
	value, _, _ := strings.Cut(after, "\n")
	directories, err := strconv.ParseFloat(value, 64)
	return figures{"directories": directories}, err
}

// descriptors counts the files that the daemon has open.
func (s *soak) descriptors(f figures) error {
	dir := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		return err
	}
	f["descriptors"], f["segments"], f["watches"] = 0, 0, 0
	for _, fd := range fds {
		target, err := os.Readlink(dir + "fd/" + fd.Name())
		switch {
		case err != nil:
			continue // it was closed
		case strings.Contains(target, ".zap"):
			f["segments"]++
			continue
		case strings.Contains(target, "inotify"):
			info, _ := os.ReadFile(dir + "fdinfo/" + fd.Name())
			f["watches"] += float64(bytes.Count(info, []byte("inotify wd:")))
		}
		f["descriptors"]++
	}
	f["watches of nothing"] = f["watches"] - f["directories"]
	return nil
}

// quiet waits until the daemon has released its temporary resources: until no
// figure has fallen for some time. It returns the lowest figures.
func (s *soak) quiet() sample {
	s.t.Helper()
	s.sync()
	least, steady := sample{figures: figures{}}, 0
	s.until("the daemon is quiet", func() bool {
		one, err := s.sample()
		if err != nil {
			s.t.Fatal(err)
		}
		steady++
		for name, value := range one.figures {
			if was, ok := least.figures[name]; !ok || value < was {
				least.figures[name] = value
				if name == "descriptors" || name == "index files" {
					steady = 0
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
		return steady >= 30
	})
	return least
}

// flat checks that the daemon's resources do not grow: from the beginning to
// the end, and from before to after at rest.
func (s *soak) flat(before sample, samples []sample, after sample) {
	s.t.Helper()
	switch {
	case s.length < 30*time.Second: // a third of it shows only fluctuation
	case len(samples) >= 20:
		s.level(samples[len(samples)/5:])
	case s.length >= time.Minute:
		s.t.Errorf("%d samples in %s say nothing", len(samples), s.length)
	}
	// At rest these stay the same, within the fluctuation of the runtime. Of segments, each
	// tier of sizes has up to ten.
	for name, more := range map[string]float64{"descriptors": 1, "segments": 20, "index files": 20, "watches of nothing": 0, "state files": 1 /* counts of use */} {
		if was, is := before.figures[name], after.figures[name]; is > was+more {
			s.t.Errorf("%s: %.0f at rest before, %.0f at rest after", name, was, is)
		}
	}
}

// level checks that figures do not rise from the first third of the time to the
// last.
func (s *soak) level(samples []sample) {
	s.t.Helper()
	third := len(samples) / 3
	first, last := samples[:third], samples[len(samples)-third:]
	for _, b := range bounds {
		if _, ok := samples[0].figures[b.name]; !ok || raced() && !b.raced {
			continue
		}
		more := b.more
		if s.length < 5*time.Minute {
			more = max(more, b.short)
		}
		// The median ignores fluctuation.
		was, is := middle(first, b.name), middle(last, b.name)
		if limit := was*(1+b.part) + more; is > limit {
			s.t.Errorf("%s: %.1f in the first third of the time, %.1f in the last, at most %.1f is well", b.name, was, is, limit)
		}
	}
}

func middle(samples []sample, name string) float64 {
	var values []float64
	for _, one := range samples {
		values = append(values, one.figures[name])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
