package service

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestSystemdTakesTheUnits checks that systemd-analyze accepts the units. Their
// program must be an existing file.
func TestSystemdTakesTheUnits(t *testing.T) {
	analyze := analyzerVersion(t)
	for name, s := range services(t) {
		if s.Version > analyze {
			s.Version = analyze
		}
		if _, err := s.Units(); err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s.Program = filepath.Join(dir, filepath.Base(s.Program))
			if name == "named" {
				s.Program = filepath.Join(dir, `my 100% $bin ;é`)
			}
			if err := os.WriteFile(s.Program, nil, 0o755); err != nil {
				t.Fatal(err)
			}
			units := writeUnits(t, s, dir)
			scope := "--user"
			if s.User != "" {
				scope = "--system"
				s.User = "root" // exists everywhere
				units = writeUnits(t, s, dir)
			}
			cmd := exec.Command("systemd-analyze", "verify", scope, "--man=no", units[0]) // also verifies the sockets that the service requires
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
			out, err := cmd.CombinedOutput()
			// The output may also contain messages about other units of this
			// machine.
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "memwatchd") || strings.Contains(line, dir) {
					t.Errorf("systemd-analyze verify: %s", line)
				}
			}
			if err != nil {
				t.Errorf("systemd-analyze verify: %v\n%s", err, out)
			}
		})
	}
}

// exposure bounds the exposure level, of 10, that systemd may compute for the
// system service.
const exposure = 1.5

func TestSystemServiceIsConfined(t *testing.T) {
	analyzerVersion(t)
	dir := t.TempDir()
	units := writeUnits(t, services(t)["system"], dir)
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", units[0]).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze security: %v\n%s", err, out)
	}
	if level, err := strconv.ParseFloat(string(m[1]), 64); err != nil || level > exposure {
		t.Errorf("the exposure is %s, and may be %v:\n%s", m[1], exposure, out)
	}
}

// analyzerVersion returns the version of systemd-analyze, and skips the test if it is
// missing or too old.
func analyzerVersion(t *testing.T) (version int) {
	t.Helper()
	out, err := exec.Command("systemd-analyze", "--version").Output()
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	if _, err := fmt.Sscanf(string(out), "systemd %d", &version); err != nil || version < 250 {
		t.Skipf("systemd-analyze is too old: %s", out)
	}
	return version
}

func writeUnits(t *testing.T, s *Service, dir string) (paths []string) {
	t.Helper()
	files, err := s.Units()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
