package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

var licenseFile = regexp.MustCompile(`(?i)^(?:LICEN[SC]E|COPYING|NOTICE|PATENTS)(?:[-.].*)?$`)

// TestLicenses compares the embedded licenses with those of the modules that the
// program contains on any supported system. Modules with the same text share
// one copy of it.
func TestLicenses(t *testing.T) {
	type linked struct{ Path, Version, Dir string }
	modules := map[string]linked{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-deps", "-json=Module", module+"/cmd/memwatchd")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		testkit.Must(t, err)
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct{ Module *linked }
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && p.Module.Path != module {
				modules[p.Module.Path] = *p.Module
			}
		}
	}
	users := map[string][]string{} // by text
	for _, m := range modules {
		entries, err := os.ReadDir(m.Dir)
		testkit.Must(t, err)
		found := false
		for _, e := range entries {
			if !licenseFile.MatchString(e.Name()) || e.IsDir() {
				continue
			}
			data, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
			testkit.Must(t, err)
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n")) + "\n"
			users[text] = append(users[text], m.Path+" "+m.Version)
			found = true
		}
		if !found {
			t.Errorf("%s has no license file", m.Path)
		}
	}
	var sections []string
	for text, list := range users {
		slices.Sort(list)
		sections = append(sections, fmt.Sprintf("\n%s\n%s\n\n%s", strings.Repeat("-", 72), strings.Join(list, "\n"), text))
	}
	slices.Sort(sections)
	all := "This program contains the following libraries.\n" + strings.Join(sections, "")
	golden := filepath.Join(repository, internal, "build", "licenses.txt")
	if *update {
		testkit.Must(t, os.WriteFile(golden, []byte(all), 0o644))
	}
	want, err := os.ReadFile(golden)
	testkit.Must(t, err)
	if string(want) != all {
		t.Errorf("%s is not current, run go test ./cmd/memwatchd/internal/e2e -run TestLicenses -update (-file +now):\n%.2000s",
			golden, gocmp.Diff(string(want), all))
	}
}
