package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

// path returns the path of a settings file or directory of a user. A path starts with a
// variable and the directory in place of it, as in $CODEX_HOME|.codex/config.toml, or is
// in the home directory.
func (m Machine) path(path string) string {
	dir, rest, ok := strings.Cut(path, "|")
	if !ok {
		return filepath.Join(m.Home, filepath.FromSlash(path))
	}
	below, rest, _ := strings.Cut(rest, "/")
	if below == "" {
		below = "."
	}
	if value := os.Getenv(dir[1:]); value != "" {
		return filepath.Join(value, filepath.FromSlash(rest))
	}
	return filepath.Join(m.Home, below, filepath.FromSlash(rest))
}

// All lists the known agents, by name. Beside each is the source of its files, events,
// units and limits, with the date of that source.
//
// The agents without hooks here have none that can add text to a conversation by a
// command: Windsurf's hooks can only block (docs.windsurf.com, cascade/hooks), Cline's are
// scripts with fixed names in a directory (docs.cline.bot, customization/hooks), those of
// OpenCode are plugins in JavaScript whose interface changes with version 2
// (opencode.ai/v2/docs), those of OpenClaw and Zed likewise or missing, and the output of
// Antigravity's is documented nowhere (version 1.1.26 discards unknown keys).
var All = []Agent{
	{
		// jgravelle/jcodemunch-mcp v1.108.89 (2026-06-30), which measured the files of version
		// 2.0, of the IDE and of the CLI; antigravity.google/docs/mcp for the former path.
		Name: "antigravity", Title: "Antigravity", program: "agy",
		dirs: []string{".gemini/antigravity", ".gemini/config"},
		parts: map[Component]part{MCP: servers(".gemini/config/mcp_config.json",
			".gemini/antigravity/mcp_config.json")},
	},
	{
		// code.claude.com/docs: hooks, mcp, settings (2026-08). Claude Code withholds more than
		// 10,000 characters of a hook.
		Name: "claude-code", Title: "Claude Code", program: "claude", dirs: []string{"$CLAUDE_CONFIG_DIR|.claude"},
		parts: map[Component]part{
			MCP: {
				syntax: jsonServers{path: []string{"mcpServers"}, kind: "stdio"},
				files:  []string{"$CLAUDE_CONFIG_DIR|/.claude.json"},
			},
			Hooks: {syntax: jsonHooks{timeout: 5}, files: []string{"$CLAUDE_CONFIG_DIR|.claude/settings.json"}},
		},
		hooks:  hookFormat{events: claudeEvents},
		plugin: plugin{"$CLAUDE_CONFIG_DIR|.claude/settings.json", "claude plugin uninstall memwatchd@memwatchd"},
	},
	{
		// docs.cline.bot/mcp and developersdigest.tech/mcp-servers/clients/cline (2026-08): the
		// file of the CLI; the extension of an editor keeps one in the directory of the editor.
		Name: "cline", Title: "Cline", program: "cline", dirs: []string{".cline"},
		parts: map[Component]part{MCP: servers(".cline/data/settings/cline_mcp_settings.json")},
	},
	{
		// developers.openai.com/codex: config, hooks, mcp (2026-08). Codex puts more than 2,500
		// tokens of a hook into a file, and warns of a longer time limit of SessionEnd.
		Name: "codex", Title: "Codex", program: "codex", dirs: []string{"$CODEX_HOME|.codex"},
		parts: map[Component]part{
			MCP: {syntax: tomlServers, files: []string{"$CODEX_HOME|.codex/config.toml"}},
			Hooks: {
				syntax: jsonHooks{timeout: 3}, files: []string{"$CODEX_HOME|.codex/hooks.json"},
				note: "Codex runs hooks that you have trusted: run /hooks in Codex",
			},
		},
		hooks:  hookFormat{events: claudeEvents, maxTokens: 2500},
		plugin: plugin{"$CODEX_HOME|.codex/config.toml", "codex plugin remove memwatchd@memwatchd"},
	},
	{
		// github/docs, copilot/reference: hooks-reference, cli-config-dir-reference, and
		// add-mcp-servers (2026-11). Event names of this form select fields as of Claude Code. In
		// version 1.0.102, Stop has a transcript and SessionEnd has none. Copilot runs Stop up to
		// 120 ms before it writes the messages and the record of this event.
		Name: "copilot", Title: "Copilot CLI", program: "copilot", dirs: []string{"$COPILOT_HOME|.copilot"},
		parts: map[Component]part{
			MCP: {
				syntax: jsonServers{path: []string{"mcpServers"}, kind: "local", tools: true},
				files:  []string{"$COPILOT_HOME|.copilot/mcp-config.json"},
			},
			Hooks: {
				syntax: jsonHooks{timeout: 5, flat: true},
				files:  []string{"$COPILOT_HOME|.copilot/hooks/memwatchd.json"},
			},
		},
		hooks: hookFormat{events: copilotEvents, member: "additionalContext",
			ended: `"hookType":"agentStop","input"`},
		plugin: plugin{"$COPILOT_HOME|.copilot/settings.json", "copilot plugin uninstall memwatchd@memwatchd"},
	},
	{
		// cursor.com/docs/agent/hooks, from stored copies of its schema (2026-03 to 2026-08), and
		// skillsaw, rule cursor-hooks-valid. beforeSubmitPrompt can block, and add nothing.
		Name: "cursor", Title: "Cursor", program: "cursor", dirs: []string{".cursor"},
		parts: map[Component]part{
			MCP: {syntax: jsonServers{path: []string{"mcpServers"}, kind: "stdio"},
				files: []string{".cursor/mcp.json"}},
			Hooks: {
				syntax: jsonHooks{timeout: 5, flat: true}, files: []string{".cursor/hooks.json"},
				note: "Cursor takes memory at the start of a session only, not for each prompt",
			},
		},
		hooks: hookFormat{events: cursorEvents, member: "additional_context"},
	},
	{
		// geminicli.com/docs: hooks, tools/mcp-server (2026-08). The time limit is in
		// milliseconds.
		Name: "gemini", Title: "Gemini CLI", program: "gemini", dirs: []string{"$GEMINI_CLI_HOME|/.gemini"},
		parts: map[Component]part{
			MCP: {
				syntax: jsonServers{path: []string{"mcpServers"}},
				files:  []string{"$GEMINI_CLI_HOME|/.gemini/settings.json"},
				note:   "Gemini CLI starts servers in trusted directories only",
			},
			Hooks: {syntax: jsonHooks{timeout: 5000}, files: []string{"$GEMINI_CLI_HOME|/.gemini/settings.json"}},
		},
		hooks:  hookFormat{events: geminiEvents},
		plugin: plugin{"$GEMINI_CLI_HOME|/.gemini/extensions/memwatchd", "gemini extensions uninstall memwatchd"},
	},
	{
		// NousResearch/hermes-agent, website/docs/user-guide/features: mcp, hooks (2026-11). What
		// on_session_start prints is ignored.
		Name: "hermes", Title: "Hermes Agent", program: "hermes", dirs: []string{"$HERMES_HOME|.hermes"},
		parts: map[Component]part{
			MCP: {syntax: yamlServers, files: []string{"$HERMES_HOME|.hermes/config.yaml"}},
			Hooks: {
				syntax: yamlHooks, files: []string{"$HERMES_HOME|.hermes/config.yaml"},
				note: "Hermes Agent requires your consent before it runs the hook for the first time",
			},
		},
		hooks: hookFormat{events: hermesEvents, member: "context"},
	},
	{
		// MoonshotAI/kimi-code (2026-08) and, in .kimi, its forerunner kimi-cli: docs/en/customization,
		// hooks and mcp. Plain text of UserPromptSubmit is added to the conversation, and that of
		// SessionStart is not in version 2.1.0; the time limit is in seconds.
		Name: "kimi", Title: "Kimi CLI", program: "kimi", dirs: []string{"$KIMI_CODE_HOME|.kimi-code", ".kimi"},
		parts: map[Component]part{
			MCP:   servers("$KIMI_CODE_HOME|.kimi-code/mcp.json", ".kimi/mcp.json"),
			Hooks: {syntax: tomlHooks, files: []string{"$KIMI_CODE_HOME|.kimi-code/config.toml", ".kimi/config.toml"}},
		},
		hooks: hookFormat{events: kimiEvents, plain: true},
	},
	{
		// docs.openclaw.ai/cli/mcp (2026-07): servers for its own runtimes, in JSON5.
		Name: "openclaw", Title: "OpenClaw", program: "openclaw", dirs: []string{".openclaw"},
		parts: map[Component]part{MCP: {
			syntax: jsonServers{path: []string{"mcp", "servers"}}, files: []string{".openclaw/openclaw.json"},
		}},
	},
	{
		// opencode.ai/v2/docs/mcp-servers (2026-10). In version 1, servers are direct members of
		// mcp.
		Name: "opencode", Title: "OpenCode", program: "opencode", dirs: []string{"$XDG_CONFIG_HOME|.config/opencode"},
		parts: map[Component]part{MCP: {
			syntax: jsonServers{path: []string{"mcp", "servers"}, kind: "local", list: true, short: true},
			files: []string{"$XDG_CONFIG_HOME|.config/opencode/opencode.json",
				"$XDG_CONFIG_HOME|.config/opencode/opencode.jsonc",
				"$XDG_CONFIG_HOME|.config/opencode/config.json"},
		}},
	},
	{
		// QwenLM/qwen-code, docs/users/features: hooks, mcp (2026-11). The time limit is in
		// milliseconds in its reference, and in seconds in an example of version 1. In version
		// 0.24.4, SessionEnd does not run without a terminal; Stop has the transcript.
		Name: "qwen", Title: "Qwen Code", program: "qwen", dirs: []string{".qwen"},
		parts: map[Component]part{
			MCP:   servers(".qwen/settings.json"),
			Hooks: {syntax: jsonHooks{timeout: 5000}, files: []string{".qwen/settings.json"}},
		},
		hooks:  hookFormat{events: qwenEvents},
		plugin: plugin{".qwen/extensions/memwatchd", "qwen extensions uninstall memwatchd"},
	},
	{
		// agentskills.io (2026-08).
		Name: "skill", Title: "The directory of skills", dirs: []string{".agents/skills/memwatchd"},
		parts: map[Component]part{Hooks: {syntax: skillFile{}, files: []string{".agents/skills/memwatchd/SKILL.md"}}},
	},
	{
		// docs.windsurf.com, windsurf/cascade/mcp (2026-08).
		Name: "windsurf", Title: "Windsurf", program: "windsurf", dirs: []string{".codeium/windsurf"},
		parts: map[Component]part{MCP: servers(".codeium/windsurf/mcp_config.json")},
	},
	{
		// zed.dev/docs/ai/mcp (2026-10).
		Name: "zed", Title: "Zed", program: "zed", dirs: []string{"$XDG_CONFIG_HOME|.config/zed"},
		parts: map[Component]part{MCP: {
			syntax: jsonServers{path: []string{"context_servers"}},
			files:  []string{"$XDG_CONFIG_HOME|.config/zed/settings.json"},
		}},
	},
}

// servers returns the most frequent form of servers.
func servers(files ...string) part {
	return part{syntax: jsonServers{path: []string{"mcpServers"}}, files: files}
}

// Names of events by the hook command of memwatchd.
var (
	claudeEvents = map[string]string{
		"session-start": "SessionStart SubagentStart", "prompt": "UserPromptSubmit", "pre-compact": "PreCompact",
		"stop": "Stop", "session-end": "SessionEnd",
	}
	geminiEvents = map[string]string{
		"session-start": "SessionStart", "prompt": "BeforeAgent", "pre-compact": "PreCompress", "stop": "AfterAgent",
		"session-end": "SessionEnd",
	}
	qwenEvents = map[string]string{
		"session-start": "SessionStart SubagentStart", "prompt": "UserPromptSubmit", "stop": "Stop", "session-end": "Stop",
	}
	copilotEvents = map[string]string{
		"session-start": "SessionStart", "prompt": "UserPromptSubmit", "session-end": "Stop",
	}
	kimiEvents   = map[string]string{"prompt": "UserPromptSubmit"}
	cursorEvents = map[string]string{"session-start": "sessionStart"}
	hermesEvents = map[string]string{"prompt": "pre_llm_call"}
)

// hookEvents lists the hook commands of memwatchd, in the order in which their
// events happen.
var hookEvents = []string{"session-start", "prompt", "pre-compact", "stop", "session-end"}

// A hookFormat describes the hooks of an agent.
type hookFormat struct {
	events    map[string]string // the agent's names of the events of each command
	plain     bool              // the output is text
	member    string            // of the output in JSON, which contains the text; empty: as of Claude Code
	maxTokens int               // of the text; 0: no documented limit
	ended     string            // text in the last line of a transcript that is complete for session-end
}

// HookEvents returns the agent's names of the events of a hook command of memwatchd, such as
// SessionEnd for session-end. It returns none if the agent has no such event or no hooks.
func (a Agent) HookEvents(command string) []string { return strings.Fields(a.hooks.events[command]) }

// HookNames returns the names of the agents that run hook commands, sorted.
func HookNames() (names []string) {
	for _, a := range All {
		if a.hooks.events != nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// HasEnd reports whether the end of a transcript contains the messages before session-end.
func (a Agent) HasEnd(transcript []byte) bool {
	transcript = bytes.TrimSuffix(transcript, []byte("\n"))
	last := transcript[bytes.LastIndexByte(transcript, '\n')+1:]
	return bytes.Contains(last, []byte(a.hooks.ended))
}

// maxHookOutput bounds the output of a hook, in UTF-16 code units. Agents
// withhold more than 10,000 characters from the model.
const maxHookOutput = 10_000

// HookOutput returns the output of a hook at an event that adds a text to the conversation,
// and reports whether the output is within the limits of the agent.
func (a Agent) HookOutput(event, text string) (out []byte, fits bool) {
	switch {
	case a.hooks.plain:
		out = []byte(text)
	case a.hooks.member != "":
		out = encodeJSON(map[string]string{a.hooks.member: text})
	default:
		var o struct {
			Output struct {
				Event   string `json:"hookEventName"`
				Context string `json:"additionalContext"`
			} `json:"hookSpecificOutput"`
		}
		o.Output.Event, o.Output.Context = event, text
		out = encodeJSON(o)
	}
	out = append(out, '\n')
	fits = len(utf16.Encode([]rune(string(out)))) <= maxHookOutput &&
		(a.hooks.maxTokens == 0 || countTokens(text) <= a.hooks.maxTokens)
	return out, fits
}

// countTokens returns an upper estimate of the tokens of a text: one for three characters
// of ASCII, and at least one for each other character, such as those of Chinese.
func countTokens(text string) int {
	ascii, others := 0, 0
	for _, r := range text {
		switch {
		case r < 0x80:
			ascii++
		case r < 0x10000:
			others++
		default: // such as emoji
			others += 3
		}
	}
	return (ascii+2)/3 + others
}
