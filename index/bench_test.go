package index

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpu returns the processor time of the process, which does not depend on other processes as
// much as the time on the clock.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// benchFiles returns the files of the directory in the variable BENCH, or 4000 generated ones.
func benchFiles(b *testing.B) *mapSource {
	if dir := os.Getenv("BENCH"); dir != "" {
		return openDir(b, dir).mapSource
	}
	s := &mapSource{text: map[string]string{}}
	r := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(r, 1.1, 20, 50_000)
	for n := range 4000 {
		var text strings.Builder
		for range 10 {
			text.WriteString("-")
			for range 20 {
				text.WriteString(" " + wordNo(words.Uint64()))
			}
			text.WriteString("\n")
		}
		s.text[fmt.Sprintf("%d/%04d.md", n%7, n)] = text.String()
	}
	return s
}

// BenchmarkBuild and BenchmarkSearch report the processor time, because the time on the clock
// depends on the machine. To compare two commits, build a program of each with go test -c,
// and run them in turn with -test.run '^$' -test.bench 'Build|Search' -test.cpu 1.
func BenchmarkBuild(b *testing.B) {
	s := benchFiles(b)
	updates := s.updates()
	slices.SortFunc(updates, func(u, v Update) int { return strings.Compare(u.Path, v.Path) })
	before, size := cpu(b), int64(0)
	for b.Loop() {
		x := s.open(b, b.TempDir())
		for batch := range slices.Chunk(updates, 200) {
			must(b, x.Apply(b.Context(), batch))
		}
		must(b, x.Confirm(x.Status().Epoch))
		must(b, x.Purge())
		files, _ := filepath.Glob(filepath.Join(x.dir, "store", "*.zap"))
		size = 0
		for _, name := range files {
			info, err := os.Stat(name)
			must(b, err)
			size += info.Size()
		}
		must(b, x.Close())
	}
	b.ReportMetric((cpu(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(size)/1e6, "MB")
}

func BenchmarkSearch(b *testing.B) {
	s := benchFiles(b)
	var paths []string
	for path := range s.text {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	x := s.complete(b)
	view := ownerView(b)
	for _, n := range []int{1, 3, 8} {
		r := rand.New(rand.NewPCG(3, 4))
		var queries []Query
		for len(queries) < 200 {
			words := strings.Fields(s.text[paths[r.IntN(len(paths))]])
			if at := r.IntN(len(words)); at+n <= len(words) {
				text := strings.Trim(strings.Join(words[at:at+n], " "), "-#*`\"")
				queries = append(queries, Query{Text: strings.ReplaceAll(text, `"`, ""), Limit: 10, AsOf: time.Unix(1_800_000_000, 0)})
			}
		}
		b.Run(fmt.Sprintf("words=%d", n), func(b *testing.B) {
			before, i := cpu(b), 0
			for b.Loop() {
				if _, err := x.Search(b.Context(), view, queries[i%len(queries)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric((cpu(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
