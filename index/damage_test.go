package index

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestPanics checks that a guest whose searches panic again and again does not affect the
// searches of the owner, except for one refill if the cause may be damage, and that no
// text is in the log.
func TestPanics(t *testing.T) {
	const secret = "the door code"
	guest := contextView(t, memory.Public)
	hold := func(s *mapSource, fail func()) {
		s.hold = func(path string) {
			if path == "fails.md" {
				fail()
			}
		}
	}
	find := func(x *Index) (Result, error) {
		return x.Search(t.Context(), guest, Query{Text: "zebra", Limit: 9})
	}
	browse := func(fail func()) func(x *Index) (Result, error) {
		return func(x *Index) (res Result, err error) {
			err = x.look(t.Context(), guest, &Query{}, func(*search, *builder) { fail() })
			return res, err
		}
	}
	var none *roaring.Bitmap
	for name, c := range map[string]struct {
		hold    func()
		ask     func(x *Index) (Result, error)
		damages bool
	}{
		"reading a file":     {hold: func() { panic(secret) }, ask: find},
		"a nil pointer":      {hold: func() { _ = *(*int)(nil) }, ask: find},
		"a query":            {ask: browse(func() { panic(errors.New(secret)) })},
		"an index of a list": {ask: browse(func() { _ = []byte(secret)[len(t.Name()+secret)] })},
		"the store":          {ask: browse(func() { none.Contains(7) }), damages: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &mapSource{text: map[string]string{"a.md": "- red\n", "fails.md": "---\nvisibility: public_ok\n---\n- zebra\n"}}
			var log bytes.Buffer
			x, lost := s.openLosing(t, t.TempDir())
			s.confirmComplete(t, x)
			x.opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if c.damages {
				c.ask(x)
				<-lost
				s.confirmComplete(t, x)
			}
			if c.hold != nil {
				hold(s, c.hold)
			}
			for range 5 {
				_, err := c.ask(x)
				if _, coded := errors.AsType[*api.Error](err); err == nil || coded {
					t.Errorf("the error is %v", err)
				}
				res := x.mustSearch(t, ownerView(t), Query{Text: "red"})
				if len(res.Hits) != 1 || res.Degraded {
					t.Errorf("the owner finds %+v", res)
				}
			}
			if st := x.Status(); (st.Problem != "") != c.damages || st.Degraded {
				t.Errorf("%+v", st)
			}
			if strings.Contains(log.String()+fmt.Sprint(x.Status()), secret) {
				t.Errorf("text is in the log:\n%s", &log)
			}
		})
	}
}

// TestDamagedAgain checks that searches without the store, because it is damaged again soon
// after a refill, read the readable files.
func TestDamagedAgain(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n", "b.md": "---\nvisibility: public_ok\n---\n- red and blue\n"}}
	x, lost := s.openLosing(t, t.TempDir())
	for n := range 2 {
		s.confirmComplete(t, x)
		names, _ := filepath.Glob(filepath.Join(x.dir, "store", "*.zap"))
		for _, name := range names {
			must(t, os.Truncate(name, 0))
		}
		found := len(x.mustSearch(t, ownerView(t), Query{Text: "red"}).Hits)
		if n == 0 {
			<-lost
		} else if st := x.Status(); found != 2 || st.Problem == "" {
			t.Errorf("found %d, %+v", found, st)
		}
	}
	res := x.mustSearch(t, contextView(t, memory.Public), Query{Text: "red"})
	if got := placesOf(res); len(got) != 1 || !res.Degraded {
		t.Errorf("a guest finds %v, %+v", got, res)
	}
	x.mu.Lock()
	clear(x.refills)
	x.mu.Unlock()
	x.mustSearch(t, ownerView(t), Query{Text: "red"})
	<-lost
	s.confirmComplete(t, x)
	wantHits(t, x, Query{Text: "red"}, "a.md:1", "b.md:4")
}
