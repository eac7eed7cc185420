package config

import (
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/ipc"
)

// Tuning holds values without a key. Zero values are the defaults of the packages that
// use them.
type Tuning struct {
	Settle, MaxWait, Vanish, Reconcile, Poll time.Duration // of the watcher

	Quiet        time.Duration // from a change by another program to an automatic change of the file
	HistorySize  int64         // bytes of the versions that other programs changed
	MaxChanges   int           // automatic changes of a file in a minute
	MaxLoss      float64       // share of a file's items that a compaction moves
	SyncTimeout  time.Duration // that a request waits until earlier changes are indexed
	ShareTimeout time.Duration // of a write to the shared store
	ShareQuery   time.Duration // that a search waits for the shared store
	EmbedQuery   time.Duration // that a search waits for the vector of its query
	ModelTimeout time.Duration // of an answer of the language model

	Limits ipc.Limits
}

// defaultTuning contains the values that have no default elsewhere.
var defaultTuning = Tuning{
	Reconcile: time.Minute, Vanish: 500 * time.Millisecond, Poll: 2 * time.Second, MaxLoss: 0.25,
	Quiet: 10 * time.Second, HistorySize: 256 << 20, SyncTimeout: 2 * time.Second, ShareTimeout: 5 * time.Second, ShareQuery: 300 * time.Millisecond,
	EmbedQuery: 150 * time.Millisecond,
}

// removedKeys maps keys of earlier versions to their replacement. A file or a variable
// that sets one of them still loads, with a warning.
var removedKeys = map[string]string{
	"watch.settle":                 "a changed file is read after 30ms without changes",
	"watch.max_wait":               "a file that keeps changing is read after 1s",
	"watch.vanish":                 "a missing file is removed from the index after 500ms",
	"watch.reconcile":              "the directory is compared every minute",
	"watch.verify":                 "contents are compared every 24h",
	"watch.poll":                   "directories that cannot be watched are scanned every 2s",
	"write.max_size":               "watch.max_file_size applies",
	"write.quiet":                  "a file is left alone for 10s after a change by another program",
	"write.fuse":                   "a file is left alone after 20 changes in a minute",
	"visibility.identity":          "set visibility in the frontmatter of SOUL.md and USER.md",
	"context.untrusted":            "text of others is marked in context blocks",
	"history.enabled":              "set history.keep: 0s to keep no versions",
	"history.size":                 "versions have at most 256 MiB",
	"conflicts.auto":               "conflict copies that only add entries are merged, unless write.enabled is false",
	"compress.cutoff":              "files older than 48h are summarized",
	"share.host":                   "memory.host applies",
	"embed.dimensions":             "vectors have the dimensions of the model",
	"todosync.days":                "memory.short_term_days applies",
	"compactor.max_loss":           "one run moves at most a quarter of the items of a file",
	"embed.timeout":                "vectors may take 20s",
	"llm.timeout":                  "an answer may take 20s",
	"log.format":                   "the log is text",
	"embed.daily_chars":            "the number of texts sent in a day has no limit",
	"embed.query_timeout":          "a search waits at most 150ms for the vector of its query",
	"share.spool":                  "waiting changes are in share in the state directory",
	"embed.batch":                  "a request has at most 32 texts",
	"share.weaviate.timeout":       "a write may take 5s",
	"share.weaviate.query_timeout": "a search waits at most 300ms",
	"share.tombstones":             "removals are kept for 90 days",
	"share.spool_max":              "waiting changes have at most 256 MiB",
	"hooks.transcripts":            "memwatchd import reads the conversations that agents keep",
	"ipc.sync_timeout":             "requests wait at most 2s for earlier changes",
	"ipc.max_request":              "requests have at most 1 MiB",
	"ipc.max_header":               "headers have at most 16 KiB",
	"ipc.read_header":              "a header may take 30s",
	"ipc.read_body":                "a body may take 10s",
	"ipc.write":                    "an answer may take 10s",
	"ipc.idle":                     "idle connections end after 2m",
	"ipc.max_connections":          "a listener accepts 256 connections",
	"ipc.drain":                    "running requests have 5s to finish",
	"ipc.rate":                     "set rate of the entries of ipc.listeners",
}

// OnRemoved, if set, receives the value of a removed key instead of the warning. Only
// tests set it.
var OnRemoved func(c *Config, key, value string)

// isRemoved reports whether a key was removed, and adds a warning if so.
func (c *Config) isRemoved(key, value string) bool {
	effect, ok := removedKeys[key]
	switch {
	case ok && OnRemoved != nil:
		OnRemoved(c, key, value)
	case ok:
		c.warn(fmt.Sprintf("%s has no effect: %s", key, effect))
	}
	return ok
}

func (c *Config) isRemovedVariable(name, value string) bool {
	for key := range removedKeys {
		if envName(key) == name {
			return c.isRemoved(key, value)
		}
	}
	return false
}

func (c *Config) warn(text string) {
	c.Warning = strings.TrimPrefix(c.Warning+"; "+text, "; ")
}

// takeRemoved removes the removed keys from a mapping.
func (c *Config) takeRemoved(n *yaml.Node, prefix string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := prefix+n.Content[i].Value, n.Content[i+1]
		if c.isRemoved(key, value.Value) {
			continue
		}
		c.takeRemoved(value, key+".")
		kept = append(kept, n.Content[i], value)
	}
	n.Content = kept
}
