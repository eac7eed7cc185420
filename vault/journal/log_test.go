package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPowerFailure checks that changes that Begin has confirmed are in the journal if the
// disk has lost the files that were never synced, wherever the log of recent changes ends.
func TestPowerFailure(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir, 0)
	must(t, err)
	var changes []Record
	var ends []int64 // of the log once a change was confirmed
	begin := func(before, after string) {
		t.Helper()
		changes, ends = append(changes, j.mustBegin(t, changeOf("a.md", before, after))), append(ends, j.log.size)
	}
	begin("one\n", "one\ntwo\n")
	must(t, j.Done(changes[0].ID))
	begin("one\ntwo\n", "one\ntwo\nthree\n")
	begin("one\ntwo\nthree\n", "four\n")
	must(t, j.Abandon(changes[2].ID))
	log, err := os.ReadFile(filepath.Join(dir, logName))
	must(t, err)
	for end := range len(log) + 1 {
		lost := t.TempDir()
		must(t, os.WriteFile(filepath.Join(lost, logName), log[:end], 0o600))
		for range 2 { // the second start reads the files
			again, err := Open(lost, 0)
			if err != nil || len(again.Problems()) > 0 {
				t.Fatalf("%d bytes: %v, %v", end, err, again.Problems())
			}
			for i, r := range changes {
				n, ok := again.findRecord(r.ID)
				if confirmed := int64(end) >= ends[i]; ok != confirmed && (i < 2 || end < len(log)) {
					t.Fatalf("%d bytes: change %d is in the journal: %t, confirmed: %t", end, i, ok, confirmed)
				}
				if !ok {
					continue
				}
				before, after, err := again.Contents(again.records[n])
				if err != nil || Digest(before) != r.Before || Digest(after) != r.After {
					t.Fatalf("%d bytes: change %d: %q, %q, %v", end, i, before, after, err)
				}
			}
		}
	}
	// The disk has the new name of a complete record, with or without its content.
	for _, kept := range []bool{false, true} {
		lost, name := t.TempDir(), changes[0].ID+doneSuffix
		must(t, os.WriteFile(filepath.Join(lost, logName), log[:ends[0]], 0o600))
		var text []byte
		if kept {
			text, err = os.ReadFile(filepath.Join(dir, name))
			must(t, err)
		}
		must(t, os.WriteFile(filepath.Join(lost, name), text, 0o600))
		again, err := Open(lost, 0)
		if err != nil || len(again.Problems()) > 0 || len(again.records) != 1 || (len(again.Pending()) == 0) != kept {
			t.Errorf("kept %t: %v, %v, %+v", kept, err, again.Problems(), again.records)
		}
	}
	again, err := Open(dir, 0)
	if err != nil || len(again.Pending()) != 1 || len(again.List(time.Time{}, "", 0)) != 1 {
		t.Errorf("%v, %v", again.Pending(), err)
	}
	if left, err := os.ReadFile(filepath.Join(dir, logName)); err != nil || !bytes.Equal(left, nil) {
		t.Errorf("the log has %d bytes after the start, %v", len(left), err)
	}
}

// TestLogTwoErrors checks that the log has later entries after two errors of the disk: a flush
// that failed once it had emptied the file, and then a write that failed halfway.
func TestLogTwoErrors(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir, 0)
	must(t, err)
	j.mustBegin(t, changeOf("a.md", "one\n", "two\n"))
	must(t, os.Truncate(j.log.path(), 0))
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 20, Max: was.Max}))
	_, err = j.Begin(changeOf("a.md", "two\n", "three\n"))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
	if err == nil {
		t.Fatal("the write did not fail")
	}
	r := j.mustBegin(t, changeOf("a.md", "two\n", "four\n"))
	lost := t.TempDir()
	log, err := os.ReadFile(j.log.path())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(lost, logName), log, 0o600))
	again, err := Open(lost, 0)
	must(t, err)
	if p := again.Pending(); len(p) != 1 || p[0].ID != r.ID {
		t.Errorf("after a power failure: %+v", p)
	}
}
