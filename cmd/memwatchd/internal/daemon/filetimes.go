package daemon

import (
	"bufio"
	"context"
	"crypto/sha1" // names of contents in git
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/vault"
)

// gitTime bounds the time in which git lists commits, the newest first.
const gitTime = 2 * time.Second

// A fileTimes finds when the content of a file was written, for entries without a time of
// their own: at its commit if git has this content, otherwise when the file was saved.
type fileTimes struct {
	mu     sync.Mutex
	vaults map[*vault.Vault]commits // once git has been run
}

// A commits contains the last commit of each file, by path, as listed at a time.
type commits struct {
	at   time.Time
	last map[string]commit
}

// A commit is the last one that changed a file.
type commit struct {
	blob string // name of the content
	time time.Time
}

// manyFiles is the number of changed files from which a checkout may be the reason.
const manyFiles = 50

// expect lists the commits again, if many files below a vault have changed and git has run
// since. Other calls use the earlier list meanwhile.
func (t *fileTimes) expect(v *vault.Vault, changed int) {
	if changed < manyFiles {
		return
	}
	t.mu.Lock()
	listed, ok := t.vaults[v]
	t.mu.Unlock()
	if !ok || !vault.GitChanged(v.Dir, listed.at) {
		return
	}
	listed = commits{time.Now(), readCommits(v.Dir)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.vaults[v] = listed
}

// written returns when the content of a file below a vault was written.
func (t *fileTimes) written(v *vault.Vault, file vault.File) time.Time {
	t.mu.Lock()
	listed, ok := t.vaults[v]
	if !ok {
		listed = commits{time.Now(), readCommits(v.Dir)}
		if t.vaults == nil {
			t.vaults = make(map[*vault.Vault]commits)
		}
		t.vaults[v] = listed
	}
	t.mu.Unlock()
	if c := listed.last[file.Path]; c.time.Before(file.ModTime) && c.contains(file.Data) {
		return c.time
	}
	return file.ModTime
}

// contains reports whether the commit left the file with this content.
func (c commit) contains(data []byte) bool {
	if c.blob == "" {
		return false
	}
	hash := sha1.New()
	fmt.Fprintf(hash, "blob %d\x00%s", len(data), data)
	return hex.EncodeToString(hash.Sum(nil)) == c.blob
}

// readCommits returns the last commit of each Markdown file below a directory, as far as
// git lists them in time, or none if the directory is in no working tree. The settings of
// the repository must not make git run other programs.
func readCommits(dir string) map[string]commit {
	if git, _ := vault.FindGitDir(dir, time.Now()); git == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "-c", "core.fsmonitor=false", "-c", "log.showSignature=false",
		"-c", "protocol.allow=never", "-c", "core.quotePath=false", "-c", "log.showRoot=true", "-c", "log.follow=false",
		"log", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-color", "--relative", "--format=%at",
		"--", "*.md", "*.markdown")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	last := make(map[string]commit)
	var at time.Time
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if seconds, err := strconv.ParseInt(line, 10, 64); err == nil {
			at = time.Unix(seconds, 0)
			continue
		}
		// :100644 100644 old new M<tab>path
		head, path, _ := strings.Cut(line, "\t")
		if name, err := strconv.Unquote(path); err == nil {
			path = name
		}
		if f := strings.Fields(head); len(f) == 5 && last[path].blob == "" {
			last[path] = commit{f[3], at}
		}
	}
	_ = cmd.Wait() // after an error, the files without a commit have their own times
	return last
}
