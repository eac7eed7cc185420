package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// needLeases skips a test on systems without leases.
func needLeases(t *testing.T, v *Vault) {
	t.Helper()
	probe := v.name("../probe")
	must(t, os.WriteFile(probe, nil, 0o600))
	f, err := os.Open(probe)
	must(t, err)
	defer f.Close()
	l, err := takeLease(int(f.Fd()), time.Minute)
	if err != nil {
		t.Skipf("no leases here: %v", err)
	}
	l.release()
}

// sizedText returns a text that shows whether it is complete.
func sizedText(n, size int) []byte {
	head := fmt.Sprintf("%d %d\n", n, size)
	return append([]byte(head), bytes.Repeat([]byte{'a' + byte(n%26)}, size-len(head))...)
}

func isCompleteText(data []byte) bool {
	var n, size int
	if _, err := fmt.Sscanf(string(data[:min(len(data), 40)]), "%d %d\n", &n, &size); err != nil {
		return false
	}
	return len(data) == size && bytes.Equal(data, sizedText(n, size))
}

// TestNeverHalfWritten checks that, for each way to save, Read returns a
// complete version, sets Unstable, or returns ErrChanging.
func TestNeverHalfWritten(t *testing.T) {
	inPlace := func(name string, data []byte) error { return os.WriteFile(name, data, 0o600) }
	ways := []struct {
		name string
		size int
		save func(name string, data []byte) error
	}{
		{"small", 4 << 10, inPlace},
		{"middling", 64 << 10, inPlace},
		{"large", 1<<20 - 64, inPlace},
		{"in pieces", 4 << 10, func(name string, data []byte) error {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
			for piece := range slices.Chunk(data, 1000) {
				err = errors.Join(err, second(f.Write(piece)))
				time.Sleep(time.Millisecond)
			}
			return errors.Join(err, f.Close())
		}},
		{"moved away first", 4 << 10, func(name string, data []byte) error {
			return errors.Join(os.Rename(name, name+"~"), os.WriteFile(name, data, 0o600))
		}},
		{"renamed over", 64 << 10, func(name string, data []byte) error {
			return errors.Join(os.WriteFile(name+".tmp", data, 0o600), os.Rename(name+".tmp", name))
		}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			v := newVault(t, nil)
			needLeases(t, v)
			name := v.name("x.md")
			must(t, os.WriteFile(name, sizedText(0, way.size), 0o600))
			var stop atomic.Bool
			var saver sync.WaitGroup
			saver.Go(func() {
				for n := 1; !stop.Load(); n++ {
					if err := way.save(name, sizedText(n, way.size)); err != nil {
						t.Error(err)
						return
					}
				}
			})
			const reads = 60
			good, halves := 0, 0
			for deadline := time.Now().Add(time.Minute); good < reads && time.Now().Before(deadline); {
				f, err := v.Read("x.md")
				switch {
				case errors.Is(err, fs.ErrNotExist) && way.name == "moved away first", errors.Is(err, ErrChanging):
				case err != nil:
					t.Fatal(err)
				case f.Unstable:
					halves++
				case !isCompleteText(f.Data):
					t.Fatalf("read %d bytes that are not a version, as if they were", len(f.Data))
				default:
					good++
				}
			}
			stop.Store(true)
			saver.Wait()
			if good < reads {
				t.Errorf("only %d whole versions were read, %d unsettled ones", good, halves)
			}
		})
	}
}

func TestWriting(t *testing.T) {
	v := newVault(t, map[string]string{"x.md": "text", "large.md": strings.Repeat("x", leaseLimit+1)})
	needLeases(t, v)
	for _, path := range []string{"x.md", "large.md"} {
		want := func(who string, want bool) {
			t.Helper()
			writing, _ := v.Writing(path)
			f, err := v.Read(path)
			if writing != want || err != nil || f.Unstable != want || len(f.Data) == 0 {
				t.Errorf("%s of %s: writing %t, read %d bytes, unstable %t, %v", who, path, writing, len(f.Data), f.Unstable, err)
			}
		}
		want("no user", false)
		r, err := os.Open(v.name(path))
		must(t, err)
		want("a reader", false)
		must(t, r.Close())
		w := openToAppend(t, v, path)
		want("a writer", true)
		must(t, w.Close())
		want("no user", false)
	}
}

// TestLeaseIsBounded checks that a lease ends in time and that release then
// reports the interruption.
func TestLeaseIsBounded(t *testing.T) {
	v := newVault(t, map[string]string{"x.md": "text"})
	needLeases(t, v)
	name := v.name("x.md")
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	l, err := takeLease(int(f.Fd()), 20*time.Millisecond)
	must(t, err)
	w, err := os.OpenFile(name, os.O_WRONLY, 0) // blocks while the lease is held
	must(t, err)
	must(t, w.Close())
	if l.release() {
		t.Error("a lease that was broken says that it was held")
	}
	l, err = takeLease(int(f.Fd()), time.Minute)
	must(t, err)
	for range 2 {
		if !l.release() {
			t.Error("a lease that was held says that it was not")
		}
	}
}

// TestEmptyFile checks that a file that was emptied in the last two seconds returns
// ErrChanging, unless no program can be writing it.
func TestEmptyFile(t *testing.T) {
	v := newVault(t, map[string]string{"x.md": ""})
	needLeases(t, v)
	if f, err := v.Read("x.md"); err != nil || len(f.Data) != 0 || f.Unstable {
		t.Errorf("an empty file that nobody writes: %+v, %v", f, err)
	}
	name, w := v.name("x.md"), openToAppend(t, v, "x.md")
	for age, changing := range map[time.Duration]bool{0: true, emptyDelay + time.Minute: false, -time.Second: true, -time.Hour: false} {
		must(t, os.Chtimes(name, time.Time{}, time.Now().Add(-age)))
		if f, err := v.Read("x.md"); errors.Is(err, ErrChanging) != changing || !changing && (err != nil || !f.Unstable) || Absent(err) {
			t.Errorf("emptied %v ago: %+v, %v", age, f, err)
		}
	}
	must(t, second(w.WriteString("text")))
	if f, err := v.Read("x.md"); err != nil || string(f.Data) != "text" {
		t.Errorf("written: %q, %v", f.Data, err)
	}
}

func TestReadAllStopsAtLimit(t *testing.T) {
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Skipf("no file without end here: %v", err)
	}
	defer f.Close()
	if data, err := readAll(int(f.Fd()), 10, 1000); !errors.Is(err, ErrTooLarge) || data != nil {
		t.Errorf("read %d bytes, %v, want ErrTooLarge", len(data), err)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; run as an ordinary user")
	}
	v := newVault(t, map[string]string{"x.md": "text", "d/y.md": "text", "z.md": "text"})
	must(t, os.Chmod(v.name("x.md"), 0))
	must(t, os.Chmod(v.name("d"), 0))
	t.Cleanup(func() { os.Chmod(v.name("d"), 0o700) })
	for _, path := range []string{"x.md", "d/y.md"} {
		if _, err := v.Read(path); !errors.Is(err, fs.ErrPermission) || Absent(err) {
			t.Errorf("read of %s: %v, want permission denied", path, err)
		}
	}
	tree, err := v.Walk(t.Context(), "", nil)
	must(t, err)
	got := fmt.Sprint(paths(tree.Files), tree.Skipped)
	if want := "[x.md z.md] [{d permission denied true}]"; got != want {
		t.Errorf("walk saw %s, want %s", got, want)
	}
}
