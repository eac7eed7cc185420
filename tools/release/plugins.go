package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// skill is the source of the skill, and skillPath its path in a plugin.
const (
	skill     = "../../../cmd/memwatchd/internal/agents/skill.md"
	skillPath = "skills/memwatchd/SKILL.md"
)

// A plugin describes the plugin of an agent, which is a directory with the name of the
// agent. It has the hooks that the program installs, and files from templates.
type plugin struct {
	agent    string
	settings string            // file below the home directory that contains the installed hooks
	hooks    string            // file of the hooks in the plugin
	notice   string            // output of a hook with a text for the model
	files    map[string]string // templates in tools/packaging/plugins, by path in the plugin
}

const claudeNotice = `{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "%s"}}`

// plugins lists the plugins. The sources are those of the table of agents, and for
// Copilot CLI cli-plugin-reference in github/docs (2026-11), for Cursor
// cursor.com/docs/reference/plugins (2026-08), for Qwen Code its version 0.24.4.
var plugins = []plugin{
	{"agent-plugin", "", "", "", map[string]string{ // Agent Plugins 1.0.0
		"plugin.json": "plugin.portable.json", "mcp.json": "mcp.portable.json", skillPath: skill,
		"../README.md": "README.md",
	}},
	{"claude-code", ".claude/settings.json", "hooks/hooks.json", claudeNotice, map[string]string{
		".claude-plugin/plugin.json": "plugin.json", ".mcp.json": "mcp.json", skillPath: skill,
		"README.md": "plugin.README.md", ".claude-plugin/icon.png": "icon.png",
		"../.claude-plugin/marketplace.json": "marketplace.json",
	}},
	{"codex", ".codex/hooks.json", "hooks/hooks.json", claudeNotice, map[string]string{
		".codex-plugin/plugin.json": "plugin.codex.json", ".mcp.json": "mcp.json", skillPath: skill,
		"../.agents/plugins/marketplace.json": "marketplace.codex.json",
	}},
	{"copilot", ".copilot/hooks/memwatchd.json", "hooks.json", `{"additionalContext": "%s"}`, map[string]string{
		"plugin.json": "plugin.json", ".mcp.json": "mcp.json", skillPath: skill,
		"../.github/plugin/marketplace.json": "marketplace.json",
	}},
	{"cursor", ".cursor/hooks.json", "hooks/hooks.json", `{"additional_context": "%s"}`, map[string]string{
		".cursor-plugin/plugin.json": "plugin.json", "mcp.json": "mcp.json", skillPath: skill,
		"../.cursor-plugin/marketplace.json": "marketplace.json",
	}},
	{"gemini", ".gemini/settings.json", "hooks/hooks.json", claudeNotice, map[string]string{
		"gemini-extension.json": "extension.json", "MEMORY.md": "instructions.md",
		"commands/recall.toml": "recall.toml",
	}},
	{"qwen", ".qwen/settings.json", "hooks/hooks.json", claudeNotice, map[string]string{
		"qwen-extension.json": "extension.json", "MEMORY.md": "instructions.md",
	}},
}

// plugins returns the archive of the plugins of agents: the contents of the
// branch from which the agents install them.
func (m *maker) plugins(d *description) (file, error) {
	var files []file
	for _, p := range plugins {
		one := *d
		one.Plugin = p.agent
		for name, template := range p.files {
			more, err := m.render(&one, path.Join("plugins", template), path.Join(p.agent, name))
			if err != nil {
				return file{}, err
			}
			files = append(files, more...)
		}
		if p.settings != "" {
			hooks, err := m.pluginHooks(d, p)
			if err != nil {
				return file{}, err
			}
			files = append(files, file{name: path.Join(p.agent, p.hooks), data: hooks})
		}
	}
	packed, err := archive("plugins", files, m.when)
	return file{name: fmt.Sprintf("%s-%s-plugins.tar.gz", program, d.Version), data: packed}, err
}

// hookRE matches a command of a hook in settings, from the name of the list before it: the event,
// or "hooks" for further commands of an event.
var hookRE = regexp.MustCompile(`("(\w+)": \[[^\]]*?)"command": "(` + program + ` hook [^"]*)"`)

// pluginHooks returns the hooks that the program installs for an agent, with commands that
// look for the program first.
func (m *maker) pluginHooks(d *description, p plugin) ([]byte, error) {
	home := filepath.Join(m.built, "home", p.agent)
	env := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
		"COPILOT_HOME", "GEMINI_CLI_HOME"} {
		env = append(env, name+"=")
	}
	host := filepath.Join(m.built, platform{runtime.GOOS, runtime.GOARCH}.String(), program)
	if _, err := output(m.source, env, host, "hook", "install", "--agent", p.agent, "--program", program,
		"--write"); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(home, p.settings))
	notice := fmt.Sprintf(p.notice, "memwatchd is not installed, so this session has no memory. Tell the user to install it: see "+d.Homepage)
	return hookRE.ReplaceAllFunc(data, func(line []byte) []byte {
		parts := hookRE.FindSubmatch(line)
		event, command := parts[2], parts[3]
		found := fmt.Sprintf("! command -v %s >/dev/null || %s", program, command)
		if bytes.EqualFold(event, []byte("SessionStart")) { // a subagent cannot tell the user
			found = fmt.Sprintf("if command -v %s >/dev/null; then %s; else echo '%s'; fi", program, command, notice)
		}
		quoted, _ := quoteJSON(found) // a string
		return append(parts[1], []byte(`"command": `+strings.TrimSpace(quoted))...)
	}), err
}
