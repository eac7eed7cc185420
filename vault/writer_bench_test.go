package vault

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// BenchmarkWrite measures changes of one byte in many files, from reading a
// file to its durability on disk, including the journal. It excludes the
// recheck of the old file, which happens after Write returns.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{4 << 10, 200 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			const files = 200
			v := &Vault{Dir: b.TempDir()}
			text := append([]byte("- [ ] task\n"), bytes.Repeat([]byte("- something that is remembered\n"), size/31)...)
			for i := range files {
				if err := os.WriteFile(filepath.Join(v.Dir, fmt.Sprintf("%d.md", i)), text, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			journal, err := journal.Open(filepath.Join(b.TempDir(), "journal"), 0)
			if err != nil {
				b.Fatal(err)
			}
			w := &Writer{Vault: v, Journal: journal, Quiet: -1, Logger: slog.New(slog.DiscardHandler)}
			ended := make(chan error, 1)
			go func() { ended <- w.Run(b.Context()) }()
			n := 0
			for b.Loop() {
				from, to := []byte("[ ]"), []byte("[x]")
				if n/files%2 == 1 {
					from, to = to, from
				}
				if _, err := w.Write(b.Context(), Change{Path: fmt.Sprintf("%d.md", n%files), Cause: "bench", Requested: true, Edit: func(old *File) ([]byte, error) {
					return bytes.Replace(old.Data, from, to, 1), nil
				}}); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
