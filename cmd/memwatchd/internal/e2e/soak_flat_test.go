package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// figures are measurements of the daemon, by name.
type figures map[string]float64

// bounds limit the growth of a figure from the first third of the time to the
// last: by a fraction of the figure, and by an amount for fluctuation. A leak
// with every save, or of one percent in a minute, exceeds the limit in the end.
// At rest, a figure grows at most by rest from before to after.
var bounds = []struct {
	name             string
	part, more, rest float64
}{
	{name: "anonymous MiB", part: 0.2, more: 10, rest: 40},
	{name: "descriptors", more: 12, rest: 1},
	{name: "segments", part: 0.5, more: 20, rest: 20}, // each tier of sizes has up to ten
	{name: "watches of nothing", more: 10},
	{name: "files", part: 0.5, more: 22, rest: 21}, // of the index, and counts of use
}

// sample measures the daemon, as far as possible from outside.
func (s *soak) sample() (figures, error) {
	status, err := s.status()
	if err != nil {
		return nil, err
	}
	f := figures{}
	for _, dir := range []string{"cache", "state"} {
		filepath.WalkDir(filepath.Join(filepath.Dir(s.config), dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "journal" {
				return fs.SkipDir // the journal keeps every change as long as it can be undone
			}
			if err == nil && !d.IsDir() {
				f["files"]++
			}
			return nil
		})
	}
	dir := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		return f, nil // not on this system
	}
	f["anonymous MiB"] = float64(s.kilobytes("RssAnon")) / (1 << 10)
	f["watches of nothing"] = -float64(status.Watch.Directories)
	for _, fd := range fds {
		target, _ := os.Readlink(dir + "fd/" + fd.Name())
		switch {
		case target == "": // it was closed
		case strings.Contains(target, ".zap"):
			f["segments"]++
		case strings.Contains(target, "inotify"):
			info, _ := os.ReadFile(dir + "fdinfo/" + fd.Name())
			f["watches of nothing"] += float64(bytes.Count(info, []byte("inotify wd:")))
		default:
			f["descriptors"]++
		}
	}
	return f, nil
}

// quiet waits until the daemon has released its temporary resources: until no
// figure has fallen for some time. It returns the lowest figures.
func (s *soak) quiet() figures {
	s.t.Helper()
	s.sync()
	least, steady := figures{}, 0
	s.until("the daemon is quiet", func() bool {
		one, err := s.sample()
		if err != nil {
			s.t.Fatal(err)
		}
		steady++
		for name, value := range one {
			if was, ok := least[name]; !ok || value < was {
				least[name] = value
				if name == "descriptors" || name == "files" {
					steady = 0
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
		return steady >= 30
	})
	return least
}

// flat checks that the daemon's resources do not grow: from before to after at rest,
// and, if it lasts long enough, from the first third of the time to the last.
func (s *soak) flat(before figures, samples []figures, after figures) {
	s.t.Helper()
	samples = samples[len(samples)/5:]
	third := len(samples) / 3
	for _, b := range bounds {
		if b.name == "anonymous MiB" && raced() {
			continue
		}
		if was, is := before[b.name], after[b.name]; is > was*(1+b.part)+b.rest {
			s.t.Errorf("%s: %.0f at rest before, %.0f at rest after", b.name, was, is)
		}
		if s.length < 5*time.Minute {
			continue
		}
		was, is := middle(samples[:third], b.name), middle(samples[len(samples)-third:], b.name)
		if limit := was*(1+b.part) + b.more; is > limit {
			s.t.Errorf("%s: %.1f in the first third of the time, %.1f in the last, at most %.1f is well", b.name, was, is, limit)
		}
	}
}

// middle returns the median of a figure, which ignores fluctuation.
func middle(samples []figures, name string) float64 {
	var values []float64
	for _, one := range samples {
		values = append(values, one[name])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
