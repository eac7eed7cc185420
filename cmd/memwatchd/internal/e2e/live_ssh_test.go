package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSSH runs the recipes for ssh in docs/machines.md with a server on the
// loopback interface: an agent that uses memwatchd mcp on another machine, and
// commands that use a forwarded socket.
func TestSSH(t *testing.T) {
	t.Parallel()
	needs(t, "ssh", "ssh-keygen")
	sshd := "/usr/sbin/sshd" // a server starts only by its whole path
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("sshd is not installed")
	}
	l := startLive(t, t.TempDir(), "")
	l.write("notes/a.md", "- a zebra lives here\n")
	l.sync()

	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	// The account on the other machine has the environment and the configuration of the
	// daemon.
	var environment []string
	for _, pair := range l.env {
		environment = append(environment, `"`+pair+`"`)
	}
	config, err := os.ReadFile(l.config)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	for name, text := range map[string]string{
		filepath.Join(filepath.Dir(l.config), "config/memwatchd/memwatchd.yaml"): string(config),
		filepath.Join(dir, "sshd_config"): fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %[2]s/user.pub\nStrictModes no\n"+
			"PidFile none\nPasswordAuthentication no\nPermitRootLogin yes\nSetEnv %[3]s\n", port, dir, strings.Join(environment, " ")),
		filepath.Join(dir, "ssh_config"): fmt.Sprintf("Host box\nHostName 127.0.0.1\nPort %d\nIdentityFile %s/user\nUserKnownHostsFile %[2]s/known\n"+
			"StrictHostKeyChecking accept-new\nBatchMode yes\nIdentitiesOnly yes\nLogLevel ERROR\n", port, dir),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755) // where a server of root separates its privileges
	}
	server := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	server.Stderr = &l.log
	startCommand(t, server)
	l.until("sshd answers", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	ssh := func(args ...string) *exec.Cmd {
		cmd := exec.Command("ssh", append([]string{"-F", filepath.Join(dir, "ssh_config")}, args...)...)
		cmd.Stderr = &l.log
		return cmd
	}
	if out, err := ssh("box", "true").Output(); err != nil {
		t.Skipf("sshd does not admit this account, which may be locked: %v %s", err, out)
	}

	session := connect(t, &sdk.CommandTransport{Command: ssh("box", "memwatchd", "mcp")})
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_search", Arguments: fields{"query": "zebra"}})
	if err != nil || !strings.Contains(result.Content[0].(*sdk.TextContent).Text, "a zebra lives here") {
		t.Errorf("over ssh: %+v, %v", result, err)
	}

	// The machine of the user has a memory of its own, with a file of the same name.
	run := t.TempDir()
	own := filepath.Join(run, ".morph/memory/notes/a.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o700), os.WriteFile(own, []byte("- another\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(run, "memwatchd", "box.sock")
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	startCommand(t, ssh("-N", "-L", socket+":"+l.socket, "box"))
	l.until("the socket is forwarded", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	runCommand := func(args ...string) (string, error) {
		cmd := exec.Command("memwatchd", append([]string{"--name", "box"}, args...)...)
		cmd.Env = []string{"HOME=" + run, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	command := func(args ...string) string {
		t.Helper()
		out, err := runCommand(args...)
		if err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
		return out
	}
	if got := command("search", "zebra"); got != "notes/a.md:1: - a zebra lives here\n" {
		t.Errorf("over a forwarded socket: %q", got)
	}
	if out, err := runCommand("open", "notes/a.md"); err == nil || !strings.Contains(out, "the directory of box is unknown on this machine") {
		t.Errorf("open: %q", out)
	}
	command("note", "a quagga from afar")
	if got := command("search", "quagga"); !strings.Contains(got, "a quagga from afar") {
		t.Errorf("a note over a forwarded socket: %q", got)
	}
}

// startCommand starts a program, which ends with the test.
func startCommand(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		timer := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
	})
}
