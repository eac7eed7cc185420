package daemon

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/embed"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/llm"
)

func (d *daemon) vectorsDir() string { return filepath.Join(d.config.Index.Dir, "vectors") }

func (d *daemon) hasEmbeddings() bool {
	return d.config.Embed.Endpoint != "" && d.config.Memory.Enabled
}

type presentTexts struct{ *index.Index }

// Complete implements [embed.Index].
func (t presentTexts) Complete() bool { return !t.Status().Degraded }

// openEmbedder opens the embedder of the configured endpoint, if there is one. An
// unreadable key is an error, because the user who configured it is still present
// at startup. If the vectors cannot be opened, searches compare words only.
func (d *daemon) openEmbedder() error {
	c := &d.config.Embed
	if !d.hasEmbeddings() {
		return nil
	}
	e := &embed.Embedder{
		Dir: d.vectorsDir(), Index: presentTexts{d.index}, Load: d.pipeline.documents.Load,
		Model: embed.Model{Name: c.Model, Dimensions: c.Dimensions, TextPrefix: c.TextPrefix,
			QueryPrefix: c.QueryPrefix},
		Client: func(m embed.Model) *llm.Client {
			client := &llm.Client{Endpoint: c.Endpoint, Model: m.Name, Dimensions: m.Dimensions,
				Setting: "embed"}
			if c.KeyFile != "" {
				client.Key = func() (string, error) { return config.ReadKey(c.KeyFile) }
			}
			return client
		},
		Private: c.Private, Workers: 2, Batch: 32, DailyCharacters: c.DailyChars, QueryTimeout: c.QueryTimeout,
		Now: clock.Now, Logger: d.logger,
	}
	if u, err := url.Parse(c.Endpoint); err == nil && config.IsLoopback(u.Hostname()) {
		e.Workers = 1 // a local model uses the whole machine for one request
	}
	if err := d.prepareClient(e.Client(e.Model), c.KeyFile); err != nil {
		return err
	}
	if err := e.Open(); err != nil {
		d.logger.Error("vectors are unavailable, searches compare words only", "err", err)
		d.embedErr, d.embedErrAt = err, clock.Now()
		return nil
	}
	d.embedder, d.pipeline.embedder = e, e
	return nil
}

// rescanTexts compares all texts with the vectors once every file has been seen.
func (d *daemon) rescanTexts(ctx context.Context) error {
	if d.awaitKnown(ctx) == nil {
		d.embedder.Rescan()
	}
	return nil
}

// purgeVectors removes the vectors of texts that are gone. Without an embedder it
// removes all that an earlier configuration left.
func (d *daemon) purgeVectors() error {
	if d.embedder == nil {
		return os.RemoveAll(d.vectorsDir())
	}
	return d.embedder.Purge()
}

func (d *daemon) embedStatus() *api.EmbedStatus {
	c := &d.config.Embed
	if d.embedErr != nil {
		return &api.EmbedStatus{Endpoint: c.Endpoint, Model: c.Model, Private: c.Private,
			LastError: d.embedErr.Error(), FailedAt: d.embedErrAt.UTC()}
	}
	if d.embedder == nil {
		return nil
	}
	s := d.embedder.Status()
	s.Endpoint = c.Endpoint
	return &s
}
