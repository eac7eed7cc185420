// Package service runs the daemon: in the background, where Start starts it for a
// command that found none, or at login, by the service manager of the system. The
// commands stop, restart, logs and service control it.
package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

const (
	// startLimit bounds the wait for the socket of a new daemon.
	startLimit = 20 * time.Second
	// otherLimit bounds the wait after the new daemon has ended because another
	// process holds the lock: the daemon that another command started at the same
	// time may not answer yet.
	otherLimit = 10 * time.Second
	// stopLimit bounds the wait for the end of the daemon, which finishes its requests.
	stopLimit = 15 * time.Second
	// firstIndex is the time that the first command waits for the index.
	firstIndex = "2s"
	// maxLog is the size of the log in bytes above which a start renames it. The
	// older log is replaced.
	maxLog = 1 << 20
)

// Disabled makes Start fail without starting a daemon. Tests set it.
var Disabled bool

// Start starts a daemon for the memory of c, in a session of its own, and waits
// until its socket accepts connections. It reports the start on g.Stderr. If a
// daemon answers already, Start returns nil. It starts none for a memory that a
// service serves, or whose directory is missing.
func Start(ctx context.Context, g *cli.Globals, c *config.Config) error {
	socket := g.SocketOf(c)
	if answers(socket) {
		return nil
	}
	if Disabled {
		return fmt.Errorf("run `%s`", g.Config.Command("serve"))
	}
	if err := CheckMemory(g, c); err != nil {
		return err
	}
	if u := unitOf(c.Name); u.isInstalled() {
		return fmt.Errorf("the service is not active: run `%s`", g.Config.Command("restart"))
	}
	log, err := openLog(c)
	if err != nil {
		return err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	ended, err := launch(g.Config, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for !answers(socket) {
		select {
		case <-ended:
			ended = nil
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, otherLimit)
			defer cancel()
		case <-ctx.Done():
			return fmt.Errorf("the daemon did not start: %s (see the log: %s)",
				lastLine(log.Name(), begin), g.Config.Command("logs"))
		case <-time.After(5 * time.Millisecond):
		}
	}
	if ended != nil {
		// The first answer of a small memory should be complete.
		dc := &client.Client{Socket: socket, AsOwner: true, ServerUIDs: c.IPC.ServerUIDs}
		_, _ = client.Call(ctx, dc, api.SyncRequest{Timeout: firstIndex})
		fmt.Fprintf(g.Stderr, "memwatchd: started the daemon of %s; `%s` stops it\n",
			term.EscapeLine(c.Memory.Dir), g.Config.Command("stop"))
	}
	return nil
}

// launch starts memwatchd serve with the flags. The channel is closed when the
// process ends.
func launch(flags config.Flags, log *os.File) (<-chan struct{}, error) {
	program, err := cli.InvokedPath()
	if err != nil {
		return nil, err
	}
	flags, err = flags.Absolute()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append([]string{"serve"}, flags.Words()...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // outlives the terminal
	for _, pair := range os.Environ() {
		// These variables are about the process that a service manager started.
		if name, _, _ := strings.Cut(pair, "="); name != "NOTIFY_SOCKET" && !strings.HasPrefix(name, "LISTEN_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	for fd := 3; fd < 1024; fd++ { // files that this command has of its caller, such as a terminal
		syscall.CloseOnExec(fd)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	return ended, nil
}

// answers reports whether a process accepts connections on a socket.
func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// logPath returns the path of the log of daemons that Start started.
func logPath(c *config.Config) string { return filepath.Join(c.StateDir, "daemon.log") }

// openLog opens the log for appending. It renames a log larger than maxLog.
func openLog(c *config.Config) (*os.File, error) {
	path := logPath(c)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// lastLine returns the last line of the log after an offset.
func lastLine(path string, offset int64) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	text, _ := io.ReadAll(io.NewSectionReader(file, offset, maxLog))
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return "it does not answer yet"
	}
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
