package ops

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
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
	for _, l := range all {
		if w.IntN(5) == 0 {
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
				text = w.pickOne(text, "- "+w.word(), "- "+w.sentence(), "- [ ] "+w.word(), "- [x] "+w.word(), "- [ ] "+w.word()+" due:2026-02-0"+w.pickOne("1", "9"), w.word()+" #tea", w.word()+" #project:tea", "- "+w.word()+" #project:coffee", "- "+w.word()+" [x](SOUL.md)", "- "+w.word()+" [["+w.pickOne("soul", "bob", "memory", "2026-02-05", "fact")+"]]")
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
			b.text = text + " <!--" + attributes + " visibility=" + visibilityOf(b.private) + " -->"
			if n := len(l.blocks); n > 0 && l.blocks[n-1].text == b.text {
				continue
			}
			l.blocks = append(l.blocks, b)
		}
		if n := len(l.blocks); n > 0 && l.blocks[n-1].heading {
			l.blocks = l.blocks[:n-1]
		}
		list = append(list, l)
	}
	return list
}

// sentence returns a few words, most of which other sentences have too.
func (w *randomSource) sentence() string { return w.word() + " and the green " + w.word() }

// request returns a random request, based on the readable text.
func (w *randomSource) request(known map[string]string) (op string, request fields) {
	paths := slices.Sorted(maps.Keys(known))
	file := "none.md"
	if len(paths) > 0 {
		file = paths[w.IntN(len(paths))]
	}
	id := file + "#" + w.pickOne("k1", "k2", "k3")
	switch w.IntN(17) {
	case 0:
		return "note", fields{"text": w.word(), "topic": w.pickOne("tea", "", "x"), "visibility": w.visibility(), "time": w.pickOne("", "10:30 AM")}
	case 1:
		return "capture", fields{"bullets": []string{w.word(), w.word()}, "session": w.pickOne("", "sid1"), "visibility": w.visibility()}
	case 2, 3:
		draft := fields{"items": fields{w.pickOne("About", "Key Events", "New"): []fields{{"title": w.pickOne("", w.word()), "text": w.sentence()}}}, "tasks": []fields{{"text": w.word(), "done": w.IntN(2) == 0}}, "tags": []string{w.word()}}
		if w.IntN(2) == 0 {
			draft[w.pickOne("summary", "default_summary")] = w.word()
		}
		if w.IntN(4) == 0 {
			draft["visibility"] = "private_only"
		}
		return "session", fields{"session": w.pickOne("sid0", "sid1", "sid2", "sid3", "sid4", "fresh"), "draft": draft, "dry_run": w.IntN(4) == 0, "project": w.pickOne("", "tea")}
	case 4, 5:
		return "item_put", fields{"namespace": w.pickOne("fact", "preference", "profile"), "key": w.word(), "value": w.pickOne(w.word(), w.word(), "<!-- "+w.word()+" -->", "<private>\r\n"+w.word()), "visibility": w.visibility()}
	case 6:
		return "item_delete", fields{"namespace": w.pickOne("fact", "preference"), "key": w.word()}
	case 7:
		return "item_visibility", fields{"id": w.pickOne("k1", "k2", "k3", id), "visibility": w.pickOne(w.visibility(), "public", "private")}
	case 8:
		return "remember", fields{"title": w.pickOne("", w.word()), "text": w.pickOne(w.word(), w.word()+" again", w.sentence()), "explicit": true, "session": w.pickOne("", "sid1")}
	case 9, 10:
		return "forget", fields{"match": w.word()}
	case 11:
		switch w.IntN(4) {
		case 0:
			return "todo_add", fields{"text": w.word(), "due": w.pickOne("", "2026-02-01"), "visibility": w.visibility()}
		case 1:
			return "todo", fields{"id": id, "state": w.pickOne("done", "open")}
		}
		return "todo", fields{"text": w.word(), "state": w.pickOne("done", "open")}
	case 12:
		lines := strings.Split(known[file], "\n")
		line := lines[w.IntN(len(lines))]
		return "edit", fields{"path": file, "old_text": line, "new_text": w.pickOne("- new "+w.word(), line+"\n- more", "")}
	case 13:
		return w.pickOne("profile", "project"), fields{"name": w.word(), "text": w.word(), "evidence": []string{w.pickOne(id, file)}, "visibility": w.visibility()}
	case 14:
		format := w.pickOne("auto", "auto", "summary", "boot", "full", "items", "relevant")
		request = fields{"format": format}
		if format == "auto" || format == "relevant" {
			request["project"] = w.pickOne("", "tea", "coffee")
		}
		if format == "relevant" {
			request["count"] = false
			request["query"] = strings.Join([]string{w.word(), w.word(), w.word()}[:1+w.IntN(3)], " ")
			request["min_cover"] = float64(w.IntN(5)) / 10
		}
		if format == "items" && w.IntN(2) == 0 {
			request["namespaces"] = []string{w.pickOne(memory.Namespaces()...), w.pickOne(memory.Namespaces()...)}
		}
		if format != "summary" {
			request["max_chars"] = 50 + w.IntN(600)
		}
		return "context", request
	case 15:
		return "load", fields{"session": w.pickOne("sid0", "sid1", "sid2"), "days": w.IntN(9)}
	}
	switch w.IntN(8) {
	case 5:
		return "files", fields{"path": w.pickOne("", "", "memory", "**/*.md"), "totals": w.IntN(2) == 0, "limit": 1 + w.IntN(4)}
	case 6:
		return "export", fields{"entries": w.IntN(2) == 0, "include_archived": w.IntN(2) == 0, "cursor": w.pickOne("", file), "path": w.pickOne("", "_longterms", "memory")}
	case 0:
		return "complete", fields{"what": w.pickOne("path", "path", "session", "namespace", "section", "tag"), "prefix": w.pickOne("", "", "m", "_", "t"), "steps": w.IntN(2) == 0, "limit": 1 + w.IntN(4)}
	case 1:
		return "item_list", fields{"limit": 1 + w.IntN(3), "prefix": w.pickOne("", "t"), "said_in": w.pickOne("", "public", "private")}
	case 2:
		return "item_get", fields{"namespace": w.pickOne("fact", "preference"), "key": w.word()}
	case 3:
		if w.IntN(2) == 0 {
			return "related", fields{"path": file}
		}
		return "get", fields{"id": w.pickOne("k1", "k2", id)}
	case 4:
		return "todos", fields{"state": w.pickOne("all", "open"), "notes": w.IntN(2) == 0}
	}
	query := w.pickOne(w.word(), "cof*", "cofee", "te "+w.word(), "喝茶的人", "E9999 tea", "tea wifi coffee", "where is the green tea", "coffee and the wife", "某人在喝绿茶和水")
	mode := w.pickOne("auto", "auto", "auto", "hybrid", "semantic", "relevance")
	return "search", fields{"query": query, "mode": mode, "group": w.pickOne("entry", "file"), "explain": true, "include_archived": true}
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
	case "complete":
		if next := decodeAnswer[api.CompleteAnswer](answer).Next; next != "" {
			return fields{"what": request["what"], "limit": 3, "after": next}
		}
	case "files":
		if next := decodeAnswer[api.FilesAnswer](answer).Next; next != "" {
			return fields{"limit": 3, "after": next}
		}
	case "item_list":
		if cursor := decodeAnswer[api.ItemListAnswer](answer).Next; cursor != "" {
			return fields{"limit": 3, "cursor": cursor}
		}
	}
	return nil
}
