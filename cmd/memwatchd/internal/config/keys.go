package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/api"
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

// Default returns the configuration from the defaults in the tags, without the
// values that Finish computes.
func Default() *Config {
	c := &Config{Tuning: defaultTuning}
	c.setDefaults(reflect.ValueOf(c).Elem())
	return c
}

func (c *Config) setDefaults(v reflect.Value) {
	for _, k := range KeysOf(v.Type()) {
		if s, ok := k.Field.Tag.Lookup("default"); ok {
			if err := c.setText(v, k, s); err != nil {
				panic(fmt.Sprintf("default of %s: %v", k.Name, err)) // a mistake in a tag; every test would fail
			}
		}
	}
}

// readYAML sets the keys in the text of a file. For an unknown key, the error
// contains the key, its line and the nearest existing key.
func (c *Config) readYAML(path string, text []byte) error {
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
	if err := c.setNode(reflect.ValueOf(c).Elem(), "", "", doc.Content[0]); err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	return nil
}

// setText sets a key of a struct to the text of a tag or a variable. Lists are separated
// by commas or written as YAML.
func (c *Config) setText(v reflect.Value, k Key, s string) error {
	v = v.FieldByIndex(k.index)
	if v.Kind() != reflect.Slice {
		return setScalar(v, k.Field.Tag, s)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	if v.Type().Elem().Kind() == reflect.Struct || strings.HasPrefix(s, "[") {
		doc := yaml.Node{Content: []*yaml.Node{list}} // stays so if the text is empty
		if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
			return err
		}
		list = doc.Content[0]
	} else {
		for part := range strings.SplitSeq(s, ",") {
			part = strings.TrimSpace(part)
			if part != "" {
				list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: part})
			}
		}
	}
	return c.setNode(v, k.Field.Tag, "", list)
}

// setNode sets a section, a list or a single value. A null value keeps the defaults, and a
// list can be a single value. Errors begin with the line; name is the key, or "" for an
// entry of a list.
func (c *Config) setNode(v reflect.Value, tag reflect.StructTag, name string, n *yaml.Node) error {
	fail := func(format string, args ...any) error {
		place := api.TextIf(n.Line > 0, fmt.Sprintf("%d: ", n.Line)) + api.TextIf(name != "", name+": ")
		return fmt.Errorf(place+format, args...)
	}
	isNull, isList := n.Kind == yaml.ScalarNode && n.Tag == "!!null", v.Kind() == reflect.Slice
	switch {
	case n.Kind == yaml.AliasNode:
		return fail("aliases are not supported")
	case isNull && isList:
		v.SetZero()
	case isNull:
	case isList && n.Kind == yaml.MappingNode:
		return fail("must be a list")
	case isList:
		items := n.Content
		if n.Kind == yaml.ScalarNode {
			items = []*yaml.Node{n}
		}
		list := reflect.MakeSlice(v.Type(), len(items), len(items))
		for i, item := range items {
			below := name
			if list.Index(i).Kind() == reflect.Struct {
				below = ""
				c.setDefaults(list.Index(i))
			}
			if err := c.setNode(list.Index(i), tag, below, item); err != nil {
				return err
			}
		}
		v.Set(list)
	case v.Kind() == reflect.Struct && n.Kind != yaml.MappingNode:
		return fail("must be a mapping")
	case v.Kind() == reflect.Struct:
		return c.setSection(v, name, n)
	case n.Kind != yaml.ScalarNode:
		return fail("must be a single value")
	default:
		if err := setScalar(v, tag, n.Value); err != nil {
			return fail("%w", err)
		}
	}
	return nil
}

// setSection sets the keys of a mapping, and ignores removed keys.
func (c *Config) setSection(v reflect.Value, section string, n *yaml.Node) error {
	fields := map[string]int{}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			fields[strings.TrimPrefix(section+"."+name, ".")] = i
		}
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := strings.TrimPrefix(section+"."+key.Value, ".")
		field, known := fields[name]
		switch {
		case seen[name]:
			return fmt.Errorf("%d: %s is duplicated", key.Line, name)
		case known:
			if err := c.setNode(v.Field(field), v.Type().Field(field).Tag, name, value); err != nil {
				return err
			}
		case !c.ignoreRemoved(name, value):
			hint := SuggestName(name, slices.Sorted(maps.Keys(fields)))
			at := slices.IndexFunc(Keys, func(k Key) bool { return strings.HasSuffix(k.Name, "."+name) })
			if at >= 0 && hint == "" {
				hint = ": did you mean " + Keys[at].Name + "?"
			}
			return fmt.Errorf("%d: unknown key %s%s", key.Line, name, hint)
		}
		seen[name] = true
	}
	return nil
}

// SuggestName returns ": did you mean …?" with the nearest of names, or "" if
// none is near.
func SuggestName(name string, names []string) string {
	if near := api.NearestName(name, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// charsAlias is the variable whose value is in characters, of which a token has four.
const charsAlias = "MILTON_MEMORY_CONTEXT_MAX_CHARS"

// aliases are environment variables of another memory system that set keys of
// its hooks. A variable of memwatchd takes precedence.
var aliases = map[string]string{
	"MILTON_MEMORY_ENABLED":         "hooks.enabled",
	"MILTON_MEMORY_STORE_RESPONSES": "hooks.store_responses",
	"MILTON_MEMORY_CONTEXT_LIMIT":   "hooks.context_limit",
	charsAlias:                      "hooks.context_tokens",
}

// readEnv sets the keys from the environment. An invalid value of an alias has no
// effect, because the variable is meant for another program.
func (c *Config) readEnv(environ []string) error {
	keys, names := maps.Clone(aliases), make([]string, len(Keys))
	for i, k := range Keys {
		names[i], keys[k.Env()] = k.Env(), k.Name
	}
	for key := range strings.FieldsSeq(removedKeys) {
		keys[envName(key)] = key
	}
	var used []string                                                             // aliases
	for _, pair := range slices.Backward(slices.Sorted(slices.Values(environ))) { // aliases first
		name, value, _ := strings.Cut(pair, "=")
		key := keys[name]
		i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == key })
		switch {
		case key == "" && !strings.HasPrefix(name, EnvPrefix):
			continue
		case key == "":
			return fmt.Errorf("environment: unknown variable %s%s", name, SuggestName(name, names))
		case i < 0:
			c.ignoreRemoved(key, &yaml.Node{Value: value})
			continue
		}
		if chars, err := strconv.Atoi(value); err == nil && name == charsAlias {
			value = strconv.Itoa(chars / 4)
		}
		err := c.setText(reflect.ValueOf(c).Elem(), Keys[i], value)
		switch alias := name != names[i]; {
		case alias && err != nil:
			used = append(used, fmt.Sprintf("%s (%s) has no effect: %v", name, names[i], err))
		case alias:
			used = append(used, name+" ("+names[i]+")")
		case err != nil:
			return fmt.Errorf("environment: %s: %w", name, err)
		}
	}
	if used != nil {
		slices.Sort(used)
		c.warn("variables of another memory system set keys; rename them: " + strings.Join(used, ", "))
	}
	return nil
}

// setScalar sets a single value after checking it against the tags min, max and enum.
func setScalar(v reflect.Value, tag reflect.StructTag, s string) error {
	x, err := parseScalar(v.Type(), s)
	if err != nil {
		return err
	}
	for i, word := range []string{"less", "more"} {
		bound := tag.Get([]string{"min", "max"}[i])
		limit, err := parseScalar(v.Type(), bound)
		if bound != "" && err == nil && cmp.Compare(asFloat(x), asFloat(limit)) == 2*i-1 {
			return fmt.Errorf("%s is %s than %s", s, word, bound)
		}
	}
	if names := tag.Get("enum"); names != "" && s != "" {
		if err := CheckOneOf(s, strings.Split(names, ",")); err != nil {
			return err
		}
	}
	v.Set(x)
	return nil
}

// CheckOneOf returns an error with a suggestion if s is not one of names.
func CheckOneOf(s string, names []string) error {
	if slices.Contains(names, s) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s%s", s, strings.Join(names, ", "), SuggestName(s, names))
}

// parseScalar converts a text to a value of type t.
func parseScalar(t reflect.Type, s string) (reflect.Value, error) {
	var v any = s
	var err error
	noun := ""
	switch reflect.Zero(t).Interface().(type) {
	case time.Duration:
		v, err = parseDuration(s)
		noun = "a duration such as 30ms, 10s, 2m or 90d"
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
