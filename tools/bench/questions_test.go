package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuizzes checks that each question has an answer, occurs once, and has the
// number of words in the name of its quiz.
func TestQuizzes(t *testing.T) {
	root, _ := written(t, 1, 300)
	c, err := takeCensus(t.Context(), root, 1)
	if err != nil {
		t.Fatal(err)
	}
	quizzes := c.quizzes(1, 50)
	if len(quizzes) != 17 {
		t.Errorf("%d sorts of questions, want 17", len(quizzes))
	}
	for _, z := range quizzes {
		if len(z.List) != 50 {
			t.Errorf("%s: %d questions, want 50", z.Name, len(z.List))
		}
		asked := map[string]bool{}
		for _, q := range z.List {
			key := strings.Join(q.Words, " ")
			if asked[key] {
				t.Errorf("%s: %q is asked twice", z.Name, key)
			}
			asked[key] = true
			if n := int(z.Name[0] - '0'); len(q.Words) != n {
				t.Errorf("%s: %d words", z.Name, len(q.Words))
			}
			if !slices.ContainsFunc(c.sample, func(e entry) bool {
				return e.readable(!q.Public) && !slices.ContainsFunc(q.Words, func(w string) bool { return !strings.Contains(e.Text, w) })
			}) {
				t.Errorf("%s: no entry has %q", z.Name, key)
			}
		}
	}
	again, err := takeCensus(t.Context(), root, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(quizzes, again.quizzes(1, 50)); diff != "" {
		t.Errorf("the second time, other questions (-first +second):\n%s", diff)
	}
}
