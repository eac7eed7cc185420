package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// EnvPrefix begins the names of the variables that set keys.
const EnvPrefix = "MEMWATCHD_"

// A key is one thing that can be set, found by its tags.
type Key struct {
	Name  string // as it is nested: watch.settle
	Field reflect.StructField
	index []int
}

func (k Key) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

func (k Key) Tag(name string) string { return k.Field.Tag.Get(name) }

// KeysOf lists the keys of a struct in order.
func KeysOf(t reflect.Type) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		switch {
		case name == "":
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

var Keys = KeysOf(reflect.TypeFor[Config]())

// flags are what the command line says about the configuration.
type Flags struct {
	File, Name, Dir string
}

// Command is what to type for another command about the same memory.
func (f Flags) Command(words string) string {
	return term.ShellLine(append([]string{"memwatchd"}, f.Words()...)...) + " " + words
}

// Load reads the configuration: the defaults, over them the file, over it
// the environment, over that the command line.
func Load(flags Flags, environ []string) (*Config, error) {
	c := Default()
	name, path := flags.Name, flags.File
	if i := slices.IndexFunc(environ, func(s string) bool { return strings.HasPrefix(s, EnvPrefix+"NAME=") }); i >= 0 && name == "" {
		name = strings.TrimPrefix(environ[i], EnvPrefix+"NAME=")
	}
	if path == "" {
		path = filepath.Join(xdg.ConfigHome, "memwatchd", cmp.Or(name, c.Name)+".yaml")
	}
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		c.File = path
		if err := c.ReadYAML(path, text); err != nil {
			return nil, err
		}
	case flags.File != "" || !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := c.readEnv(environ); err != nil {
		return nil, err
	}
	c.Name = cmp.Or(name, c.Name)
	c.Memory.Dir = cmp.Or(flags.Dir, c.Memory.Dir)
	if err := c.Finish(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// Words are the flags as another command about the same memory is given them.
func (f Flags) Words() (words []string) {
	for _, flag := range [][2]string{{"--config", f.File}, {"--name", f.Name}, {"--dir", f.Dir}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}

// Absolute are the flags for a program that is started anywhere.
func (f Flags) Absolute() (Flags, error) {
	for _, path := range []*string{&f.File, &f.Dir} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = Absolute(*path); err != nil {
			return f, err
		}
	}
	return f, nil
}

// Default is what the tags say, before anything is worked out.
func Default() *Config {
	c := new(Config)
	setDefaults(reflect.ValueOf(c).Elem(), Keys)
	return c
}

func setDefaults(v reflect.Value, keys []Key) {
	for _, k := range keys {
		if s, ok := k.Field.Tag.Lookup("default"); ok {
			if err := k.setText(v, s); err != nil {
				panic(fmt.Sprintf("default of %s: %v", k.Name, err)) // a mistake in a tag: every test would hit it
			}
		}
	}
}

// ReadYAML takes over what the file sets. A key that does not exist is an error
// that names it, its line and the nearest that does.
func (c *Config) ReadYAML(path string, text []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // nothing but comments
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there is a second document in it", path)
	}
	if err := setNode(reflect.ValueOf(c).Elem(), "", Keys, doc.Content[0]); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	return nil
}

// An errAt is an error with the line of the file that it is about.
type errAt struct {
	line int
	err  error
}

func (e *errAt) Error() string { return fmt.Sprintf("%d: %v", e.line, e.err) }

func errorAt(n *yaml.Node, format string, args ...any) error {
	return &errAt{n.Line, fmt.Errorf(format, args...)}
}

// setNode sets the keys that a mapping names. Errors are of type [errAt].
func setNode(v reflect.Value, prefix string, keys []Key, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil // a section whose keys are all commented out
	}
	if n.Kind != yaml.MappingNode {
		return errorAt(n, "%s must be a mapping", cmp.Or(strings.TrimSuffix(prefix, "."), "the configuration"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, value := n.Content[i], n.Content[i+1]
		name := prefix + at.Value
		if seen[name] {
			return errorAt(at, "%s is there twice", name)
		}
		seen[name] = true
		if value.Kind == yaml.AliasNode {
			return errorAt(at, "%s: aliases are not supported", name)
		}
		if slices.ContainsFunc(keys, func(k Key) bool { return strings.HasPrefix(k.Name, name+".") }) {
			if err := setNode(v, name+".", keys, value); err != nil {
				return err
			}
			continue
		}
		j := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
		if j < 0 {
			return errorAt(at, "unknown key %s%s", name, Suggestion(name, KeyNames(keys)))
		}
		if err := keys[j].setNode(v, value); err != nil {
			if _, ok := errors.AsType[*errAt](err); ok {
				return err // something in a list, which knows better where it is
			}
			return errorAt(value, "%s: %w", name, err)
		}
	}
	return nil
}

func KeyNames(keys []Key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	return names
}

func Suggestion(name string, names []string) string {
	if near := api.Nearest(name, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// readEnv takes over what the environment sets.
func (c *Config) readEnv(environ []string) error {
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
		if i < 0 {
			return fmt.Errorf("environment: unknown variable %s%s", name, Suggestion(name, names))
		}
		if err := Keys[i].setText(reflect.ValueOf(c).Elem(), value); err != nil {
			return fmt.Errorf("environment: %s: %w", name, err)
		}
	}
	return nil
}

// setNode sets the key to what stands in the file.
func (k Key) setNode(v reflect.Value, n *yaml.Node) error {
	field := v.FieldByIndex(k.index)
	if field.Kind() != reflect.Slice {
		if n.Kind != yaml.ScalarNode {
			return errors.New("must be a single value")
		}
		if n.Tag == "!!null" {
			return nil // as if it were not there
		}
		return k.setScalar(field, n.Value)
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		field.SetZero()
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}} // one where a list is expected
	}
	if n.Kind != yaml.SequenceNode {
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

// setText sets the key to what stands in a tag or a variable: lists are
// separated by commas, or written as YAML.
func (k Key) setText(v reflect.Value, s string) error {
	field := v.FieldByIndex(k.index)
	if field.Kind() != reflect.Slice {
		return k.setScalar(field, s)
	}
	if item := field.Type().Elem(); item.Kind() == reflect.Struct || strings.HasPrefix(s, "[") {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
			return err
		}
		if len(doc.Content) == 0 {
			field.SetZero()
			return nil
		}
		return k.setNode(v, doc.Content[0])
	}
	field.SetZero()
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		item := reflect.New(field.Type().Elem()).Elem()
		if err := k.setScalar(item, part); err != nil {
			return err
		}
		field.Set(reflect.Append(field, item))
	}
	return nil
}

// setScalar sets a single value and checks what the tags say of it.
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
		if err := OneOf(s, strings.Split(names, ",")); err != nil {
			return err
		}
	}
	field.Set(v)
	return nil
}

func OneOf(s string, names []string) error {
	if slices.Contains(names, s) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s%s", s, strings.Join(names, ", "), Suggestion(s, names))
}

func parseScalar(t reflect.Type, s string) (reflect.Value, error) {
	var v any
	var err error
	switch t {
	case reflect.TypeFor[time.Duration]():
		if v, err = parseDuration(s); err != nil {
			err = fmt.Errorf("%q is not a duration such as 30ms, 10s, 2m or 90d", s)
		}
	case reflect.TypeFor[size]():
		v, err = parseSize(s)
	default:
		switch t.Kind() {
		case reflect.Bool:
			if v, err = strconv.ParseBool(s); err != nil {
				err = fmt.Errorf("%q is not true or false", s)
			}
		case reflect.Int:
			if v, err = strconv.Atoi(s); err != nil {
				err = fmt.Errorf("%q is not a whole number", s)
			}
		case reflect.Float64:
			if v, err = strconv.ParseFloat(s, 64); err != nil {
				err = fmt.Errorf("%q is not a number", s)
			}
		default:
			v = s
		}
	}
	if err != nil {
		return reflect.Value{}, err
	}
	return reflect.ValueOf(v), nil
}

// parseDuration reads a duration, which may be a number of days.
func parseDuration(s string) (time.Duration, error) {
	digits, ok := strings.CutSuffix(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return time.Duration(n) * 24 * time.Hour, err
}

func asFloat(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }
