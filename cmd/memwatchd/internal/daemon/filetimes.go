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
	"sync/atomic"
	"time"

	"github.com/memwatchd/memwatchd/vault"
)

// gitTime bounds the time in which git lists commits, the newest first.
var gitTime = 2 * time.Second

// A fileTimes finds when the content of the files of a vault was written, for entries
// without a time of their own: at its commit if git has this content, otherwise when the
// file was saved.
type fileTimes struct {
	mu     sync.Mutex // held while git runs
	listed atomic.Pointer[commits]
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

// list lists the commits below a directory, the first time, and again if many files have
// changed and git has run since. It reports whether it was the first time. Files that are
// read meanwhile have the times of the earlier list.
func (t *fileTimes) list(dir string, changed int) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.listed.Load()
	if old == nil || changed >= manyFiles && vault.GitChanged(dir, old.at) {
		t.listed.Store(&commits{time.Now(), readCommits(dir)})
	}
	return old == nil
}

// written returns when the content of a file was written.
func (t *fileTimes) written(file vault.File) time.Time {
	if listed := t.listed.Load(); listed != nil {
		if c := listed.last[file.Path]; c.time.Before(file.ModTime) && c.contains(file.Data) {
			return c.time
		}
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
