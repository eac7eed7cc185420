package importer

import (
	"cmp"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/transcript"
)

// transcriptDirs are the directories of the transcripts of agents, below the directory that
// the variable names or the home directory.
var transcriptDirs = map[string]struct{ variable, dir, below string }{
	"claude-code": {"CLAUDE_CONFIG_DIR", ".claude", "projects"},
	"codex":       {"CODEX_HOME", ".codex", "sessions"},
	"gemini":      {"", ".gemini", "tmp"},
	"qwen":        {"", ".qwen", "projects"},
	"copilot":     {"COPILOT_HOME", ".copilot", "session-state"},
}

// TranscriptDir returns the directory of the transcripts of an agent on this machine.
func TranscriptDir(program, home string) string {
	d := transcriptDirs[program]
	return filepath.Join(cmp.Or(os.Getenv(d.variable), filepath.Join(home, d.dir)), d.below)
}

// maxSubject bounds the title of a session, in characters.
const maxSubject = 80

// A sessionLine holds the fields of a record of a transcript that describe its
// session. Codex has its id and directory in the payload of the first record.
type sessionLine struct {
	SessionID string `json:"sessionId"`
	Timestamp moment `json:"timestamp"`
	Dir       string `json:"cwd"`
	Type      string `json:"type"`
	Payload   struct {
		ID        string `json:"id"`
		SessionID string `json:"session_id"`
		Dir       string `json:"cwd"`
	} `json:"payload"`
}

// isRollout reports whether a file is a transcript of Codex.
func isRollout(name string) bool {
	return strings.HasPrefix(name, "rollout-") && path.Ext(name) == ".jsonl"
}

// readSession returns the conversation of a transcript as one record. A transcript
// of work for another agent has none.
func readSession(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		record := &api.ImportRecord{}
		conversation := transcript.Conversation{Whole: true}
		var first, last time.Time
		dir := ""
		for v, err := range objects(r) {
			var line sessionLine
			if err == nil {
				err = decode(v.at, v.raw, &line) // fails for the last line of a session that is being written
			}
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if line.Type == "session_meta" {
				record.ID = cmp.Or(record.ID, line.Payload.ID, line.Payload.SessionID)
				dir = cmp.Or(dir, line.Payload.Dir)
			}
			if conversation.Add(v.raw) { // records of other kinds may be copies from other sessions
				record.ID = cmp.Or(record.ID, line.SessionID)
				dir = cmp.Or(dir, line.Dir)
				at := s.time(line.Timestamp)
				first, last = earliest(first, at), latest(last, at)
			}
		}
		conversation.Finish()
		for _, m := range conversation.Messages {
			author, text := "agent", m.Text
			if !m.Assistant {
				author, text = "person", transcript.TypedText(m.Text)
			}
			record.Parts = appendPart(record.Parts, author, text)
		}
		record.ID = cmp.Or(record.ID, s.localID(strings.TrimSuffix(s.Name, path.Ext(s.Name))))
		record.Title = conversation.Subject(maxSubject)
		record.Created, record.Updated = first, last
		if project := path.Base(strings.ReplaceAll(dir, `\`, "/")); dir != "" && project != "/" {
			record.Tags = []string{"project:" + project}
		}
		yield(record, nil)
	}
}
