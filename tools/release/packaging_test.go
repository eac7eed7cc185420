package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTemplates checks that every template renders, that the JSON is valid, and
// that only the templates of the description contain a version.
func TestTemplates(t *testing.T) {
	m := &maker{source: "../..", version: "v1.2.0", when: time.Unix(1, 0)}
	d, err := m.describe()
	if err != nil {
		t.Skip(err) // not in a repository of git
	}
	for _, p := range platforms {
		for _, dir := range []string{"linux", "npm", "mcp", "homebrew", "oci", "plugins"} {
			files, err := m.render(d.on(p), dir, dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if strings.Contains(string(f.data), "<no value>") {
					t.Errorf("%s: a value is missing:\n%s", f.name, f.data)
				}
			}
		}
	}
}

// TestInstallScript installs from a directory with the packages of a release,
// updates, refuses a damaged archive, and uninstalls.
func TestInstallScript(t *testing.T) {
	dir, prefix := t.TempDir(), filepath.Join(t.TempDir(), "with space")
	contents := []file{{name: program, data: []byte("#!/bin/sh\necho ran\n"), executable: true}, {name: "man/man1/memwatchd.1"},
		{name: "man/man1/memwatchd-search.1"}, {name: "completions/memwatchd.bash"},
		{name: "completions/_memwatchd"}, {name: "completions/memwatchd.fish"}}
	var sums strings.Builder
	for _, p := range platforms {
		name := fmt.Sprintf("%s-v1.2.0-%s", program, p)
		packed, err := archive(name, contents, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name+".tar.gz"), packed)
		fmt.Fprintf(&sums, "%s\n", checksum(file{name: name + ".tar.gz", data: packed}))
	}
	write(t, filepath.Join(dir, checksums), []byte(sums.String()))
	env := []string{"VERSION=v1.2.0", "PREFIX=" + prefix, "BASE_URL=file://" + dir}
	run := func(args ...string) (string, error) {
		return output(".", env, "sh", append([]string{"../packaging/install.sh"}, args...)...)
	}
	for range 2 { // the second time, it updates
		if out, err := run(); err != nil || !strings.Contains(out, prefix+"/bin") {
			t.Fatalf("%s, %v", out, err)
		}
	}
	if out, err := output(".", nil, filepath.Join(prefix, "bin", program)); out != "ran" {
		t.Errorf("the program printed %q, %v", out, err)
	}
	for _, name := range []string{"share/man/man1/memwatchd-search.1", "share/zsh/site-functions/_memwatchd"} {
		if _, err := os.Stat(filepath.Join(prefix, name)); err != nil {
			t.Error(err)
		}
	}
	for _, p := range platforms {
		path := filepath.Join(dir, fmt.Sprintf("%s-v1.2.0-%s.tar.gz", program, p))
		write(t, path, []byte("damaged"))
	}
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "checksum differs") {
		t.Errorf("a damaged archive: %v", err)
	}
	if _, err := run("uninstall"); err != nil {
		t.Fatal(err)
	}
	if files, err := tree(prefix, ""); err != nil || len(files) > 0 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}

// TestInstallScriptDownload checks that install.sh follows no redirect to http, with either
// program, and installs nothing if the signature is wrong.
func TestInstallScriptDownload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, "/redirect"); ok {
			http.Redirect(w, r, "http://"+r.Host+path, http.StatusFound)
		} else {
			fmt.Fprintln(w, "0  none")
		}
	}))
	defer server.Close()
	source, err := os.ReadFile("../packaging/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	signed := filepath.Join(t.TempDir(), "install.sh")
	write(t, signed, bytes.Replace(source, []byte("\nPUBLIC_KEY=\n"), []byte("\nPUBLIC_KEY=RWQ\n"), 1))
	for _, client := range []string{"curl", "wget"} {
		bin := t.TempDir()
		for _, name := range []string{"awk", "cp", "mktemp", "rm", "sh", "sha256sum", "tar", "uname", client} {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed", name)
			}
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
		run := func(script, base string) error {
			_, err := output(".", []string{"VERSION=v1.2.0", "PREFIX=" + bin, "PATH=" + bin, "BASE_URL=" + base}, "sh", script)
			return err
		}
		check := func(script, base, want string) {
			t.Helper()
			if err := run(script, base); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", client, base, err, want)
			}
		}
		check("../packaging/install.sh", server.URL, "has no checksum of memwatchd-v1.2.0-")
		check("../packaging/install.sh", server.URL+"/redirect", "download "+server.URL+"/redirect/SHA256SUMS: ")
		check(signed, server.URL, "has no checksum of memwatchd-v1.2.0-")
		if err := os.WriteFile(filepath.Join(bin, "minisign"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		check(signed, server.URL, "the signature is wrong")
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFlake checks that flake.nix states the hash of the modules in go.mod.
func TestFlake(t *testing.T) {
	hash, err := vendorHash("../..")
	if err != nil {
		t.Fatal(err)
	}
	flake, err := os.ReadFile("../../flake.nix")
	if err != nil {
		t.Fatal(err)
	}
	if want := `vendorHash = "` + hash + `";`; !strings.Contains(string(flake), want) {
		t.Errorf("flake.nix does not contain %s", want)
	}
}
