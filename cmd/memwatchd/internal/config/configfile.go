package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// EnvPrefix is the prefix of the environment variables that set keys.
const EnvPrefix = "MEMWATCHD_"

// A Key is one configuration key, described by its struct tags.
type Key struct {
	Name  string // full name, such as journal.keep
	Field reflect.StructField
	index []int
}

// Env returns the environment variable of the key.
func (k Key) Env() string { return envName(k.Name) }

func envName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// Tag returns a struct tag of the key.
func (k Key) Tag(name string) string { return k.Field.Tag.Get(name) }

// KeysOf returns the keys of a struct in order, including those of nested
// structs.
func KeysOf(t reflect.Type) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		switch {
		case name == "", name == "-":
		case f.Type.Kind() == reflect.Struct:
			for _, k := range KeysOf(f.Type) {
				keys = append(keys, Key{name + "." + k.Name, k.Field, append([]int{i}, k.index...)})
			}
		default:
			keys = append(keys, Key{name, f, []int{i}})
		}
	}
	return keys
}

// Keys are all configuration keys.
var Keys = KeysOf(reflect.TypeFor[Config]())

// Flags are the command-line flags that select and override the configuration.
type Flags struct {
	File, Name, Dir string

	Listen string // of serve: the owner's socket, in place of the configured one
}

// Command returns the shell command that runs a memwatchd command on the same
// memory.
func (f Flags) Command(words string) string {
	return term.ShellLine(append([]string{"memwatchd"}, f.Words()...)...) + " " + words
}

// Load returns the configuration: the defaults, overridden by the file, the
// environment and the flags, in this order. Relative paths in the file are relative to
// its directory, others to the working directory. A missing file is an error only if
// flags.File names it. If neither the flags nor the environment select a file by path
// or name, flags.Dir selects the file that names this directory, if there is one. On
// error Load returns nil.
func Load(flags Flags, environ []string) (*Config, error) {
	c := Default()
	defaultDir := c.Memory.Dir
	c.Memory.Dir = ""
	name, path := selectFile(flags, environ)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		c.File = path
		if err := c.ReadYAML(path, text); err != nil {
			return nil, err
		}
		resolvePaths(reflect.ValueOf(c).Elem(), filepath.Dir(path))
	case flags.File != "" || !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := c.readEnv(environ); err != nil {
		return nil, err
	}
	c.Name = cmp.Or(name, c.Name)
	if c.Memory.Dir != "" && flags.Dir != "" && !sameDir(c.Memory.Dir, flags.Dir) {
		c.OtherDir = c.Memory.Dir
	}
	c.Memory.Dir = cmp.Or(flags.Dir, c.Memory.Dir)
	c.NamesDir = c.Memory.Dir != ""
	c.Memory.Dir = cmp.Or(c.Memory.Dir, defaultDir)
	if flags.Listen != "" {
		c.listenOn(flags.Listen)
	}
	if err := c.Finish(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// selectFile returns the path of the configuration file, and the name of the
// memory if it does not depend on the text of the file.
func selectFile(flags Flags, environ []string) (name, path string) {
	name, path = flags.Name, flags.File
	if i := slices.IndexFunc(environ, func(s string) bool { return strings.HasPrefix(s, EnvPrefix+"NAME=") }); i >= 0 &&
		name == "" {
		name = strings.TrimPrefix(environ[i], EnvPrefix+"NAME=")
	}
	if name == "" && path == "" && flags.Dir != "" {
		name = NameOf(flags.Dir)
	}
	return name, cmp.Or(path, filepath.Join(xdg.ConfigHome, "memwatchd", cmp.Or(name, Default().Name)+".yaml"))
}

// FindName returns the name of the memory that the flags select, even if the
// configuration is invalid. If a flag names a file or a directory, and the name
// is uncertain, FindName returns an error.
func FindName(flags Flags, environ []string) (string, error) {
	c, invalid := Load(flags, environ)
	if invalid == nil {
		return c.Name, nil
	}
	name, path := selectFile(flags, environ)
	if name != "" {
		return name, nil
	}
	var file struct{ Name string }
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil && flags.File != "" || flags.File == "" && flags.Dir != "" {
		return "", fmt.Errorf("the name of the memory is uncertain, set --name: %w", invalid)
	}
	return cmp.Or(file.Name, Default().Name), nil
}

// NameOf returns the name of the configuration file of a memory directory, or ""
// if no file in the user's configuration directory names it.
func NameOf(dir string) string {
	files, err := filepath.Glob(filepath.Join(xdg.ConfigHome, "memwatchd", "*.yaml"))
	if err != nil {
		return "" // the path of the configuration directory is not a pattern
	}
	for _, file := range files {
		var c struct{ Memory struct{ Dir string } }
		text, err := os.ReadFile(file)
		if err == nil && yaml.Unmarshal(text, &c) == nil && c.Memory.Dir != "" &&
			sameDir(resolvePath(filepath.Dir(file), c.Memory.Dir), dir) {
			return strings.TrimSuffix(filepath.Base(file), ".yaml")
		}
	}
	return ""
}

// sameDir reports whether two paths name the same directory.
func sameDir(a, b string) bool {
	a, err1 := AbsolutePath(a)
	b, err2 := AbsolutePath(b)
	return err1 == nil && err2 == nil && RealPath(a) == RealPath(b)
}

// Words returns the flags as arguments of another command on the same memory.
func (f Flags) Words() (words []string) {
	for _, flag := range [][2]string{{"--config", f.File}, {"--name", f.Name}, {"--dir", f.Dir}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}

// Absolute returns the flags with absolute paths, for a program that starts in
// another directory. The errors are those of [AbsolutePath].
func (f Flags) Absolute() (Flags, error) {
	for _, path := range []*string{&f.File, &f.Dir} {
		if *path == "" {
			continue
		}
		var err error
		*path, err = AbsolutePath(*path)
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// Default returns the configuration from the defaults in the tags, without the
// values that Finish computes.
func Default() *Config {
	c := &Config{Tuning: defaultTuning}
	setDefaults(reflect.ValueOf(c).Elem(), Keys)
	return c
}

func setDefaults(v reflect.Value, keys []Key) {
	for _, k := range keys {
		if s, ok := k.Field.Tag.Lookup("default"); ok {
			if err := k.setText(v, s); err != nil {
				panic(fmt.Sprintf("default of %s: %v", k.Name, err)) // a mistake in a tag; every test would fail
			}
		}
	}
}

// ReadYAML sets the keys in the text of a file. For an unknown key, the error
// contains the key, its line and the nearest existing key.
func (c *Config) ReadYAML(path string, text []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // the file is empty or contains only comments
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one YAML document", path)
	}
	c.takeRemoved(doc.Content[0], "")
	if err := setNode(reflect.ValueOf(c).Elem(), "", Keys, doc.Content[0]); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	return nil
}

type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%d: %v", e.line, e.err) }

func errorAtLine(n *yaml.Node, format string, args ...any) error {
	return &lineError{n.Line, fmt.Errorf(format, args...)}
}

// setNode sets the keys of a mapping. Its errors have the type *[lineError].
func setNode(v reflect.Value, prefix string, keys []Key, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil // all keys of the section are commented out
	}
	if n.Kind != yaml.MappingNode {
		return errorAtLine(n, "%s must be a mapping", cmp.Or(strings.TrimSuffix(prefix, "."), "the configuration"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, value := n.Content[i], n.Content[i+1]
		name := prefix + at.Value
		if seen[name] {
			return errorAtLine(at, "%s is duplicated", name)
		}
		seen[name] = true
		if value.Kind == yaml.AliasNode {
			return errorAtLine(at, "%s: aliases are not supported", name)
		}
		if slices.ContainsFunc(keys, func(k Key) bool { return strings.HasPrefix(k.Name, name+".") }) {
			if err := setNode(v, name+".", keys, value); err != nil {
				return err
			}
			continue
		}
		j := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
		if j < 0 {
			return errorAtLine(at, "unknown key %s%s", name, SuggestName(name, KeyNames(keys)))
		}
		if err := keys[j].setNode(v, value); err != nil {
			if _, ok := errors.AsType[*lineError](err); ok {
				return err // an error in a list item already has its line
			}
			return errorAtLine(value, "%s: %w", name, err)
		}
	}
	return nil
}

// KeyNames returns the names of keys.
func KeyNames(keys []Key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	return names
}

// SuggestName returns ": did you mean …?" with the nearest of names, or "" if
// none is near.
func SuggestName(name string, names []string) string {
	if near := api.NearestName(name, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// aliases are environment variables of another memory system that set keys of
// its hooks. A variable of memwatchd takes precedence.
var aliases = map[string]string{
	"MILTON_MEMORY_ENABLED":           "hooks.enabled",
	"MILTON_MEMORY_STORE_RESPONSES":   "hooks.store_responses",
	"MILTON_MEMORY_CONTEXT_LIMIT":     "hooks.context_limit",
	"MILTON_MEMORY_CONTEXT_MAX_CHARS": "hooks.context_max_chars",
}

// readAliases sets the keys from the aliases in the environment and adds one
// warning that lists them. An invalid value has no effect, because the variable is meant
// for another program.
func (c *Config) readAliases(environ []string) {
	var used []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == aliases[name] })
		if i < 0 {
			continue
		}
		use := name + " (" + Keys[i].Env() + ")"
		if err := Keys[i].setText(reflect.ValueOf(c).Elem(), value); err != nil {
			use += fmt.Sprintf(" has no effect: %v", err)
		}
		used = append(used, use)
	}
	if used != nil {
		slices.Sort(used)
		c.warn("variables of another memory system set keys; rename them: " + strings.Join(used, ", "))
	}
}

func (c *Config) readEnv(environ []string) error {
	c.readAliases(environ)
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Env()
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		i := slices.Index(names, name)
		if i < 0 && slices.ContainsFunc(append(strings.Fields(removedKeys), slices.Collect(maps.Keys(replacedKeys))...),
			func(key string) bool { return envName(key) == name && c.isRemoved(key, value) }) {
			continue
		}
		if i < 0 {
			return fmt.Errorf("environment: unknown variable %s%s", name, SuggestName(name, names))
		}
		if err := Keys[i].setText(reflect.ValueOf(c).Elem(), value); err != nil {
			return fmt.Errorf("environment: %s: %w", name, err)
		}
	}
	return nil
}

// setNode sets the key to a value in the file. A list key also accepts a single
// value.
func (k Key) setNode(v reflect.Value, n *yaml.Node) error {
	field := v.FieldByIndex(k.index)
	single, scalar := field.Kind() != reflect.Slice, n.Kind == yaml.ScalarNode
	switch {
	case single && !scalar:
		return errors.New("must be a single value")
	case single && n.Tag == "!!null":
		return nil // a null value keeps the default
	case single:
		return k.setScalar(field, n.Value)
	case scalar && n.Tag == "!!null":
		field.SetZero()
		return nil
	case scalar: // a single value where a list is expected
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}}
	case n.Kind != yaml.SequenceNode:
		return errors.New("must be a list")
	}
	list := reflect.MakeSlice(field.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if err := k.setItem(list.Index(i), item); err != nil {
			return err
		}
	}
	field.Set(list)
	return nil
}

func (k Key) setItem(item reflect.Value, n *yaml.Node) error {
	if item.Kind() == reflect.Struct {
		keys := KeysOf(item.Type())
		setDefaults(item, keys)
		return setNode(item, "", keys, n)
	}
	if n.Kind != yaml.ScalarNode {
		return errors.New("must be a list of single values")
	}
	return k.setScalar(item, n.Value)
}

// setText sets the key to the text of a tag or a variable. Lists are separated
// by commas or written as YAML.
func (k Key) setText(v reflect.Value, s string) error {
	field := v.FieldByIndex(k.index)
	if field.Kind() != reflect.Slice {
		return k.setScalar(field, s)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	if field.Type().Elem().Kind() == reflect.Struct || strings.HasPrefix(s, "[") {
		doc := yaml.Node{Content: []*yaml.Node{list}} // stays so if the text is empty
		if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
			return err
		}
		return k.setNode(v, doc.Content[0])
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part != "" {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: part})
		}
	}
	return k.setNode(v, list)
}

// setScalar sets a single value after checking it against the tags min, max and
// enum.
func (k Key) setScalar(field reflect.Value, s string) error {
	v, err := parseScalar(field.Type(), s)
	if err != nil {
		return err
	}
	for _, bound := range []struct {
		tag  string
		sign int
		word string
	}{{"min", -1, "less"}, {"max", 1, "more"}} {
		text := k.Tag(bound.tag)
		if text == "" {
			continue
		}
		limit, err := parseScalar(field.Type(), text)
		if err != nil {
			return err
		}
		if cmp.Compare(asFloat(v), asFloat(limit)) == bound.sign {
			return fmt.Errorf("%s is %s than %s", s, bound.word, text)
		}
	}
	if names := k.Tag("enum"); names != "" && s != "" {
		if err := CheckOneOf(s, strings.Split(names, ",")); err != nil {
			return err
		}
	}
	field.Set(v)
	return nil
}

// CheckOneOf returns an error with a suggestion if s is not one of names.
func CheckOneOf(s string, names []string) error {
	if slices.Contains(names, s) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s%s", s, strings.Join(names, ", "), SuggestName(s, names))
}

func parseScalar(t reflect.Type, s string) (reflect.Value, error) {
	var v any = s
	var err error
	noun := ""
	switch reflect.Zero(t).Interface().(type) {
	case time.Duration:
		v, err = parseDuration(s)
		noun = "a duration such as 30ms, 10s, 2m or 90d"
	case size:
		v, err = parseSize(s)
		noun = "a size such as 512KiB or 4MiB"
	case bool:
		v, err = parseBool(s)
		noun = "true or false"
	case int:
		v, err = strconv.Atoi(s)
		noun = "a whole number"
	case float64:
		v, err = strconv.ParseFloat(s, 64)
		noun = "a number"
	}
	if err != nil {
		return reflect.Value{}, fmt.Errorf("%q is not %s", s, noun)
	}
	return reflect.ValueOf(v), nil
}

// parseBool parses a value in the format of [strconv.ParseBool] or one of the words of
// YAML 1.1.
func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "yes", "on":
		return true, nil
	case "no", "off":
		return false, nil
	}
	return strconv.ParseBool(s)
}

// parseDuration parses a duration in the format of [time.ParseDuration] or a
// whole number of days, such as 90d.
func parseDuration(s string) (time.Duration, error) {
	digits, ok := strings.CutSuffix(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return time.Duration(n) * 24 * time.Hour, err
}

func asFloat(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }
