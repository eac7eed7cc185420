package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/meaning"
)

func (d *daemon) vectorsDir() string { return filepath.Join(d.config.IndexDir, "vectors") }

func (d *daemon) hasEmbeddings() bool {
	return d.config.Embed.Endpoint != "" && d.config.Memory.Enabled
}

// openEmbedder opens the embedder of the configured endpoint, if there is one. If the
// vectors cannot be opened, searches compare words only.
func (d *daemon) openEmbedder() (err error) {
	c := &d.config.Embed
	if !d.hasEmbeddings() {
		return nil
	}
	client := &llm.Client{Endpoint: c.Endpoint, Model: c.Model, Setting: "embed"}
	client.Key, err = openKey("embed.key_file", c.KeyFile)
	if err != nil {
		return err
	}
	d.warnUnencrypted("model", c.Endpoint)
	prefixes := prefixesOf(c.Model)
	e := &meaning.Embedder{
		Dir: d.vectorsDir(), Client: client, TextPrefix: prefixes[1], QueryPrefix: prefixes[0], Index: d.index,
		Load: d.pipeline.documents.Load, Private: c.Private, Batch: 32,
		QueryTimeout: d.config.Tuning.EmbedQuery, Now: config.Now, Logger: d.logger,
	}
	if err := e.Open(); err != nil {
		d.logger.Error("vectors are unavailable, searches compare words only", "err", err)
		d.embedFailure = &api.EmbedStatus{Endpoint: c.Endpoint, Model: c.Model, Private: c.Private,
			LastError: err.Error(), FailedAt: config.Now().UTC()}
		return nil
	}
	d.embedder, d.pipeline.embedder = e, e
	return nil
}

// rescanTexts compares all texts with the vectors.
func (d *daemon) rescanTexts(context.Context) error {
	if err := d.embedder.Rescan(); err != nil {
		d.logger.Warn("vectors of removed texts are kept", "err", err)
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
	if d.embedder == nil {
		return d.embedFailure
	}
	s := d.embedder.Status()
	return &s
}

// modelPrefixes contains the texts that models need before a query and before a text to
// find, by a part of their names.
var modelPrefixes = map[string][2]string{
	"nomic-embed-text":       {"search_query: ", "search_document: "},
	"e5-":                    {"query: ", "passage: "},
	"mxbai-embed":            {"Represent this sentence for searching relevant passages: ", ""},
	"snowflake-arctic-embed": {"Represent this sentence for searching relevant passages: ", ""},
	"embeddinggemma":         {"task: search result | query: ", "title: none | text: "},
}

// prefixesOf returns the prefixes of a model.
func prefixesOf(model string) [2]string {
	for part, prefixes := range modelPrefixes {
		if strings.Contains(strings.ToLower(model), part) {
			return prefixes
		}
	}
	return [2]string{}
}
