package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesFaults checks that the tests in docs/internals/faults.md exist in the packages
// that the page names, and that each row of the tables names one.
func TestPagesFaults(t *testing.T) {
	exist := testNames(t)
	name := regexp.MustCompile("^`([a-z0-9]+\\.(?:Test|Fuzz)\\w+)(?:/(\\w+))?`$")
	rows := 0
	for _, p := range pages(t) {
		if p.path != "docs/internals/faults.md" {
			continue
		}
		p.prose(func(number int, line string) {
			where := fmt.Sprintf("%s:%d", p.path, number)
			found := false
			for _, span := range codeSpan.FindAllString(line, -1) {
				m := name.FindStringSubmatch(span)
				if m == nil {
					continue
				}
				found = true
				if !exist[m[1]] {
					t.Errorf("%s: there is no test %s", where, m[1])
				}
			}
			isRow := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| Fault |")
			if isRow && !found {
				t.Errorf("%s: the row names no test", where)
			}
			if isRow {
				rows++
			}
		})
	}
	if rows == 0 {
		t.Error("docs/internals/faults.md has no rows")
	}
}

// testNames returns the tests of the module, as package.Test. On systems that
// exclude a file, its tests count as well.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	for _, p := range goList(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				names[filepath.Base(p.Dir)+"."+m[1]] = true
			}
		}
	}
	return names
}
