package service

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// setSystem selects a service manager for a test, whose program fake records its
// arguments in the returned file, and a home of its own.
func setSystem(t *testing.T, name, program string) (home, calls string) {
	t.Helper()
	old := system
	home, dir := t.TempDir(), t.TempDir()
	testkit.Must(t, os.MkdirAll(filepath.Join(home, ".morph/memory"), 0o700))
	calls = filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >>" + calls + "\n"
	testkit.Must(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755))
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(v, "")
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("HOME", home)
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	xdg.Reload()
	system = name
	t.Cleanup(func() { system = old })
	return home, calls
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	testkit.Must(t, err)
	return string(text)
}

// TestPackagedUnit checks that the unit of the packages is the one that service install
// writes, without the parts that differ by user and by memory.
func TestPackagedUnit(t *testing.T) {
	setSystem(t, "linux", "systemctl")
	text, err := unitOf("memwatchd").renderTemplate("/usr/bin/memwatchd", nil, nil)
	testkit.Must(t, err)
	packaged := read(t, "../../../../tools/packaging/linux/user.service")
	for _, s := range []*string{&text, &packaged} {
		*s = regexp.MustCompile(`(?m)^(#|Description=|Documentation=).*\n`).ReplaceAllString(*s, "")
	}
	if diff := cmp.Diff(packaged, text); diff != "" {
		t.Errorf("(-packaged +installed)\n%s", diff)
	}
}

var odd = struct {
	program           string
	args, environment []string
}{
	`/home/ana/my tools/memwatchd`, []string{"--config", `/home/ana/o'neil.yaml`, "--dir", "/home/ana/ünï;ß & <x>"},
	[]string{"MEMWATCHD_LOG_LEVEL=debug", "XDG_STATE_HOME=/home/ana/my state"},
}

// TestQuoting checks that characters with a meaning in a unit of systemd have none or are
// refused, and that those with a meaning in XML have none.
func TestQuoting(t *testing.T) {
	setSystem(t, "linux", "systemctl")
	text, err := unitOf("work").renderTemplate(odd.program, odd.args, odd.environment)
	testkit.Must(t, err)
	for _, line := range []string{
		`ExecStart="/home/ana/my tools/memwatchd" --config "/home/ana/o'neil.yaml" --dir "/home/ana/ünï;ß & <x>" serve`,
		`Environment=MEMWATCHD_LOG_LEVEL=debug`, `Environment="XDG_STATE_HOME=/home/ana/my state"`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	for _, bad := range []string{"/home/ana/new\nline", `/notes\`, "/home/ana/\xe4", "/100%", "/$HOME", `/"a"`} {
		if _, err := unitOf("work").renderTemplate("memwatchd", []string{"--dir", bad}, nil); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	system = "darwin"
	agent, err := unitOf("work").renderTemplate(odd.program, append(odd.args, "100%"), odd.environment)
	testkit.Must(t, err)
	if err := xml.Unmarshal([]byte(agent), new(struct{})); err != nil {
		t.Errorf("%v in\n%s", err, agent)
	}
	for _, part := range []string{
		"<key>Label</key><string>io.github.memwatchd.work</string>",
		"<string>/home/ana/my tools/memwatchd</string><string>--config</string><string>/home/ana/o&#39;neil.yaml</string>" +
			"<string>--dir</string><string>/home/ana/ünï;ß &amp; &lt;x&gt;</string><string>100%</string><string>serve</string>",
		"<key>XDG_STATE_HOME</key><string>/home/ana/my state</string>",
	} {
		if !strings.Contains(regexp.MustCompile(`>\s+<`).ReplaceAllString(agent, "><"), part) {
			t.Errorf("%s is missing in\n%s", part, agent)
		}
	}
}

// TestSystemdAcceptsUnit checks that systemd-analyze accepts a unit.
func TestSystemdAcceptsUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip(err)
	}
	setSystem(t, "linux", "systemctl")
	dir := t.TempDir()
	program := filepath.Join(dir, `my bin ;é`)
	testkit.Must(t, os.WriteFile(program, nil, 0o755))
	text, err := unitOf("work").renderTemplate(program, odd.args, odd.environment)
	testkit.Must(t, err)
	path := filepath.Join(dir, "memwatchd-work.service")
	testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
	out, err := exec.Command(analyze, "verify", "--user", "--man=no", path).CombinedOutput()
	// The output may also contain messages about other units of this machine.
	if err != nil && bytes.Contains(out, []byte(dir)) || bytes.Contains(out, []byte("memwatchd")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestInstallAgent checks the file and the commands for launchd. A script of e2e checks
// those for systemd.
func TestInstallAgent(t *testing.T) {
	home, calls := setSystem(t, "darwin", "launchctl")
	var out bytes.Buffer
	g := &cli.Globals{Stdout: &out, Stderr: &out}
	testkit.Must(t, Install(t.Context(), g))
	path := filepath.Join(home, "Library/LaunchAgents/io.github.memwatchd.plist")
	if !strings.Contains(read(t, path), "serve") {
		t.Error("the unit does not start the daemon")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	testkit.Must(t, Uninstall(t.Context(), g))
	if _, err := os.Stat(path); err == nil {
		t.Error("the unit is left")
	}
	const want = "print gui/UID\nbootstrap gui/UID HOME/Library/LaunchAgents/io.github.memwatchd.plist\n" +
		"bootout gui/UID/io.github.memwatchd\n"
	got := regexp.MustCompile(`gui/\d+`).ReplaceAllString(read(t, calls), "gui/UID")
	if diff := cmp.Diff(want, strings.ReplaceAll(got, home, "HOME")); diff != "" {
		t.Error(diff)
	}
	if err := Uninstall(t.Context(), g); err != nil || !strings.Contains(out.String(), "Nothing is installed") {
		t.Errorf("again: %v\n%s", err, &out)
	}
}
