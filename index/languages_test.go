package index

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEverydayCover tests that everyday questions about a diary pass the threshold of
// hooks and that everyday messages, in ten other languages as well, do not, although some
// of their words are rare: at least .90 and at most .02. With -eval it prints the shares
// beside til.
func TestEvalEverydayCover(t *testing.T) {
	files, questions := everyday(t)
	files["notes/languages.md"] = strings.Join(readLines(t, filepath.Join("testdata", "chat_notes.md")), "\n")
	if *evalDir != "" {
		til, err := filepath.EvalSymlinks(filepath.Join(*evalDir, "til"))
		must(t, err)
		maps.Copy(files, openDir(t, til).text)
	}
	x := openFiles(t, files, nil)
	questions = append(questions, foreignQuestions...)
	answered := 0
	for _, q := range questions {
		asOf, _ := time.Parse(time.DateOnly, "2026-11-28")
		hits := passing(t, x, q.Question, asOf)
		if slices.ContainsFunc(hits, func(h Hit) bool {
			return strings.Contains(h.Doc.Place.Path+"\n"+h.Entry.Text, q.answer)
		}) {
			answered++
			continue
		}
		t.Logf("%q: %d hits", q.Question, len(hits))
	}
	if least := len(questions) * 9 / 10; answered < least && *evalDir == "" {
		t.Errorf("%d of %d answered, fewer than %d", answered, len(questions), least)
	}
	messages := chatter(t, "chat.txt", "chat_languages.txt")
	noisy := 0
	for _, message := range messages {
		if hits := passing(t, x, message, x.now); len(hits) > 0 {
			noisy++
			t.Logf("%q: %q covers %.2f", message, hits[0].Entry.Text, hits[0].Cover)
		}
	}
	t.Logf("%d of %d questions answered, %d of %d messages get entries", answered, len(questions), noisy, len(messages))
	if most := len(messages) / 50; noisy > most {
		t.Errorf("%d of %d messages get entries, more than %d", noisy, len(messages), most)
	}
}

// foreignQuestions are questions about the diary in other languages.
var foreignQuestions = []question{
	{Question: "retry.backoff", answer: "retry.backoff"},
	{Question: "Was haben wir zum Umzug beschlossen?", answer: "Umzug"},
	{Question: "embrayage à changer", answer: "embrayage"},
	{Question: "¿Dónde está el servidor?", answer: "Madrid"},
	{Question: "где находится сервер", answer: "Москве"},
	{Question: "gdzie stoi serwer", answer: "Warszawie"},
	{Question: "本番サーバーはどこ？", answer: "東京"},
	{Question: "田中さんの電話番号は？", answer: "080-1234"},
	{Question: "会議はいつ？", answer: "金曜日"},
	{Question: "서버는 어디에 있어요?", answer: "서울"},
}
