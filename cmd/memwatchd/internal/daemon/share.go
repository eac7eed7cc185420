package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/internal/share"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/internal/weaviate"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A sharing publishes entries to a shared store, and searches those of other
// machines there.
type sharing struct {
	*share.Publisher
	reader *share.Reader // nil if the store is not asked
	client *weaviate.Client
}

var _ ops.Publisher = (*sharing)(nil)

// shareDir is the name of the directory of the outbox.
const shareDir = "share"

// openShare opens the outbox of the configured store. It returns nil if none is
// configured or memory is disabled.
func (d *daemon) openShare() (*sharing, error) {
	c := &d.config.Share
	if c.Weaviate.URL == "" || !d.config.Memory.Enabled {
		return nil, nil
	}
	spool := filepath.Join(d.config.StateDir, shareDir)
	if err := state.PrivateDir(spool); err != nil {
		return nil, err
	}
	lock, err := vault.AcquireLock(filepath.Join(spool, "lock"),
		vault.Holder{PID: os.Getpid(), Socket: d.config.Socket()})
	if err != nil {
		return nil, err
	}
	d.locks = append(d.locks, lock)
	host, err := shareHost(d.config.Memory.Host, spool)
	if err != nil {
		return nil, fmt.Errorf("memory.host: %w", err)
	}
	s := &sharing{client: &weaviate.Client{
		URL: c.Weaviate.URL, Timeout: d.config.Tuning.ShareTimeout}}
	d.warnUnencrypted("shared store", c.Weaviate.URL)
	s.client.Key, err = openKey("share.weaviate.key_file", c.Weaviate.KeyFile)
	if err != nil {
		return nil, err
	}
	breaker := new(share.Breaker)
	s.Publisher = &share.Publisher{
		Store: s.client, URL: c.Weaviate.URL, Owner: d.config.Memory.Owner, Ready: d.awaitKnown, Breaker: breaker,
		Source: indexedFiles{d}, Dir: spool, MaxSpool: 256 << 20,
		Timeout: d.config.Tuning.ShareTimeout, Tombstones: 90 * 24 * time.Hour, Logger: d.logger, Now: config.Now,
		Rules: share.Rules{Host: host, Publish: c.Publish, Private: c.Private, Subject: d.sharedSubject,
			Terms: func(text string) string { return d.index.Terms(text) }},
	}
	if c.Query {
		s.reader = &share.Reader{Store: s.client, Breaker: breaker, Host: host, Private: c.Private,
			Timeout: d.config.Tuning.ShareQuery,
			Terms:   func(q index.Query) string { return d.index.QueryTerms(q) }}
	}
	return s, s.Open()
}

// shareHost returns the name of this machine in the store. If none is configured, it
// makes one and keeps it in dir, because the host name alone may not be unique.
func shareHost(configured, dir string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	path := filepath.Join(dir, "host")
	text, err := state.Read(path)
	if name := strings.TrimSpace(string(text)); err == nil && memory.ValidHost(name) == nil {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = name[:min(len(name), 40)] + "-" + strings.ToLower(rand.Text()[:4])
	if err := memory.ValidHost(name); err != nil {
		return "", fmt.Errorf("set it: the host name cannot be used: %w", err)
	}
	return name, state.Write(path, []byte(name+"\n"))
}

// sharedSubject returns the subject of an owner key, or the key itself, which is not
// published, if the subject cannot read the entries of the key on this machine.
func (d *daemon) sharedSubject(owner string) string {
	subject := d.subjects.subjectOf(owner)
	if subject == owner {
		return subject
	}
	view, err := d.subjects.View(memory.Scope{Subject: subject, Context: memory.Private})
	if err != nil || !view.Readable(memory.Partition{Owner: owner, Visibility: memory.PublicOK}) {
		return owner
	}
	return subject
}

// watchShare passes changed files to the publisher. A changed claim affects other
// files of the directory, too.
func (d *daemon) watchShare(ctx context.Context) error {
	return d.pipeline.events.subscribe(ctx, func(c ops.Change) error {
		switch {
		case c.Event.Event == "lost", c.Before.Claim != c.After.Claim:
			d.share.Changed("")
		case c.Path != "":
			d.share.Changed(c.Path)
		}
		return nil
	})
}

// shareStatus returns the status of sharing; nil if nothing is shared.
func (d *daemon) shareStatus() *api.ShareStatus {
	if d.share == nil {
		return nil
	}
	s := d.share.Status().ShareStatus
	return &s
}

// indexedFiles are the files of the index, with their current text.
type indexedFiles struct{ *daemon }

// Paths implements [share.Source].
func (f indexedFiles) Paths() (paths []string) {
	for _, info := range f.index.Files(nil) {
		paths = append(paths, info.Path)
	}
	return paths
}

// Complete implements [share.Source].
func (f indexedFiles) Complete() bool { return !f.index.Status().Degraded }

// Load implements [share.Source].
func (f indexedFiles) Load(_ context.Context, path string) (*memory.Document, error) {
	return f.pipeline.readStable(path)
}
