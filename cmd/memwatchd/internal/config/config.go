package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
)

// Config holds all configuration keys. The struct tags are the only definition
// of the name, default and description of a key: the file, the environment and
// the example are read and written by reflection over the tags.
type Config struct {
	Name string `yaml:"name" default:"memwatchd" doc:"of this memory: part of the names of its socket, configuration and directories, so that several can run side by side"`

	Memory struct {
		Enabled       bool     `yaml:"enabled" default:"true" doc:"false: nothing is injected into prompts, writing to memory succeeds without effect, and keyed items read as empty"`
		Dir           string   `yaml:"dir" default:"~/.morph/memory" doc:"the root: the directory with the Markdown files"`
		Owner         string   `yaml:"owner" default:"owner" doc:"the subject that whatever names no other belongs to"`
		Timezone      string   `yaml:"timezone" default:"Local" doc:"where days begin and end: an IANA name such as Europe/Berlin, or Local for the machine's"`
		ShortTermDays int      `yaml:"short_term_days" default:"7" min:"1" max:"3650" doc:"how many days of sessions are recent"`
		Layout        string   `yaml:"layout" default:"auto" enum:"auto,root,memory" doc:"where days of new sessions lie: root, memory (the directory memory/ of the root), or auto for memory/ if there is one"`
		Users         []string `yaml:"users" doc:"directories of the root that are a user's although they do not hold both MEMORY.md and memory/"`
		FullMaxChars  int      `yaml:"full_max_chars" default:"5000" min:"100" max:"10000000" doc:"how many characters of MEMORY.md the context format full shows; longer ones are cut in the middle"`
		Injection     struct {
			Enabled  bool `yaml:"enabled" default:"true" doc:"false: context blocks are empty"`
			MaxItems int  `yaml:"max_items" default:"50" min:"0" max:"10000" doc:"how many lines a context block may have"`
			MaxChars int  `yaml:"max_chars" default:"6000" min:"0" max:"10000000" doc:"how many characters a block of the formats items and relevant may have"`
		} `yaml:"injection"`
	} `yaml:"memory"`

	Visibility struct {
		Daily    string `yaml:"daily" default:"public_ok" enum:"public_ok,private_only" doc:"of daily notes that do not say otherwise: public_ok or private_only"`
		Identity string `yaml:"identity" default:"auto" enum:"auto,public_ok,private_only" doc:"of SOUL.md and USER.md: public_ok, private_only, or auto for SOUL.md public and USER.md private"`
	} `yaml:"visibility"`

	Context struct {
		Untrusted string `yaml:"untrusted" default:"mark" enum:"mark,omit" doc:"what was written in public, or comes from a topic, in context blocks: mark it, or omit it"`
	} `yaml:"context"`

	Watch struct {
		Settle      time.Duration `yaml:"settle" default:"30ms" min:"1ms" max:"1m" doc:"a file is read when it was quiet for so long"`
		MaxWait     time.Duration `yaml:"max_wait" default:"1s" min:"1ms" max:"10m" doc:"and at the latest so long after its first change"`
		Vanish      time.Duration `yaml:"vanish" default:"500ms" min:"1ms" max:"10m" doc:"a file that is gone may come back for so long: editors rename the old one away first"`
		Reconcile   time.Duration `yaml:"reconcile" default:"60s" min:"1s" doc:"how often the tree is compared with what is known of it, by size and times"`
		Verify      time.Duration `yaml:"verify" default:"24h" min:"1m" doc:"how often it is compared by content"`
		Poll        time.Duration `yaml:"poll" default:"2s" min:"100ms" doc:"how often directories are looked at that cannot be watched"`
		MaxFileSize size          `yaml:"max_file_size" default:"4MiB" min:"1KiB" max:"1GiB" doc:"larger files are not read"`
		Ignore      []string      `yaml:"ignore" doc:"patterns, as in .gitignore, of what is not read"`
	} `yaml:"watch"`

	Index struct {
		Dir string `yaml:"dir" doc:"of the index, which can be deleted at any time; empty: memwatchd/<name> in the user's cache directory"`
	} `yaml:"index"`

	State struct {
		Dir string `yaml:"dir" doc:"of the lock and other state; empty: memwatchd/<name> in the user's state directory"`
	} `yaml:"state"`

	Write struct {
		Enabled bool          `yaml:"enabled" default:"true" doc:"false: no file is changed that nobody asked to change; what is asked for by a command or an agent still is"`
		Quiet   time.Duration `yaml:"quiet" default:"10s" min:"0s" max:"24h" doc:"a file that somebody else has changed is left alone for so long"`
		MaxSize size          `yaml:"max_size" default:"4MiB" min:"1KiB" max:"1GiB" doc:"larger files are never changed"`
		Fuse    int           `yaml:"fuse" default:"20" min:"1" max:"10000" doc:"a file that was changed so often within a minute is left alone, and reported"`
	} `yaml:"write"`

	Journal struct {
		Keep time.Duration `yaml:"keep" default:"90d" min:"1h" doc:"how long a change can be undone"`
	} `yaml:"journal"`

	Identity struct {
		Read string `yaml:"read" default:"union" enum:"union,canonical" doc:"who asks sees what is kept under linked keys too (union), or only what is kept under the account itself (canonical)"`
	} `yaml:"identity"`

	Todosync struct {
		Enabled   bool     `yaml:"enabled" default:"true" doc:"false: a task that is done in one file is not ticked in others"`
		Days      int      `yaml:"days" default:"7" min:"1" max:"3650" doc:"files of how many days are kept in step"`
		Tasks     []string `yaml:"tasks" default:"Tasks,TODO,待办与承诺" doc:"names of the sections with tasks"`
		FollowUps []string `yaml:"follow_ups" default:"Follow Ups,Follow-ups,跟进" doc:"names of the sections with follow-ups"`
	} `yaml:"todosync"`

	Compactor struct {
		Enabled  bool          `yaml:"enabled" default:"true" doc:"false: nothing is tidied up unless asked for"`
		Schedule string        `yaml:"schedule" default:"0 3 * * *" doc:"when, as minute, hour, day, month and weekday in memory.timezone"`
		MaxLoss  float64       `yaml:"max_loss" default:"0.25" min:"0" max:"1" doc:"the largest share of a file's items that one run moves to the archive"`
		Limits   []limitConfig `yaml:"limits" default:"[{path: '_longterms/*/_index.md'}]" doc:"which files are kept within which size. Each has"`
		Host     string        `yaml:"host" doc:"the machine that does it, where several share the directory; empty: the first that comes"`
	} `yaml:"compactor"`

	Compress struct {
		Enabled bool          `yaml:"enabled" default:"false" doc:"true: old sessions and daily notes are summed up in the subject's files, and archived"`
		Cutoff  time.Duration `yaml:"cutoff" default:"48h" min:"24h" doc:"how old they are then"`
	} `yaml:"compress"`

	Archive struct {
		After time.Duration `yaml:"after" default:"0s" doc:"days older than this are moved to the archive; 0s: never"`
	} `yaml:"archive"`

	LLM struct {
		Endpoint string        `yaml:"endpoint" doc:"of a service that speaks the OpenAI protocol, such as http://127.0.0.1:11434/v1; empty: none is asked, and drafts are merged by rules"`
		Model    string        `yaml:"model" doc:"the model to ask for"`
		KeyFile  string        `yaml:"key_file" doc:"holds the key of the service; empty: it needs none"`
		Timeout  time.Duration `yaml:"timeout" default:"20s" min:"100ms" max:"10m" doc:"how long its answer may take; then the rules are used"`
		Private  bool          `yaml:"private" default:"false" doc:"true: it is sent private text too"`
	} `yaml:"llm"`

	Capture struct {
		Ntfy struct {
			Server    string `yaml:"server" default:"https://ntfy.sh" doc:"where the topic is"`
			Topic     string `yaml:"topic" doc:"messages to this topic become notes of the owner's day; empty: none do"`
			TokenFile string `yaml:"token_file" doc:"holds an access token of the server; empty: the topic needs none"`
		} `yaml:"ntfy"`
	} `yaml:"capture"`

	Hooks struct {
		Enabled         bool `yaml:"enabled" default:"true" doc:"false: the hooks of agents do nothing"`
		Capture         bool `yaml:"capture" default:"true" doc:"true: what was decided, preferred or to be remembered is saved from a conversation before it is compressed away, or ends"`
		StoreResponses  bool `yaml:"store_responses" default:"false" doc:"true: one to three bullets of what an agent has achieved are saved whenever it has answered"`
		ContextLimit    int  `yaml:"context_limit" default:"8" min:"1" max:"100" doc:"how many entries a prompt is given at most"`
		ContextMaxChars int  `yaml:"context_max_chars" default:"4000" min:"100" max:"9000" doc:"how many characters of memory a session or a prompt is given at most"`
	} `yaml:"hooks"`

	IPC struct {
		Listeners      []Listener    `yaml:"listeners" doc:"where to listen; none: the owner's own socket, <name>.sock in $XDG_RUNTIME_DIR/memwatchd. Each has"`
		SyncTimeout    time.Duration `yaml:"sync_timeout" default:"2s" min:"0s" max:"1m" doc:"how long a question waits for changes that were made before it"`
		MaxRequest     size          `yaml:"max_request" default:"1MiB" min:"1KiB" max:"64MiB" doc:"largest request"`
		MaxHeader      size          `yaml:"max_header" default:"16KiB" min:"1KiB" max:"1MiB" doc:"largest header of a request"`
		ReadHeader     time.Duration `yaml:"read_header" default:"5s" min:"10ms" doc:"how long a client may take to send the header"`
		ReadBody       time.Duration `yaml:"read_body" default:"10s" min:"10ms" doc:"how long it may take to send the rest"`
		Write          time.Duration `yaml:"write" default:"10s" min:"10ms" doc:"how long it may take to receive the answer"`
		Idle           time.Duration `yaml:"idle" default:"2m" min:"10ms" doc:"how long it may keep a connection open without asking"`
		MaxConnections int           `yaml:"max_connections" default:"256" min:"1" max:"65536" doc:"how many connections a listener has at a time"`
		Drain          time.Duration `yaml:"drain" default:"5s" min:"0s" max:"5m" doc:"how long requests under way may take when the daemon ends"`
		Rate           float64       `yaml:"rate" default:"0" min:"0" doc:"requests a second that a listener answers; 0 for any number"`
	} `yaml:"ipc"`

	Log struct {
		Level  string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"debug, info, warn or error"`
		Format string `yaml:"format" default:"text" enum:"text,json" doc:"text or json"`
	} `yaml:"log"`

	File     string // path of the configuration file; empty without one
	Location *time.Location
	Schedule *compactor.Schedule
}

// A Listener is one address to listen on. A listener with a subject, a context
// or operations has a fixed scope.
type Listener struct {
	Path       string   `yaml:"path" doc:"of a Unix socket"`
	Mode       string   `yaml:"mode" default:"0600" doc:"of the socket"`
	Group      string   `yaml:"group" doc:"of the socket: with it the mode alone decides who may connect"`
	AllowUIDs  []int    `yaml:"allow_uids" doc:"users admitted beside the daemon's own and root"`
	Address    string   `yaml:"address" doc:"of a TCP listener instead, on the loopback interface, such as 127.0.0.1:7070"`
	TokenFile  string   `yaml:"token_file" doc:"holds what TCP clients must send as Authorization: Bearer"`
	Subject    string   `yaml:"subject" doc:"fixed scope: the subject"`
	Context    string   `yaml:"context" enum:"private,public,unknown" doc:"fixed scope: private, public or unknown"`
	Operations []string `yaml:"operations" doc:"fixed scope: the only operations; none: all that a fixed scope may have"`
	Rate       float64  `yaml:"rate" default:"0" min:"0" doc:"requests a second; 0: as ipc.rate says"`
}

// A limitConfig bounds the size of the long-term files that match a pattern.
type limitConfig struct {
	Path       string `yaml:"path" doc:"pattern of the files, such as MEMORY.md or _longterms/*/_index.md"`
	Items      int    `yaml:"items" default:"100" min:"1" max:"1000000" doc:"how many items of the top level"`
	Characters int    `yaml:"characters" default:"3000" min:"1" max:"1000000000" doc:"how many characters, without frontmatter and attributes"`
}

// size is a number of bytes, written with a unit.
type size int64

var units = []struct {
	name  string
	bytes size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func parseSize(s string) (size, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n >= 0 && n <= (1<<62)/int64(u.bytes) {
			return size(n) * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("%q is not a size such as 512KiB or 4MiB", s)
}

func (s size) String() string {
	for _, u := range units {
		if s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return "0B"
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// Finish computes derived values, such as absolute paths and the location, and
// checks the constraints that tags cannot express.
func (c *Config) Finish() error {
	if !validName.MatchString(c.Name) {
		return fmt.Errorf("name: %q must be made of letters, digits, dots, dashes and underscores", c.Name)
	}
	if err := memory.ValidSubject(c.Memory.Owner); err != nil {
		return fmt.Errorf("memory.owner: %w", err)
	}
	location, err := time.LoadLocation(c.Memory.Timezone)
	if err != nil {
		return fmt.Errorf("memory.timezone: %w", err)
	}
	c.Location = location
	if c.Index.Dir == "" {
		c.Index.Dir = filepath.Join(xdg.CacheHome, "memwatchd", c.Name)
	}
	if c.State.Dir == "" {
		c.State.Dir = filepath.Join(xdg.StateHome, "memwatchd", c.Name)
	}
	for _, p := range []struct {
		key  string
		path *string
	}{{"memory.dir", &c.Memory.Dir}, {"index.dir", &c.Index.Dir}, {"state.dir", &c.State.Dir}} {
		*p.path, err = Absolute(*p.path)
		if err != nil {
			return fmt.Errorf("%s: %w", p.key, err)
		}
	}
	for _, p := range []struct{ key, path string }{{"index.dir", c.Index.Dir}, {"state.dir", c.State.Dir}} {
		if Within(p.path, c.Memory.Dir) {
			return fmt.Errorf("%s: %s lies in the memory directory, where it would be watched and synced", p.key,
				p.path)
		}
	}
	if c.Watch.MaxWait < c.Watch.Settle {
		return fmt.Errorf("watch.max_wait: %s is less than watch.settle, %s", c.Watch.MaxWait, c.Watch.Settle)
	}
	c.Schedule, err = compactor.ParseSchedule(c.Compactor.Schedule)
	if err != nil {
		return fmt.Errorf("compactor.schedule: %w", err)
	}
	for _, l := range c.Compactor.Limits {
		if !doublestar.ValidatePattern(l.Path) || l.Path == "" {
			return fmt.Errorf("compactor.limits: %q is not a pattern of paths", l.Path)
		}
	}
	if c.Archive.After != 0 && c.Archive.After < 48*time.Hour {
		return fmt.Errorf("archive.after: %s is less than 48h: days that are still written to would go",
			c.Archive.After)
	}
	if err := c.finishLLM(); err != nil {
		return err
	}
	if err := c.finishTopic(); err != nil {
		return err
	}
	if len(c.IPC.Listeners) == 0 {
		c.IPC.Listeners = []Listener{{Path: client.DefaultSocket(c.Name), Mode: "0600"}}
	}
	for i := range c.IPC.Listeners {
		if err := c.IPC.Listeners[i].finish(); err != nil {
			return fmt.Errorf("ipc.listeners: %w", err)
		}
	}
	return nil
}

func (l *Listener) finish() (err error) {
	if (l.Path == "") == (l.Address == "") {
		return fmt.Errorf("each has either a path or an address")
	}
	if l.Path != "" {
		l.Path, err = Absolute(l.Path)
		if err != nil {
			return err
		}
	}
	if l.Address != "" && l.TokenFile == "" {
		return fmt.Errorf("%s: a TCP listener needs a token_file", l.Address)
	}
	if _, err := strconv.ParseUint(l.Mode, 8, 9); err != nil {
		return fmt.Errorf("mode: %q is not a file mode such as 0660", l.Mode)
	}
	if l.Subject != "" {
		if err := memory.ValidSubject(l.Subject); err != nil {
			return fmt.Errorf("subject: %w", err)
		}
	}
	names := operationNames()
	for _, op := range l.Operations {
		if err := OneOf(op, names); err != nil {
			return fmt.Errorf("operations: %w", err)
		}
	}
	return nil
}

// Endpoint returns the listener as an [ipc.Endpoint] and reads its token file.
// rate applies if the listener has no rate of its own.
func (l *Listener) Endpoint(rate float64) (ipc.Endpoint, error) {
	mode, err := strconv.ParseUint(l.Mode, 8, 9)
	if err != nil {
		return ipc.Endpoint{}, err
	}
	e := ipc.Endpoint{
		Path: l.Path, Mode: fs.FileMode(mode), Group: l.Group, AllowUIDs: l.AllowUIDs,
		Address: l.Address, Rate: cmp.Or(l.Rate, rate),
	}
	if l.TokenFile != "" {
		path, err := Absolute(l.TokenFile)
		if err != nil {
			return ipc.Endpoint{}, err
		}
		token, err := os.ReadFile(path)
		if err != nil {
			return ipc.Endpoint{}, fmt.Errorf("token of %s: %w", l.Address, err)
		}
		e.Token = strings.TrimSpace(string(token))
	}
	if l.Subject != "" || l.Context != "" || len(l.Operations) > 0 {
		e.Fixed = &api.Fixed{Subject: l.Subject, Context: l.Context, Operations: l.Operations}
	}
	return e, nil
}

// Socket returns the first Unix socket without a fixed scope, or the default
// socket. The owner's tools connect to it.
func (c *Config) Socket() string {
	for _, l := range c.IPC.Listeners {
		if l.Path != "" && l.Subject == "" && l.Context == "" && len(l.Operations) == 0 {
			return l.Path
		}
	}
	return client.DefaultSocket(c.Name)
}

// Layout returns the rules for reading the files of the root.
func (c *Config) Layout() memory.Layout {
	l := memory.Layout{
		Owner: c.Memory.Owner, Location: c.Location,
		Tasks: c.Todosync.Tasks, FollowUps: c.Todosync.FollowUps,
		Mask: secrets.Mask,
	}
	daily := memory.ParseVisibility(c.Visibility.Daily)
	l.Daily = &daily
	if c.Visibility.Identity != "auto" {
		identity := memory.ParseVisibility(c.Visibility.Identity)
		l.Identity = &identity
	}
	return l
}

// LogLevel returns the level of log.level.
func (c *Config) LogLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return slog.LevelInfo // unreachable: the enum tag rejects other names
	}
	return level
}

// Absolute returns an absolute path and expands a leading "~/".
func Absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(home, rest)
	}
	return filepath.Abs(path)
}

// Within reports whether path is dir or lies below dir.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func operationNames() []string {
	names := make([]string, len(api.Operations))
	for i, op := range api.Operations {
		names[i] = op.Name
	}
	return names
}
