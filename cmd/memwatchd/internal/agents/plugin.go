package agents

import (
	"path/filepath"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A plugin is the form in which an agent keeps the plugins that a user has installed. One of
// memwatchd has the same tools and hooks as the settings.
type plugin struct {
	file   string // settings that enable plugins by name, or the directory of the plugin, as for [Machine.path]
	remove string // command that removes the plugin
}

// enabledRE matches an enabled plugin in settings in JSON or TOML.
var enabledRE = lazyregexp.New(`"` + serverName + `@[^"\n]+"(?:\s*:\s*true|\]\s*enabled\s*=\s*true)`)

// Plugin returns the command that removes the plugin of memwatchd from the agent, or "" if the
// agent does not have the plugin.
func (a Agent) Plugin(m Machine) string {
	if a.plugin.file == "" {
		return ""
	}
	file := m.path(a.plugin.file)
	if filepath.Base(file) == serverName && exists(file) {
		return a.plugin.remove
	}
	if data, err := m.Read(file); err == nil && enabledRE().Match(data) {
		return a.plugin.remove
	}
	return ""
}
