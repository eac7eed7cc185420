package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// What the manual says beside what the commands and the configuration say of
// themselves.

// manualHead says what the program is.
const manualHead = "Memwatchd watches a directory of Markdown files that is somebody's memory, keeps an index of it fresh, and answers " +
	"questions about it over a Unix socket: to people on the command line, and to agents. It writes to the files only what was asked for, " +
	"or what its configuration allows, and every change can be undone.\n\n" +
	"`memwatchd serve` is the daemon. Most other commands ask it, and act as the owner of the memory, in private, unless `--subject` and " +
	"`--context` say otherwise. Where no daemon answers they say how to start it.\n\n" +
	"Beginning from nothing:\n" +
	"  memwatchd init\n  memwatchd serve\n  memwatchd search certificate expired"

// surroundings says what there is around the program.
func (p *roffPage) surroundings() {
	p.section("exit status")
	for _, e := range []struct {
		code int
		text string
	}{
		{0, "It is done."}, {exitFailed, "It failed."}, {exitUsage, "What was typed, or a configuration, is not right."},
		{exitUnhealthy, "There is an answer, and something is not as it should be."}, {exitNoDaemon, "No daemon answers."},
	} {
		p.item(bold(fmt.Sprint(e.code)), e.text)
	}
	p.section("environment")
	p.item(bold("MEMWATCHD_*"), "Every key of the configuration: `watch.settle` is `MEMWATCHD_WATCH_SETTLE`.")
	p.item(bold("XDG_CONFIG_HOME")+", "+bold("XDG_STATE_HOME")+", "+bold("XDG_CACHE_HOME")+", "+bold("XDG_RUNTIME_DIR"),
		"Where the configuration, the state with the journal, the index and the socket are.")
	p.item(bold("NO_COLOR"), "Nothing is printed in colours.")
	p.section("files")
	for _, f := range [][2]string{
		{"~/.morph/memory/", "The memory, unless another directory is configured."},
		{"$XDG_CONFIG_HOME/memwatchd/memwatchd.yaml", "The configuration."},
		{"$XDG_RUNTIME_DIR/memwatchd/memwatchd.sock", "The socket of the daemon; without that directory, in that of the state."},
		{"$XDG_STATE_HOME/memwatchd/memwatchd/", "The state. The journal in it is the one thing that cannot be made again from the files."},
		{"$XDG_CACHE_HOME/memwatchd/memwatchd/", "The index. It can be deleted at any time."},
	} {
		p.item(italic(f[0]), f[1])
	}
}

// configuration writes the page of the configuration's file: every key, from the
// tags that the program itself goes by.
func (p *roffPage) configuration() {
	p.section("name")
	p.line("memwatchd.yaml - configuration of memwatchd")
	p.section("description")
	p.prose("A YAML file, `$XDG_CONFIG_HOME/memwatchd/memwatchd.yaml` if `--config` or `--name` do not say otherwise. What it leaves out has " +
		"its default; a key that does not exist is an error. Every key can also be set in the environment, which goes before the file: " +
		"`watch.settle` is `MEMWATCHD_WATCH_SETTLE`.\n\n" +
		"`memwatchd config` prints what is in effect. A daemon reads the file again when it is sent SIGHUP.\n\n" +
		"Durations are written with their units, as 30ms, 1h30m or 7d; sizes as 16KiB or 4MiB.")
	p.section("keys")
	section := ""
	for _, k := range configKeys {
		if first, _, nested := strings.Cut(k.name, "."); nested && first != section {
			section = first
			p.part(section)
		}
		p.item(bold(k.name)+" "+italic(kindOf(k.field.Type)), keyMeaning(k))
		if t := k.field.Type; t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			p.WriteString(".RS\n")
			for _, below := range keysOf(t.Elem()) {
				p.item(bold(below.name)+" "+italic(kindOf(below.field.Type)), keyMeaning(below))
			}
			p.WriteString(".RE\n")
		}
	}
	p.section("examples")
	p.line("Nearly everything is as it should be without being said. What differs from machine to machine:")
	p.verbatim([]string{"memory:", "  dir: ~/notes", "  timezone: Europe/Berlin"})
	p.line("A second socket for an agent in a sandbox, which sees public memory of one subject only:")
	p.verbatim([]string{
		"ipc:", "  listeners:", "    - path: /run/user/1000/memwatchd/memwatchd.sock", "    - path: /srv/groupbot/memory.sock",
		"      subject: acct:42", "      context: public", "      operations: [search, get, context, note]", "      mode: \"0660\"", "      group: groupbot",
	})
	p.section("see also")
	p.see([]string{"memwatchd(1)", "memwatchd-config(1)", "memwatchd-serve(1)"})
}

// keyMeaning is what a key means, with its bounds and its default.
func keyMeaning(k key) string {
	text := k.tag("doc")
	if list := k.field.Type; list.Kind() == reflect.Slice && list.Elem().Kind() == reflect.Struct {
		text += ":"
	}
	var more []string
	if low, high := k.tag("min"), k.tag("max"); low != "" && high != "" {
		more = append(more, low+" to "+high)
	} else if low != "" {
		more = append(more, "at least "+low)
	}
	if d, ok := k.field.Tag.Lookup("default"); ok {
		more = append(more, "default "+cmp.Or(d, "empty"))
	}
	if more != nil {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// kindOf says what a value of a key is.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t == reflect.TypeFor[size]():
		return "size"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	}
	return "text"
}
