package index

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// headingFacts returns files with facts under headings, and a question for each: its
// heading and a word of its own. Rules that improve judged collections can make
// headings weaker, and no collection shows what that costs.
func headingFacts() (files map[string]string, questions []question) {
	projects := []string{"heron", "alder", "pewter", "quill", "saffron"}
	facts := []string{"Owner: %s.", "Budget: %d euros.", "The deadline moved to week %d.", "Deployed from the branch %s."}
	people := []string{"Anna", "Boris", "Chandra", "Dieter", "Edda"}
	words := []string{"owner", "budget", "deadline", "branch"}
	files = make(map[string]string)
	for _, form := range []string{"list", "paragraphs"} {
		var text strings.Builder
		path := "projects-" + form + ".md"
		line := 0
		write := func(s string) {
			text.WriteString(s + "\n")
			line++
		}
		for i := range 10 {
			name := fmt.Sprintf("%s-%d", projects[i/2], i%2+map[string]int{"list": 1, "paragraphs": 5}[form])
			write("## " + name)
			write("")
			for k, fact := range facts {
				var value any = people[(i+k)%5]
				if strings.Contains(fact, "%d") {
					value = 10*i + k + 1
				}
				fact = fmt.Sprintf(fact, value)
				if form == "list" {
					fact = "- " + fact
				}
				write(fact)
				questions = append(questions, question{Question: name + " " + words[k], Gold: []gold{{path, line}}})
				if form == "paragraphs" || k == len(facts)-1 {
					write("")
				}
			}
		}
		files[path] = text.String()
	}
	return files, questions
}

// everyday returns a diary of ten weeks with everyday questions about it.
func everyday(t testing.TB) (files map[string]string, questions []question) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "everyday.txtar"))
	must(t, err)
	files = make(map[string]string)
	for _, f := range txtar.Parse(data).Files {
		files[f.Name] = string(f.Data)
	}
	for line := range strings.Lines(files["questions"]) {
		text, answer, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			t.Fatalf("no answer in %q", line)
		}
		questions = append(questions, question{Question: text, answer: answer, AsOf: "2026-11-28"})
	}
	delete(files, "questions")
	return files, questions
}

// TestHeadingFacts tests that each fact under a heading comes first, also beside a diary.
func TestHeadingFacts(t *testing.T) {
	files, questions := headingFacts()
	diary, _ := everyday(t)
	for path, text := range diary {
		files[path] = text
	}
	x := openFiles(t, files, nil)
	for _, q := range questions {
		hits := spansOf(x.mustSearch(t, x.view, Query{Text: q.Question}), false)
		if q.judge(hits, false).first == 0 {
			t.Errorf("%q: first %+v", q.Question, hits[:min(1, len(hits))])
		}
	}
}

// TestEveryday tests that the share of the everyday questions whose first hit is right
// does not fall.
func TestEveryday(t *testing.T) {
	files, questions := everyday(t)
	x := openFiles(t, files, nil)
	first := 0
	for _, q := range questions {
		asOf, _ := time.Parse(time.DateOnly, q.AsOf)
		hits := spansOf(x.mustSearch(t, x.view, Query{Text: q.Question, AsOf: asOf}), false)
		if q.judge(hits, false).first == 1 {
			first++
		} else {
			t.Logf("%q: first %+v", q.Question, hits[:min(1, len(hits))])
		}
	}
	if least := len(questions) * 8 / 10; first < least {
		t.Errorf("%d of %d first, fewer than %d", first, len(questions), least)
	}
}
