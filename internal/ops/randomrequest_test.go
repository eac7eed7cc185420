package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A randomSource generates random memories and requests.
type randomSource struct{ *rand.Rand }

func (w *randomSource) pickOne(list ...string) string { return list[w.IntN(len(list))] }

func (w *randomSource) word() string { return w.pickOne("tea", "coffee", "the wifi", "喝茶", "Twin") }

func (w *randomSource) visibility() string { return w.pickOne("public_ok", "private_only") }

// randomFiles returns a random part of the matrix files with random text.
func (w *randomSource) randomFiles() (list []*testFile) {
	all, _ := comparisonFiles()
	for n, l := range all {
		if n%2 == 1 || w.IntN(5) == 0 { // those at odd places are made below
			continue
		}
		l.blocks, l.blankLines = nil, true
		if w.IntN(4) == 0 {
			l.front = append(l.front, "aliases: ["+w.pickOne("Soul", "bob", "tea", "memory")+"]")
		}
		switch {
		case l.kind == memory.Daily || path.Base(l.path) == "bob.md":
			// A log without readable entries has the title of a new one.
			l.blocks = append(l.blocks, block{heading: true, text: "# 2026-02-05"})
		case l.kind != memory.Items:
			l.blocks = append(l.blocks, block{heading: true, text: "# About"})
		}
		for range 1 + w.IntN(7) {
			if w.IntN(4) == 0 && l.kind != memory.Items {
				l.blocks = append(l.blocks, block{heading: true, text: "## " + w.pickOne("Tasks", "Key Facts", "10:30 AM - tea", "About", "Follow Ups", "More")})
			}
			b := block{private: w.IntN(2) == 0}
			text := "- **" + w.word() + "**: " + w.word()
			if l.kind != memory.Items {
				text = w.pickOne(text, "- "+w.word(), "- "+w.sentence(), "- [ ] "+w.word(), "- [x] "+w.word(), "- [ ] "+w.word()+" 📅 2026-02-0"+w.pickOne("1", "9"), w.word()+" #tea", w.word()+" #project:tea", "- "+w.word()+" #project:coffee", "- "+w.word()+" [x](SOUL.md)", "- "+w.word()+" [["+w.pickOne("soul", "bob", "memory", "2026-02-05", "fact")+"]]")
			}
			attributes := ""
			if w.IntN(3) == 0 {
				attributes += " id=" + w.pickOne("k1", "k2", "k3")
			}
			if w.IntN(4) == 0 {
				attributes += " " + w.pickOne("updated=2026-02-03T01:00:00Z", "created=2026-01-03T01:00:00Z", "source=public:x", "session=sid1", "type=crumb")
			}
			if w.IntN(4) == 0 {
				attributes += " supersedes=" + w.pickOne("k1", "k2", "k3", "SOUL.md#k1")
			}
			b.text = text
			if attributes != "" {
				b.text += " <!--" + attributes + " -->"
			}
			if n := len(l.blocks); n > 0 && l.blocks[n-1].text == b.text {
				continue
			}
			l.blocks = append(l.blocks, b)
		}
		if n := len(l.blocks); n > 0 && l.blocks[n-1].heading {
			l.blocks = l.blocks[:n-1]
		}
		own, beside := splitFile(l)
		list = append(list, own)
		if beside != nil {
			list = append(list, beside)
		}
	}
	return list
}

// sentence returns a few words, most of which other sentences have too.
func (w *randomSource) sentence() string { return w.word() + " and the green " + w.word() }

// randomTable holds random requests, one a line, behind their weights. Of «a|b», one part is
// chosen; a part that is the name of a generator stands for what it generates.
const randomTable = `
24 note {"text": "«WORD» «NUMBER»", "topic": "«tea||x»", "visibility": "«public_ok|VISIBILITY»", "time": "«|10:30 AM»", "day": "«|2026-02-04»", "tags": ["tea"], "project": "«|shop»"}
12 capture {"bullets": ["«WORD»«NUMBER»", "«WORD»"], "session": "«|sid1|mine»", "visibility": "«VISIBILITY»", "project": "«|shop»"}
20 session {"session": "«fresh|mine|sid0|sid1|a/b»", "draft": {"summary": "«|WORD»", "tags": ["«WORD»"], "facts": [{"text": "«SENTENCE»"}], "items": {"About": [{"title": "«WORD»", "text": "«SENTENCE»"}]}, "tasks": [{"text": "«WORD»", "done": «true|false»}], "visibility": "«|||private_only»"}, "project": "«|shop»", "day": "«|2026-02-05|2026-02-04»", "dry_run": «true|false|false|false»}
8 session {"session": "«fresh|mine|sid0|sid1|a/b»", "draft": {"default_summary": "«WORD»", "facts": [{"text": "«SENTENCE»"}], "visibility": "«|||private_only»"}, "day": "«|2026-02-05|2026-02-04»"}
12 session {"session": "«sid0|sid1|sid2|sid3|sid4|fresh»", "draft": {"items": {"«About|Key Events|New»": [{"title": "«|WORD»", "text": "«SENTENCE»"}]}, "tags": ["«WORD»"], "«summary|default_summary»": "«WORD»"}, "dry_run": «true|false|false|false», "project": "«|tea»"}
24 item_put {"namespace": "«NAMESPACE»", "key": "«WORD»", "value": "«WORD|<!-- x -->\r\n|<private>\r\n»«NUMBER»", "visibility": "«VISIBILITY»"}
4 item_delete {"namespace": "«fact|preference»", "key": "«WORD»"}
1 item_delete {"namespace": "«fact|preference»", "all": true}
4 item_put {"namespace": "«NAMESPACE»", "key": "«WORD»", "visibility": "«VISIBILITY|public|private»"}
4 remember {"title": "«|WORD»", "text": "«WORD|SENTENCE»«| again»", "explicit": true, "session": "«|sid1»"}
8 forget {"match": "«WORD»"}
12 todo_add {"text": "«WORD»«|1|2»", "due": "«|3d|2026-02-01»", "visibility": "«VISIBILITY»", "project": "«|shop»"}
4 todo {"«id|text»": "«ID|WORD»", "state": "«done|open»"}
4 edit {"path": "«FILE»", "old_text": "«LINE»", "new_text": "«|- new tea|- more»"}
12 write {"path": "«notes/new.md|MEMORY.md|_longterms/bob/fact.md|memory/2026-02-05/fresh.md|memory/2026-02-05/sid0.md|memory/2026-02-05/mine.md|_longterms/acct_42/mine.md|inbox/groupbot.acct_42/new.md|inbox/other.acct_7/new.md»", "text": "«|---\nsubject_id: acct:42\n---\n|---\nsubject_id: ext:telegram:1\n---\n|---\nsubject_id: acct:42\nvisibility: public_ok\n---\n»words of «WORD»\n", "hash": "«|0000000000000000000000000000000000000000000000000000000000000000»"}
2 profile {"name": "«WORD»", "text": "«WORD»", "evidence": ["«ID|FILE»"], "visibility": "«VISIBILITY»"}
2 project {"name": "«WORD»", "text": "«WORD»", "evidence": ["«ID|FILE»"], "visibility": "«VISIBILITY»"}
8 get {"path": "«HIDDEN»"}
1 get {"id": "«k1|k2|ID»"}
8 related {"path": "«HIDDEN|FILE»"}
4 load {"session": "«sid0|sid1|sid2»", "days": «0|1|2|5|8»}
4 context {"format": "auto", "project": "«|tea|coffee»", "max_chars": «60|150|300|600»}
4 context {"format": "«boot|full»", "max_chars": «60|150|300|600»}
2 context {"format": "summary"}
2 context {"format": "items", "namespaces": ["«NAMESPACE»", "«NAMESPACE»"], "max_chars": «60|150|300|600»}
2 context {"format": "items", "max_chars": «60|150|300|600»}
4 context {"format": "relevant", "project": "«|tea|coffee»", "count": false, "query": "«WORD»«| tea| coffee» «|WORD»", "min_cover": 0.«0|1|2|3|4», "max_chars": «60|150|300|600»}
2 files {"path": "«||memory|**/*.md»", "totals": «true|false», "limit": «1|2|3|4»}
2 export {"entries": «true|false», "include_archived": «true|false», "cursor": "«|FILE»", "path": "«|_longterms|memory»"}
2 complete {"what": "«path|path|session|namespace|section|tag»", "prefix": "«||m|_|t»", "steps": «true|false», "limit": «1|2|3|4»}
2 item_list {"limit": «1|2|3», "prefix": "«|t»", "said_in": "«|public|private»"}
2 item_get {"namespace": "«fact|preference»", "key": "«WORD»"}
2 todos {"state": "«all|open»", "notes": «true|false»}
8 search {"query": "«WORD|cof*|cofee|te tea|喝茶的人|E9999 tea|tea wifi coffee|where is the green tea|coffee and the wife|某人在喝绿茶和水»", "mode": "«auto|auto|auto|hybrid|semantic|relevance»", "group": "«entry|file»", "explain": true, "include_archived": true}
`

var choiceRE = regexp.MustCompile(`«([^»]*)»`)

// request returns a random request, based on the readable text.
func (w *randomSource) request(known map[string]string, readOnly bool) (op string, request fields) {
	var templates []string
	for line := range strings.Lines(strings.TrimSpace(randomTable)) {
		weight, template, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(template, " ")
		if read, _ := api.LookUp(name); read.ReadOnly || !readOnly {
			n, _ := strconv.Atoi(weight)
			templates = append(templates, slices.Repeat([]string{template}, n)...)
		}
	}
	file := w.pickOne(append(slices.Sorted(maps.Keys(known)), "none.md")...)
	generators := map[string]func() string{"WORD": w.word, "SENTENCE": w.sentence, "VISIBILITY": w.visibility,
		"NUMBER": func() string { return fmt.Sprint(" ", w.IntN(1000)) }, "NAMESPACE": func() string { return w.pickOne(memory.Namespaces()...) },
		"FILE": func() string { return file }, "ID": func() string { return file + "#" + w.pickOne("k1", "k2", "k3") },
		"LINE":   func() string { return w.pickOne(strings.Split(known[file], "\n")...) },
		"HIDDEN": func() string { return w.pickOne(hiddenPaths("acct:42", false)...) }}
	op, template, _ := strings.Cut(w.pickOne(templates...), " ")
	text := choiceRE.ReplaceAllStringFunc(template, func(choice string) string {
		part := w.pickOne(strings.Split(strings.Trim(choice, "«»"), "|")...)
		if generate := generators[part]; generate != nil {
			quoted, _ := json.Marshal(generate())
			return string(quoted[1 : len(quoted)-1])
		}
		return part
	})
	return op, decodeAnswer[fields](text)
}

// nextPage returns the request of the page after an answer, or nil if it is the last one.
func nextPage(request fields, answer string, limit int) fields {
	next := decodeAnswer[struct{ Next string }](answer).Next
	following := fields{"limit": limit, "after": next}
	switch what, ok := request["what"]; {
	case next == "":
		return nil
	case strings.HasPrefix(answer, `{"items"`):
		return fields{"limit": limit, "cursor": next}
	case ok:
		following["what"] = what
	}
	return following
}

// followUp returns a request that follows from an answer, or nil.
func (w *randomSource) followUp(op string, request fields, answer string) fields {
	switch op {
	case "forget":
		list := decodeAnswer[api.ForgetAnswer](answer)
		var ids []string
		for _, e := range list.Entries {
			if e.ID != "" && w.IntN(2) == 0 && path.Ext(e.Path) == ".md" {
				ids = append(ids, e.ID)
			}
		}
		if len(ids) > 0 && len(ids) <= maxOccurrences {
			return fields{"ids": ids, "token": list.Token}
		}
	case "complete", "files", "item_list":
		return nextPage(request, answer, 3)
	}
	return nil
}
