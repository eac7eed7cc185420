package config

import (
	"cmp"
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
	Quiet: 10 * time.Second, SyncTimeout: 2 * time.Second, ShareTimeout: 5 * time.Second,
	ShareQuery: 300 * time.Millisecond,
	EmbedQuery: 150 * time.Millisecond,
}

// removedKeys are the keys of earlier versions. A file or a variable that sets one of them
// still loads, with a warning.
const removedKeys = " watch.settle watch.max_wait watch.vanish watch.reconcile watch.verify watch.poll write.quiet write.fuse " +
	"context.untrusted conflicts.auto compress.cutoff compactor.max_loss llm.timeout log.format " +
	"embed.dimensions embed.timeout embed.daily_chars embed.query_timeout embed.batch share.spool share.spool_max " +
	"share.tombstones share.weaviate.timeout share.weaviate.query_timeout ipc.sync_timeout ipc.max_request " +
	"ipc.max_header ipc.read_header ipc.read_body ipc.write ipc.idle ipc.max_connections ipc.drain ipc.rate " +
	"write.max_size visibility.identity todosync.days share.host hooks.transcripts " +
	"hooks.context_max_chars projects " +
	"watch.max_file_size watch.ignore index.dir history.enabled history.size identity.read " +
	"embed.query_prefix embed.text_prefix capture.ntfy.server share.weaviate.ca_file share.weaviate.prefix " +
	"hooks.roots hooks.other_projects share.trust daemon.autostart state.dir share.weaviate.replicas todosync.follow_ups archive.after compactor.enabled " +
	"exclude mode " // of entries of memory.roots and ipc.listeners

// replacedKeys maps some of these keys to their replacements.
var replacedKeys = map[string]string{
	"visibility.identity":     "set visibility in the frontmatter of SOUL.md and USER.md",
	"todosync.days":           "set memory.short_term_days",
	"share.host":              "set memory.host",
	"hooks.transcripts":       "run memwatchd import",
	"hooks.context_max_chars": "set hooks.context_tokens; a token has about four characters",
	"projects":                "work in a repository, whose directory names the project, or give --project",
	"watch.ignore":            "write the patterns into .memwatchdignore in the memory directory",
	"index.dir":               "set the environment variable XDG_CACHE_HOME",
	"history.enabled":         "to keep no versions, set history.keep to 0s",
	"embed.query_prefix":      "the prefixes of models that need them are known",
	"embed.text_prefix":       "the prefixes of models that need them are known",
	"capture.ntfy.server":     "set capture.ntfy.topic to the URL of the topic",
	"share.weaviate.ca_file":  "set the environment variable SSL_CERT_FILE",
	"share.trust":             "entries of other machines are always untrusted",
	"exclude":                 "write the patterns into .memwatchdignore in the folder",
	"mode":                    "it follows from group and allow_uids",
	"daemon.autostart":        "install a service, or give commands --socket; then they start no daemon",
	"state.dir":               "set the environment variable XDG_STATE_HOME",
	"share.weaviate.replicas": "set REPLICATION_MINIMUM_FACTOR on the servers before you run memwatchd share init",
	"todosync.follow_ups":     "name these sections Follow Ups, or add their names to todosync.tasks",
	"archive.after":           "set compress.enabled, which archives with a summary",
	"compactor.enabled":       "to archive nothing, set compactor.limits to []; write.enabled turns all maintenance off",
	"hooks.roots":             "an agent searches folders with memory_search",
	"ipc.rate":                "set rate of the entries of ipc.listeners",
}

// Now returns the current time, for answers and files. Tests replace it before anything
// else runs.
var Now = time.Now

// OnRemoved, if set, receives the value of a removed key instead of the warning. Only
// tests set it.
var OnRemoved func(c *Config, key, value string)

// ignoreRemoved reports whether a key, or each key of a section, was removed, and adds a
// warning about it.
func (c *Config) ignoreRemoved(key string, n *yaml.Node) bool {
	switch {
	case !strings.Contains(removedKeys, " "+key+" "):
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !c.ignoreRemoved(key+"."+n.Content[i].Value, n.Content[i+1]) {
				return false
			}
		}
		return n.Kind == yaml.MappingNode && len(n.Content) > 0
	case OnRemoved != nil:
		OnRemoved(c, key, n.Value)
	default:
		c.warn(key + " has no effect: " + cmp.Or(replacedKeys[key], "its default suits every memory"))
	}
	return true
}

func (c *Config) warn(text string) {
	c.Warning = strings.TrimPrefix(c.Warning+"; "+text, "; ")
}
