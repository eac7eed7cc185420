package main

import (
	"strings"
	"testing"
	"time"
)

// TestVerdicts checks that the report contains exactly the missed targets.
func TestVerdicts(t *testing.T) {
	fine := func() *result {
		return &result{
			name: "fine", census: &census{files: 10, entries: 60_000, bytes: 1e6}, build: 3 * time.Second, indexSize: 1e6,
			restart: time.Second, anonymous: 1e6, after: 1e6, idleTime: 0.001,
			rival:   &rivalFigures{Build: time.Second, Took: map[string]latencies{"1 word": {time.Millisecond}}},
			quizzes: []quiz{{Name: "1 word", Like: "1 word"}}, took: map[string]latencies{"1 word": {time.Millisecond}},
			saves: []savesResult{{took: latencies{50 * time.Millisecond}}, {synced: true, took: latencies{20 * time.Millisecond}},
				{loaded: true, rate: 100, took: latencies{200 * time.Millisecond}}, {loaded: true, synced: true, took: latencies{time.Second}}},
		}
	}
	if got := missed(fine()); len(got) != 0 {
		t.Errorf("nothing is missed, and reported are %q", got)
	}
	for what, worsen := range map[string]func(*result){
		"first build, relative":           func(r *result) { r.build *= 2 },
		"index size":                      func(r *result) { r.indexSize *= 2 },
		"restart":                         func(r *result) { r.restart *= 4 },
		"idle processor":                  func(r *result) { r.idleTime *= 2 },
		"idle anonymous memory":           func(r *result) { r.anonymous = 200e6 },
		"anonymous memory after":          func(r *result) { r.after = 200e6 },
		"1 word: p50":                     func(r *result) { r.took["1 word"][0], r.rival.Took["1 word"][0] = 4e6, 5e6 },
		"1 word: 2.00 times":              func(r *result) { r.took["1 word"][0] *= 2 },
		"repeated searches: p50 60.0":     func(r *result) { r.saves[0].took[0] = 60 * time.Millisecond },
		"one synced search: p50 30.0":     func(r *result) { r.saves[1].took[0] = 30 * time.Millisecond },
		"per second: p50 200":             func(r *result) { r.saves[2].rate = 90 },
		"other changes per second: p50 3": func(r *result) { r.saves[2].took[0] = 300 * time.Millisecond },
	} {
		r := fine()
		worsen(r)
		if got := missed(r); len(got) != 1 || !strings.Contains(got[0], what) {
			t.Errorf("%s is missed, and reported are %q", what, got)
		}
	}
}

func missed(r *result) []string {
	v := &verdicts{tree: r.name}
	var b strings.Builder
	r.report(&b, v)
	return v.missed
}
