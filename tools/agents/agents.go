package main

import "strings"

// An agent is a program of a vendor, with its settings for the endpoint.
type agent struct {
	name  string // for memwatchd
	title string
	pkg   string // of npm
	// Expected: memory at the start of a session, memory for a prompt, statements captured.
	start, prompt, capture bool

	files map[string]string // settings, by path below the home directory; $URL is the endpoint's
	env   []string
	login []string // a command before the first prompt
	run   []string // the command; $PROMPT is the prompt
}

var all = []agent{
	{
		name: "claude-code", title: "Claude Code", pkg: "@anthropic-ai/claude-code", start: true, prompt: true, capture: true,
		files: map[string]string{
			".claude/settings.json": "{\n    \"model\": \"sonnet\",\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": " +
				"[{\"type\": \"command\", \"command\": \"true\"}]}]\n    }\n}\n",
			".claude.json": `{"hasCompletedOnboarding":true,"numStartups":3}`,
		},
		env: []string{"ANTHROPIC_BASE_URL=$URL", "ANTHROPIC_API_KEY=sk-ant-fake", "DISABLE_TELEMETRY=1",
			"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		run: []string{"claude", "-p", "$PROMPT", "--allowedTools", "mcp__memwatchd"},
	},
	{
		name: "codex", title: "Codex", pkg: "@openai/codex", start: true, prompt: true, capture: true,
		files: map[string]string{".codex/config.toml": "# mine\nmodel = \"gpt-5\"\nmodel_provider = \"fake\"\n\n" +
			"[model_providers.fake]\nname = \"fake\"\nbase_url = \"$URL/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n"},
		env: []string{"FAKE_KEY=x"},
		run: []string{"codex", "exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox",
			"$PROMPT"},
	},
	{
		name: "gemini", title: "Gemini CLI", pkg: "@google/gemini-cli", start: true, prompt: true, capture: true,
		files: map[string]string{".gemini/settings.json": "{\n  \"security\": {\"auth\": {\"selectedType\": " +
			"\"gemini-api-key\"}},\n  \"general\": {\"disableAutoUpdate\": true}\n}\n"},
		env: []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=$URL", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		run: []string{"gemini", "-m", "gemini-2.5-pro", "--skip-trust", "--yolo", "-p", "$PROMPT"},
	},
	{
		name: "qwen", title: "Qwen Code", pkg: "@qwen-code/qwen-code", start: true, prompt: true, capture: true,
		files: map[string]string{".qwen/settings.json": "{\n  \"security\": {\"auth\": {\"selectedType\": \"openai\"}},\n" +
			"  \"general\": {\"enableAutoUpdate\": false}\n}\n"},
		env: []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=$URL/v1", "OPENAI_MODEL=fake"},
		run: []string{"qwen", "--yolo", "$PROMPT"},
	},
	{
		name: "kimi", title: "Kimi Code", pkg: "@moonshot-ai/kimi-code", start: true, prompt: true,
		files: map[string]string{".kimi-code/config.toml": "# mine\ndefault_model = \"fake\"\n\n[providers.fake]\n" +
			"type = \"openai\"\nbase_url = \"$URL/v1\"\napi_key = \"x\"\n\n[models.fake]\nprovider = \"fake\"\n" +
			"model = \"fake\"\nmax_context_size = 200000\n"},
		run: []string{"kimi", "-p", "$PROMPT"},
	},
	{
		name: "copilot", title: "Copilot CLI", pkg: "@github/copilot", start: true, prompt: true, capture: true,
		files: map[string]string{".copilot/mcp-config.json": "{\n  \"mcpServers\": {}\n}\n"},
		env: []string{"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=$URL/v1",
			"COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=gpt-5", "COPILOT_PROVIDER_WIRE_API=completions"},
		run: []string{"copilot", "-p", "$PROMPT", "--allow-all-tools", "--no-color"},
	},
	{
		name: "opencode", title: "OpenCode", pkg: "opencode-ai",
		files: map[string]string{".config/opencode/opencode.json": "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n" +
			"  \"autoupdate\": false,\n  \"model\": \"fake/fake\",\n  \"small_model\": \"fake/fake\",\n  \"provider\": {\"fake\": " +
			"{\"npm\": \"@ai-sdk/openai-compatible\", \"name\": \"fake\", \"options\": {\"baseURL\": \"$URL/v1\", \"apiKey\": \"x\"}, " +
			"\"models\": {\"fake\": {\"name\": \"fake\"}}}}\n}\n"},
		env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"},
		run: []string{"opencode", "run", "--auto", "$PROMPT"},
	},
	{
		name: "cline", title: "Cline CLI", pkg: "cline",
		login: []string{"cline", "auth", "-p", "openai", "-k", "x", "-m", "fake", "-b", "$URL/v1"},
		run:   []string{"cline", "-P", "openai", "-m", "fake", "-t", "80", "$PROMPT"},
	},
}

// expand replaces a variable in words.
func expand(words []string, variable, value string) []string {
	expanded := make([]string, len(words))
	for i, w := range words {
		expanded[i] = strings.ReplaceAll(w, variable, value)
	}
	return expanded
}
