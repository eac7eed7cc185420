package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestJournalOfTenThousand checks that List does not read the files of 10,000
// records.
func TestJournalOfTenThousand(t *testing.T) {
	dir := t.TempDir()
	for i := range 10_000 {
		r := Record{Path: fmt.Sprintf("%d.md", i%100), Cause: "todo"}
		r.ID, r.Time = formatID(int64(1e9)+int64(i)), time.Unix(int64(i), 0)
		r.Group = r.ID
		data, err := r.encode()
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, r.ID+".json"), data, 0o600))
	}
	start := time.Now()
	j, err := Open(dir, 0)
	must(t, err)
	t.Logf("opened in %v", time.Since(start))
	must(t, os.RemoveAll(dir))
	if got := len(j.List(time.Time{}, "7.md", 0)); got != 100 {
		t.Errorf("%d changes of one file, want 100", got)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
