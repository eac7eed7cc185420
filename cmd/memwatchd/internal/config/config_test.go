package config

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

var Update = flag.Bool("update", false, "write golden files anew")

// exampleHeader is the first text of the example.
const exampleHeader = "# Configuration of memwatchd: all keys with their defaults. You can also set each key\n" +
	"# in the environment: journal.keep is MEMWATCHD_JOURNAL_KEEP.\n"

// TestExampleIsTheDefaults checks that config.example.yaml contains every key
// with its default.
func TestExampleIsTheDefaults(t *testing.T) {
	const path = "../../../../config.example.yaml"
	want := FormatYAML(Default(), exampleHeader)
	if *Update {
		testkit.Must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("config.example.yaml is not what the keys say; run go test ./cmd/memwatchd -update (-want +got):\n%s", diff)
	}
	var read Config
	testkit.Must(t, read.readYAML(path, got))
	if diff := keyDiff(Default(), &read); diff != "" {
		t.Errorf("reading the example does not give the defaults (-want +got):\n%s", diff)
	}
}

// TestFormatYAMLLists checks that a printed configuration with lists of every type can
// be read again.
func TestFormatYAMLLists(t *testing.T) {
	const text = "memory:\n  roots: [{name: vault, path: /v}]\n" +
		"compactor:\n  limits: [{path: MEMORY.md}]\nipc:\n  server_uids: [1, 2]\n  listeners: [{path: /s}]\n"
	want := Default()
	testkit.Must(t, want.readYAML("want", []byte(text)))
	printed := FormatYAML(want, "")
	got := Default()
	if err := got.readYAML("printed", []byte(printed)); err != nil {
		t.Fatalf("%v in\n%s", err, printed)
	}
	if diff := keyDiff(want, got); diff != "" {
		t.Errorf("reading the printed configuration gives another (-want +got):\n%s", diff)
	}
}

// load loads a configuration from the text of a file.
func load(t *testing.T, text string, flags Flags, environ ...string) (*Config, error) {
	t.Helper()
	flags.File = filepath.Join(t.TempDir(), "config.yaml")
	testkit.Must(t, os.WriteFile(flags.File, []byte(text), 0o600))
	return Load(flags, environ)
}

// keyDiff compares two configurations key by key. A nil list equals an empty
// list.
func keyDiff(a, b *Config) string {
	values := func(c *Config) map[string]string {
		m := map[string]string{}
		for _, k := range Keys {
			m[k.Name] = scalarYAML(reflect.ValueOf(c).Elem().FieldByIndex(k.index).Interface())
		}
		return m
	}
	return cmp.Diff(values(a), values(b))
}

func TestConfigErrors(t *testing.T) {
	for _, test := range []struct {
		name, yaml, env, want string
	}{
		{"unknown key", "journal:\n  keep: 90d\n  kep: 1d\n", "", ":3: unknown key journal.kep: did you mean journal.keep?"},
		{"unknown section", "wrte:\n  ignore: x\n", "", ":1: unknown key wrte: did you mean write?"},
		{"missing section", "dir: /x\n", "", ":1: unknown key dir: did you mean memory.dir?"},
		{"empty unknown section", "wrte: {}\n", "", ":1: unknown key wrte"},
		{"twice", "name: a\nname: b\n", "", ":2: name is duplicated"},
		{"not a duration", "journal:\n  keep: quick\n", "", `:2: journal.keep: "quick" is not a duration`},
		{"too small", "journal:\n  keep: 1m\n", "", ":2: journal.keep: 1m is less than 1h"},
		{"not one of", "log:\n  level: inf\n", "", `:2: log.level: "inf" is not one of debug, info, warn, error: did you mean info?`},
		{"listener", "ipc:\n  listeners:\n    - path: /x\n      subjet: a\n", "", ":4: unknown key subjet: did you mean subject?"},
		{"unknown operation", "ipc:\n  listeners:\n    - path: /x\n      operations: [serch]\n", "", `unknown operation "serch" (did you mean "search"?)`},
		{"same name", "ipc:\n  listeners:\n    - {path: /a/bot.sock, subject: \"acct:1\"}\n    - {path: /b/bot.sock, subject: \"acct:2\"}\n", "", "/a/bot.sock and /b/bot.sock have the same name"},
		{"no token", "ipc:\n  listeners:\n    - address: 127.0.0.1:1\n", "", "needs a token_file"},
		{"alias", "name: &a x\nmemory: *a\n", "", "aliases are not supported"},
		{"name with a path", "name: ../x\n", "", "name: "},
		{"time zone", "memory:\n  timezone: Mars/Olympus\n", "", "memory.timezone: unknown time zone"},
		{"two documents", "name: a\n---\nname: b\n", "", "more than one YAML document"},
		{"days", "journal:\n  keep: 9e9d\n", "", `"9e9d" is not a duration`},
		{"schedule", "compactor: {schedule: 'TZ=UTC 0 3 * * *'}\n", "", "compactor.schedule: "},
		{"limit", "compactor:\n  limits:\n    - path: MEMORY.md\n      item: 3\n", "", ":4: unknown key item: did you mean items?"},
		{"no pattern", "compactor:\n  limits: [{path: 'a[b'}]\n", "", `"a[b" is not a path pattern`},
		{"no address", "llm: {endpoint: localhost, model: m}\n", "", "llm.endpoint: not a URL such as"},
		{"another protocol", "llm: {endpoint: 'unix:///x', model: m}\n", "", "llm.endpoint: not a URL such as"},
		{"a key in an address", "llm: {endpoint: 'https://me:key@x/v1', model: m}\n", "", "llm.endpoint: remove user, query and fragment"},
		{"no model", "llm: {endpoint: 'http://localhost:1/v1'}\n", "", "llm.model: required with llm.endpoint"},
		{"private text in the clear", "llm: {endpoint: 'http://10.0.0.7/v1', model: m, private: true}\n", "", "llm.private: private text requires https"},
		{"private text for this machine", "llm: {endpoint: 'http://127.0.0.1', model: m, private: true}\n", "", ""},
		{"public text in the clear", "embed: {endpoint: 'http://10.0.0.7', model: m}\n", "", ""},
		{"no embedding model", "embed: {endpoint: 'http://127.0.0.1'}\n", "", "embed.model: required with embed.endpoint"},
		{"private entries in the clear", "share: {private: true, weaviate: {url: 'http://weaviate.lan:8080'}}\n", "", "share.private: private entries require https"},
		{"private entries over https", "share: {private: true, weaviate: {url: 'https://weaviate.lan/'}}\n", "", ""},
		{"a key in the URL of the store", "share: {weaviate: {url: 'https://a:b@weaviate.lan'}}\n", "", "set a key in share.weaviate.key_file"},
		{"another scheme of the store", "share: {weaviate: {url: 'ftp://weaviate.lan'}}\n", "", "share.weaviate.url: not a URL"},
		{"no pattern to publish", "share: {publish: ['notes/[a'], weaviate: {url: 'http://127.0.0.1'}}\n", "", "share.publish: "},
		{"nothing is checked without a store", "share: {publish: ['[a']}\n", "", ""},
		{"no topic", "capture: {ntfy: {topic: a b}}\n", "", `capture.ntfy.topic: "a b" is not a topic`},
		{"a topic in the clear", "capture: {ntfy: {topic: 'http://ntfy.sh/a'}}\n", "", "capture.ntfy.topic: http://ntfy.sh: use https"},
		{"no server", "capture: {ntfy: {topic: ntfy.sh/a}}\n", "", "capture.ntfy.topic: "},
		{"a server with a path", "capture: {ntfy: {topic: 'https://ntfy.sh/a/b'}}\n", "", "capture.ntfy.topic: more than the name of a topic"},
		{"unknown variable", "", "MEMWATCHD_JOURNAL_KEP=1d", "unknown variable MEMWATCHD_JOURNAL_KEP: did you mean MEMWATCHD_JOURNAL_KEEP?"},
		{"bad variable", "", "MEMWATCHD_JOURNAL_KEEP=x", "MEMWATCHD_JOURNAL_KEEP"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.yaml, Flags{}, test.env)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestConfigPrecedence checks the precedence: flags, environment, file,
// defaults.
func TestConfigPrecedence(t *testing.T) {
	text := "name: file\nmemory: {dir: /file, short_term_days: 3, users: one}\ntodosync: {tasks: [a, b]}\n"
	c, err := load(t, text, Flags{Dir: "/flag"},
		"MEMWATCHD_NAME=env", "MEMWATCHD_MEMORY_SHORT_TERM_DAYS=5", "MEMWATCHD_TODOSYNC_TASKS=c, d", "PATH=x")
	testkit.Must(t, err)
	got := []any{c.Name, c.Memory.Dir, c.Memory.ShortTermDays, c.Memory.Users, c.Todosync.Tasks, c.Memory.Owner}
	want := []any{"env", "/flag", 5, []string{"one"}, []string{"c", "d"}, "owner"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRelativePaths checks that relative paths in the file are relative to its
// directory, and others to the working directory.
func TestRelativePaths(t *testing.T) {
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	text := `memory: {dir: mem, roots: [{name: v, path: ../v}]}
ipc: {listeners: [{path: ./s}, {address: "127.0.0.1:1", subject: a, token_file: t}]}
`
	c, err := load(t, text, Flags{}, "MEMWATCHD_LLM_KEY_FILE=key")
	testkit.Must(t, err)
	base := filepath.Dir(c.File)
	got := []string{c.Memory.Dir, c.Memory.Roots[0].Path, c.LLM.KeyFile, c.IPC.Listeners[0].Path,
		c.IPC.Listeners[1].TokenFile}
	want := []string{base + "/mem", filepath.Dir(base) + "/v", elsewhere + "/key", base + "/s",
		base + "/t"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHomelessPaths checks that an error about a path names its key or its flag.
func TestHomelessPaths(t *testing.T) {
	t.Setenv("HOME", "")
	_, err := load(t, "ipc:\n  listeners: [{path: ~/x}]\nmemory: {dir: /m}\n", Flags{})
	if err == nil || !strings.Contains(err.Error(), "ipc.listeners: path: ~/x: ") {
		t.Errorf("got %v", err)
	}
	if _, err := (Flags{Dir: "~/x"}).Absolute(); err == nil || !strings.HasPrefix(err.Error(), "--dir: ~/x: ") {
		t.Errorf("got %v", err)
	}
}

// TestAliases checks that the variables of another memory system set keys, below
// those of memwatchd, with one warning.
func TestAliases(t *testing.T) {
	for _, test := range []struct {
		environ, warning string
		want             []any
	}{
		{"", "", []any{true, false, 40, 1000}},
		{"MILTON_MEMORY_ENABLED=false MILTON_MEMORY_STORE_RESPONSES=true MILTON_MEMORY_CONTEXT_LIMIT=5 " +
			"MILTON_MEMORY_CONTEXT_MAX_CHARS=800 MEMWATCHD_HOOKS_CONTEXT_LIMIT=6 MILTON_OTHER=x",
			"MILTON_MEMORY_CONTEXT_LIMIT (MEMWATCHD_HOOKS_CONTEXT_LIMIT), MILTON_MEMORY_CONTEXT_MAX_CHARS (", []any{false, true, 6, 200}},
		{"MILTON_MEMORY_CONTEXT_MAX_CHARS=20000", "has no effect: 5000 is more than 2250", []any{true, false, 40, 1000}},
		{"MILTON_MEMORY_CONTEXT_LIMIT=", `has no effect: "" is not a whole number`, []any{true, false, 40, 1000}},
		{"MILTON_MEMORY_STORE_RESPONSES=maybe", `"maybe" is not true or false`, []any{true, false, 40, 1000}},
		{"MILTON_MEMORY_ENABLED=off", "rename them", []any{false, false, 40, 1000}},
		{"MILTON_MEMORY_STORE_RESPONSES=Yes", "rename them", []any{true, true, 40, 1000}},
	} {
		c, err := Load(Flags{Dir: "/m"}, strings.Fields(test.environ))
		if err != nil {
			t.Errorf("%s: %v", test.environ, err)
			continue
		}
		got := []any{c.Hooks.Enabled, c.Hooks.StoreResponses, c.Hooks.ContextLimit, c.Hooks.ContextTokens}
		if diff := cmp.Diff(test.want, got); diff != "" || !strings.Contains(c.Warning, test.warning) || (c.Warning == "") != (test.warning == "") {
			t.Errorf("%s: the warning is %q (-want +got):\n%s", test.environ, c.Warning, diff)
		}
	}
}

// TestRemovedKeys checks that a file and a variable with removed keys load with a warning
// about each, beside the other keys, and that no removed key exists.
func TestRemovedKeys(t *testing.T) {
	text := "context: {untrusted: mark}\nwatch: {settle: 1s}\ntodosync: {days: 3, tasks: [x]}\nshare: {host: x, weaviate: {key_file: k}}\nprojects: [{dir: /p}]\nipc:\n  drain: [odd]\n"
	c, err := load(t, text, Flags{}, "MEMWATCHD_IPC_MAX_REQUEST=9")
	testkit.Must(t, err)
	want := "context.untrusted has no effect: its default suits every memory; watch.settle has no effect: its default suits every memory; " +
		"todosync.days has no effect: set memory.short_term_days; " +
		"share.host has no effect: set memory.host; " +
		"projects has no effect: work in a repository, whose directory names the project, or give --project; " +
		"ipc.drain has no effect: its default suits every memory; " +
		"ipc.max_request has no effect: its default suits every memory"
	if c.Warning != want || filepath.Base(c.Share.Weaviate.KeyFile) != "k" || len(c.Todosync.Tasks) != 1 {
		t.Errorf("got the warning %q and %+v, %v", c.Warning, c.Share.Weaviate, c.Todosync.Tasks)
	}
	for _, k := range Keys {
		if strings.Contains(removedKeys, " "+k.Name+" ") || replacedKeys[k.Name] != "" {
			t.Errorf("%s exists", k.Name)
		}
	}
}

// TestFindName checks that an invalid configuration has the name that Load would
// give to it, and that an uncertain name is an error.
func TestFindName(t *testing.T) {
	t.Cleanup(xdg.Reload)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	xdg.Reload()
	dir := filepath.Join(xdg.ConfigHome, "memwatchd")
	testkit.Must(t, os.Mkdir(dir, 0o700))
	file := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"work.yaml": "memory: {dir: /work, dirr: /}\n", // selected by its base name
		"home.yaml": "memory: {dir: ../mem}\n",
		"x.yml":     "name: named\nbogus: 1\n",
		"y.yml":     "bogus: 1\n",
		"z.yml":     "name: [\n",
	} {
		testkit.Must(t, os.WriteFile(file(name), []byte(text), 0o600))
	}
	bogus := "MEMWATCHD_BOGUS=1"
	for _, test := range []struct {
		flags   Flags
		environ []string
		want    string // "" for an error
	}{
		{Flags{Name: "work"}, nil, "work"},
		{Flags{Dir: "/work"}, nil, "work"},
		{Flags{Dir: filepath.Join(xdg.ConfigHome, "mem")}, nil, "home"},
		{Flags{Dir: "/other"}, []string{bogus}, ""},
		{Flags{Dir: "/other"}, []string{bogus, "MEMWATCHD_NAME=other"}, "other"},
		{Flags{File: file("x.yml")}, nil, "named"},
		{Flags{File: file("x.yml"), Dir: "/other"}, nil, "named"},
		{Flags{File: file("x.yml"), Name: "work"}, nil, "work"},
		{Flags{File: file("y.yml")}, nil, "memwatchd"},
		{Flags{File: file("z.yml")}, nil, ""},
		{Flags{File: file("none.yml")}, nil, ""},
		{Flags{}, []string{bogus, "MEMWATCHD_NAME=work"}, "work"},
		{Flags{}, []string{bogus}, "memwatchd"},
	} {
		got, err := FindName(test.flags, test.environ)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%+v, %v: got %q, %v, want %q", test.flags, test.environ, got, err, test.want)
		}
	}
}
