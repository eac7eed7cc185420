// Package config reads the configuration of the program. Load combines the
// defaults, the file, the environment and the flags into a Config, and checks
// it.
//
// The struct tags of Config define for each key its name, default, constraints
// and description. The documentation, the example file and the errors are
// generated from these tags.
package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

// Config holds all configuration keys. The struct tags are the only definition
// of the name, default and description of a key: the file, the environment and
// the example are read and written by reflection over the tags.
type Config struct {
	Name string `yaml:"name" default:"memwatchd" doc:"Name of this memory, part of the paths of its socket, configuration file, index and state"`

	Memory struct {
		Enabled       bool     `yaml:"enabled" default:"true" doc:"If false, memory is neither read nor written: answers are empty, and writes succeed without effect"`
		Dir           string   `yaml:"dir" path:"true" default:"~/.morph/memory" doc:"Memory directory: the root of the Markdown files"`
		Owner         string   `yaml:"owner" default:"owner" doc:"Subject of the owner: the default owner of entries that name no other subject"`
		Timezone      string   `yaml:"timezone" default:"Local" doc:"Time zone in which days begin and end: an IANA name such as Europe/Berlin, or Local for the time zone of the machine"`
		ShortTermDays int      `yaml:"short_term_days" default:"7" min:"1" max:"3650" doc:"Number of days for which sessions count as recent, and whose files are searched for copies of a task"`
		Layout        string   `yaml:"layout" default:"auto" enum:"auto,root,memory,users" doc:"Parent directory of new sessions: root, memory (for memory/), or auto (memory/ if it exists, else root). users is like auto, but long-term memory is MEMORY.md, and every subject has a directory of its own in the root"`
		Daily         string   `yaml:"daily" default:"memory" doc:"Directory of the owner's daily notes, relative to the root, such as Journal; . is the root. Daily notes in memory/ are read too"`
		Host          string   `yaml:"host" doc:"Name of this machine, different on each machine, if several machines write to this memory through a sync tool or git. Notes and captures then go to a file of this machine, such as memory/2026-02-05.laptop.md, and every machine reads the files of a day as one day"`
		Users         []string `yaml:"users" doc:"Directories of the root that belong to users, such as alice for alice/MEMORY.md and alice/memory/"`
		Roots         []Root   `yaml:"roots" doc:"Folders that are searched beside the memory directory and never changed, such as an Obsidian vault. Each entry has the keys"`
		FullMaxChars  int      `yaml:"full_max_chars" default:"5000" min:"100" max:"10000000" doc:"Maximum number of characters of MEMORY.md in the context formats boot and full, above which its middle is left out. Near it, agents get a hint to tidy up"`
		Injection     struct {
			Enabled  bool `yaml:"enabled" default:"true" doc:"If false, context blocks are empty"`
			MaxItems int  `yaml:"max_items" default:"50" min:"0" max:"10000" doc:"Maximum number of lines of the context formats summary and items"`
			MaxChars int  `yaml:"max_chars" default:"6000" min:"0" max:"10000000" doc:"Maximum number of characters of the context formats items and relevant"`
		} `yaml:"injection"`
	} `yaml:"memory"`

	Visibility struct {
		Daily    string `yaml:"daily" default:"private_only" enum:"private_only,public_ok" doc:"Visibility of daily notes that set none themselves: private_only or public_ok"`
		Sessions string `yaml:"sessions" default:"private_only" enum:"private_only,public_ok" doc:"Visibility of sessions that set none themselves: private_only or public_ok"`
	} `yaml:"visibility"`

	Write struct {
		Enabled bool `yaml:"enabled" default:"true" doc:"If false, files are changed only on request of a command or an agent, as for a memory that another program maintains"`
	} `yaml:"write"`

	Journal struct {
		Keep time.Duration `yaml:"keep" default:"90d" min:"1h" doc:"Time for which a change can be undone"`
	} `yaml:"journal"`

	History struct {
		Keep time.Duration `yaml:"keep" default:"30d" doc:"Time for which versions of files that other programs changed are kept, in at most 256 MiB. 0s: none are"`
	} `yaml:"history"`

	Todosync struct {
		Enabled    bool     `yaml:"enabled" default:"true" doc:"If false, a task that becomes done in one file is not ticked in other files"`
		AppendOnly bool     `yaml:"append_only" default:"false" doc:"If true, daily notes are logs that only grow: copies of a task in these are not ticked, except on request"`
		Tasks      []string `yaml:"tasks" default:"Tasks,TODO,待办与承诺" doc:"Names of sections that contain tasks, if yours have others"`
	} `yaml:"todosync"`

	Compactor struct {
		Schedule string        `yaml:"schedule" default:"0 3 * * *" doc:"Time of the nightly maintenance in memory.timezone, when this machine is on: minute, hour, day of the month, month, weekday"`
		Limits   []limitConfig `yaml:"limits" default:"[{path: '_longterms/*/_index.md'}]" doc:"Capacity of long-term files; []: nothing is archived. Each entry has the keys"`
		Host     string        `yaml:"host" doc:"Machine that runs the maintenance of a shared directory. If empty: the first machine that claims it"`
	} `yaml:"compactor"`

	Compress struct {
		Enabled bool `yaml:"enabled" default:"false" doc:"If true, the maintenance summarizes sessions and daily notes older than 48h in the subject's files and archives them"`
	} `yaml:"compress"`

	LLM struct {
		Endpoint string `yaml:"endpoint" doc:"URL of an OpenAI-compatible API, such as http://127.0.0.1:11434/v1. If empty: no model is used"`
		Model    string `yaml:"model" doc:"Name of the model"`
		KeyFile  string `yaml:"key_file" path:"true" doc:"File with the API key of the service. If empty: no key is sent"`
		Private  bool   `yaml:"private" default:"false" doc:"If true, private text is sent to the service too"`
	} `yaml:"llm"`

	Embed struct {
		Endpoint string `yaml:"endpoint" doc:"URL of an OpenAI-compatible API with embeddings, such as http://127.0.0.1:11434/v1. If empty: searches compare words only"`
		Model    string `yaml:"model" doc:"Name of the model"`
		KeyFile  string `yaml:"key_file" path:"true" doc:"File with the API key of the service. If empty: no key is sent"`
		Private  bool   `yaml:"private" default:"false" doc:"If true, private text and private queries are sent to the service too"`
	} `yaml:"embed"`

	Capture struct {
		Ntfy Ntfy `yaml:"ntfy"`
	} `yaml:"capture"`

	Imports struct {
		Watch []string `yaml:"watch" doc:"Agents on this machine whose transcripts become private files below imports/ once they are quiet for ten minutes: claude-code, codex, copilot, gemini, qwen. If empty: none"`
	} `yaml:"imports"`

	Share struct {
		Weaviate struct {
			URL     string `yaml:"url" doc:"URL of a Weaviate cluster that several machines share, such as https://weaviate.lan:8080. If empty: nothing is shared"`
			KeyFile string `yaml:"key_file" path:"true" doc:"File with the API key of the cluster. If empty: no key is sent"`
		} `yaml:"weaviate"`
		Publish []string `yaml:"publish" doc:"Patterns of the files whose public entries are published, such as notes/**. If empty: nothing is published"`
		Private bool     `yaml:"private" default:"false" doc:"If true, private entries are published and searched too, over https or to this machine only"`
		Query   bool     `yaml:"query" default:"true" doc:"If true, searches include the entries that other machines published"`
	} `yaml:"share"`

	Hooks struct {
		Enabled        bool   `yaml:"enabled" default:"true" doc:"If false, the hooks of agents do nothing, without removing them from the agents"`
		Capture        bool   `yaml:"capture" default:"true" doc:"If true, decisions, preferences, things to remember and a file of the session are saved before a conversation is compressed or ends"`
		StoreResponses bool   `yaml:"store_responses" default:"false" doc:"If true, one to three bullets with the result are saved after each answer of an agent"`
		Review         bool   `yaml:"review" default:"false" doc:"If true, what hooks capture and agents note waits as an open box in review/<day>.md until you tick it. What you delete is rejected; after 30 days, the rest is archived"`
		Format         string `yaml:"format" default:"auto" enum:"auto,summary,boot,full,items" doc:"Format of the memory at the start of a session, as in memwatchd context: auto, which fits every layout, summary, boot, full or items"`
		ContextLimit   int    `yaml:"context_limit" default:"40" min:"1" max:"100" doc:"Maximum number of entries added to a prompt"`
		ContextTokens  int    `yaml:"context_tokens" default:"1000" min:"25" max:"2250" doc:"Maximum number of tokens of memory added to a prompt, estimated: fewer cost less"`
	} `yaml:"hooks"`

	IPC struct {
		Listeners  []Listener `yaml:"listeners" doc:"Sockets to listen on. If empty: the owner's socket, <name>.sock in $XDG_RUNTIME_DIR/memwatchd. Each entry has the keys"`
		ServerUIDs []int      `yaml:"server_uids" doc:"IDs of users whose daemons the commands trust, in addition to your own user and root"`
	} `yaml:"ipc"`

	Log struct {
		Level string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Lowest level to log: debug to trace a problem, info, warn or error"`
	} `yaml:"log"`

	// Tuning holds values that suit every memory. No key sets them; tests do.
	Tuning Tuning

	IndexDir string // directory of the index
	StateDir string // directory of the lock, the journal and other state
	File     string // path of the configuration file; empty without one
	Warning  string // about removed keys and about variables of another program; empty if there is none
	NamesDir bool   // the file, the environment or a flag sets memory.dir
	OtherDir string // memory.dir of the file or the environment, if a flag names another directory
	Location *time.Location
	Schedule *compactor.Schedule
}

// Ntfy selects a topic of an ntfy server.
type Ntfy struct {
	Topic     string `yaml:"topic" doc:"Topic whose messages become daily notes of the owner: its name on ntfy.sh, or its URL on another server, such as https://ntfy.lan/inbox. If empty: none"`
	TokenFile string `yaml:"token_file" path:"true" doc:"File with an access token of the server. If empty: no token is sent"`
}

// A limitConfig bounds the size of the long-term files that match a pattern.
type limitConfig struct {
	Path       string `yaml:"path" doc:"Pattern of the files, such as MEMORY.md or _longterms/*/_index.md"`
	Items      int    `yaml:"items" default:"100" min:"1" max:"1000000" doc:"Maximum number of top-level items"`
	Characters int    `yaml:"characters" default:"3000" min:"1" max:"1000000000" doc:"Maximum number of characters, without frontmatter and attributes"`
}

// maxName bounds the length of the name of a memory, in bytes.
const maxName = 64

// isName reports whether a memory can have this name.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && s[0] != '.' && strings.Trim(s, nameCharacters) == ""
}

const nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// Finish computes derived values, such as absolute paths and the location, and
// checks the constraints that tags cannot express. It returns an error for the
// first invalid key.
func (c *Config) Finish() (err error) {
	if !isName(c.Name) {
		return fmt.Errorf("name: %q may contain letters, digits, dots, dashes and underscores only", c.Name)
	}
	c.IndexDir = filepath.Join(xdg.CacheHome, "memwatchd", c.Name)
	if sameDir(xdg.CacheHome, xdg.StateHome) {
		c.IndexDir = filepath.Join(c.IndexDir, "index") // the state is in the directory above
	}
	c.StateDir = filepath.Join(xdg.StateHome, "memwatchd", c.Name)
	if len(c.IPC.Listeners) == 0 {
		c.IPC.Listeners = []Listener{{Path: client.DefaultSocket(c.Name)}}
	}
	if err := eachPath(reflect.ValueOf(c).Elem(), AbsolutePath); err != nil {
		return err
	}
	c.Location, err = time.LoadLocation(c.Memory.Timezone)
	if err != nil {
		return withKey("memory.timezone", err)
	}
	c.Schedule, err = compactor.ParseSchedule(c.Compactor.Schedule, c.Location)
	if err != nil {
		return withKey("compactor.schedule", err)
	}
	c.finishRoots()
	return cmp.Or(c.checkMemory(),
		c.checkOutside("XDG_CACHE_HOME", c.IndexDir), c.checkOutside("XDG_STATE_HOME", c.StateDir),
		checkEach("compactor.limits", len(c.Compactor.Limits),
			func(i int) error { return checkPattern(c.Compactor.Limits[i].Path) }),
		checkEach("imports.watch", len(c.Imports.Watch),
			func(i int) error { return CheckOneOf(c.Imports.Watch[i], TranscriptAgents) }),
		finishService("llm", &c.LLM.Endpoint, c.LLM.Model, c.LLM.Private),
		finishService("embed", &c.Embed.Endpoint, c.Embed.Model, c.Embed.Private), c.finishTopic(), c.finishShare(),
		checkEach("ipc.listeners", len(c.IPC.Listeners), func(i int) error { return c.checkListener(i) }))
}

// checkMemory checks keys of the section memory.
func (c *Config) checkMemory() error {
	switch m := c.Memory; {
	case m.Daily != "." && !fs.ValidPath(m.Daily):
		return fmt.Errorf("memory.daily: %q is not a path below the memory directory", m.Daily)
	case m.Host != "" && memory.ValidHost(m.Host) != nil:
		return withKey("memory.host", memory.ValidHost(m.Host))
	}
	return cmp.Or(withKey("memory.owner", memory.ValidSubject(c.Memory.Owner)),
		checkEach("memory.users", len(c.Memory.Users),
			func(i int) error { return memory.ReservedUser(c.Memory.Users[i]) }))
}

// withKey adds a key to an error about its value.
func withKey(key string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return err
}

// checkEach returns the first error of check for an index below n, with the key of the list.
func checkEach(key string, n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return withKey(key, err)
		}
	}
	return nil
}

// checkPattern returns an error for a text that is no pattern of paths.
func checkPattern(pattern string) error {
	if pattern == "" || !doublestar.ValidatePattern(pattern) {
		return fmt.Errorf("%q is not a path pattern", pattern)
	}
	return nil
}

// ErrOtherDir returns the error for a directory of a flag that the configuration is
// not for, where the command needs its configuration.
func (c *Config) ErrOtherDir() error {
	return fmt.Errorf("the configuration %s is for %s: create one for %s with `memwatchd init --name %s --dir %s`",
		cmp.Or(c.File, "in the environment"), c.OtherDir, c.Memory.Dir, NameFor(c.Memory.Dir),
		term.QuoteWord(c.Memory.Dir))
}

// NameFor returns a name for the memory in a directory: the permitted characters
// of the name of the directory.
func NameFor(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameCharacters, r) {
			return r
		}
		return -1
	}, filepath.Base(dir))
	name = strings.TrimLeft(name, ".-")
	return cmp.Or(name[:min(len(name), maxName)], "other")
}

// Socket returns the first Unix socket without a fixed scope, or the default
// socket. The owner's tools connect to it.
func (c *Config) Socket() string {
	for _, l := range c.IPC.Listeners {
		if l.Path != "" && !l.hasFixedScope() {
			return l.Path
		}
	}
	return client.DefaultSocket(c.Name)
}

// Layout returns the rules for reading the files of the root.
func (c *Config) Layout() memory.Layout {
	l := memory.Layout{
		Owner: c.Memory.Owner, Location: c.Location, DailyDir: c.Memory.Daily, Host: c.Memory.Host,
		Tasks: c.Todosync.Tasks,
		Daily: memory.ParseVisibility(c.Visibility.Daily), Sessions: memory.ParseVisibility(c.Visibility.Sessions),
		Mask: secrets.Mask,
	}
	if c.Hooks.Review {
		l.ReviewDir = "review"
	}
	for i := range c.Memory.Roots {
		if r := &c.Memory.Roots[i]; r.Problem == "" {
			l.Roots = append(l.Roots, r.layout())
		}
	}
	return l
}

// LogLevel returns the level of log.level.
func (c *Config) LogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // the enum tag rejects other names
	return level
}
