package doctor

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// inspectConfig reports errors of the configuration, who can change its file, and
// values with consequences.
func inspectConfig(e *examination) (list findings) {
	c := e.config
	if c == nil {
		advice := "Correct it; config.example.yaml lists all keys. Inspections that need the configuration " +
			"were skipped."
		if strings.Contains(e.configErr.Error(), "memory.timezone") {
			advice = "If the time zone exists, install its data (the package is often called tzdata)."
		}
		list.add(problem, advice, "", "%v", e.configErr)
		return list
	}
	switch info, err := os.Stat(c.File); {
	case c.File == "":
		list.add(note, "", e.flags.Command("init"), "There is no configuration file. The defaults are in use.")
	case err != nil:
		list.add(warning, "", "", "%v", err)
	case info.Mode().Perm()&0o022 != 0:
		list.add(warning, "The file decides which readers see private entries.", "chmod go-w "+term.QuoteWord(c.File),
			"Other users can write to %s (mode %04o).", c.File, info.Mode().Perm())
	}
	var names []string
	for _, pair := range e.environ {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, config.EnvPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if names != nil {
		list.add(note, "A service does not have these variables. Write the values to the configuration file.", "",
			"The environment sets keys: %s.", strings.Join(names, ", "))
	}
	if c.Warning != "" {
		list.add(warning, "", "", "In the configuration, %s.", c.Warning)
	}
	for _, f := range []struct {
		holds bool
		text  string
	}{
		{!c.Memory.Enabled, "memory.enabled is false: agents receive no memory, and what they write has no effect."},
		{!c.Write.Enabled, "write.enabled is false: the daemon changes files on request only."},
		{c.Memory.Timezone == "Local",
			"memory.timezone is the zone of the machine: days change with it, and a service may have a different one."},
	} {
		if f.holds {
			list.add(note, "", "", "%s", f.text)
		}
	}
	for _, s := range []struct{ key, url string }{
		{"llm.endpoint", c.LLM.Endpoint}, {"embed.endpoint", c.Embed.Endpoint}, {"share.weaviate.url", c.Share.Weaviate.URL},
	} {
		if u, err := url.Parse(s.url); err == nil && config.IsExposed(u) {
			list.add(warning, fmt.Sprintf("Use https in %s.", s.key), "", "Requests to %s are not encrypted.", u.Host)
		}
	}
	return list.orPassed("%s", c.File)
}

// inspectLoadedConfig reports whether the daemon uses this configuration.
func inspectLoadedConfig(e *examination) (list findings) {
	c, s := e.config, e.status
	if s == nil {
		return nil
	}
	advice, command := "Reload the configuration of the daemon.", fmt.Sprintf("kill -HUP %d", s.PID)
	if s.Root != c.Memory.Dir {
		list.add(warning, advice, command, "The daemon serves %s, and memory.dir is %s.", s.Root, c.Memory.Dir)
	}
	info, err := os.Stat(c.File)
	if err == nil && info.ModTime().After(s.Started.Add(time.Second)) {
		list.add(note, advice, command, "%s was changed after the start of the daemon.", c.File)
	}
	return list.orPassed("The daemon serves %s.", c.Memory.Dir)
}
