package ops

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// TestMCPMatrix sends every kind of MCP request about tools, resources and
// names, on a listener of the owner and on one with a fixed scope. Every byte
// of the answers must be the same as without the text that the caller may not
// read.
func TestMCPMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	leaves, targets := comparisonFiles()
	messages := mcpMessages(leaves, targets)
	for _, a := range testCallers() {
		if a.scopeFields["external_key"] != nil {
			continue // headers cannot send a key
		}
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			x := newComparison(t, leaves, a)
			says := as(a.subject, a.context.String())
			fix := func(e *ipc.Endpoint, _ *ipc.Server) {
				e.Fixed = &api.Fixed{Subject: a.subject, Context: a.context.String()}
			}
			told := 0
			for _, way := range []struct {
				name        string
				whole, part string
				header      http.Header
			}{
				{"by headers", serveOps(t, x.complete.memory), serveOps(t, x.reduced.memory), says},
				{"fixed", serveAs(t, x.complete.memory, fix), serveAs(t, x.reduced.memory, fix), nil},
				{"fixed, and said", serveAs(t, x.complete.memory, fix), serveAs(t, x.reduced.memory, fix), says},
			} {
				for i, m := range messages {
					if way.name != "by headers" && i%6 > 0 && !thorough {
						continue // the rest gives the same result
					}
					whole, part := post(t, way.whole, "?tools=all", m, way.header), post(t, way.part, "?tools=all", m, way.header)
					is, want := opsTook.ReplaceAllString(whole.body, ""), opsTook.ReplaceAllString(part.body, "")
					if a.subject == "owner" && a.private && strings.Contains(m, "memory_status") {
						continue
					}
					if whole.status != part.status || is != want {
						t.Errorf("%s %s\nas it is: %d %s\nas if the rest did not exist: %d %s", way.name, m, whole.status, is, part.status, want)
					}
					for _, hidden := range targets {
						if strings.Contains(is, hidden.proof()) {
							told++
							if !a.canRead(hidden.owner, hidden.private) {
								t.Errorf("%s %s tells of a %s: %s", way.name, m, hidden, is)
							}
						}
					}
				}
			}
			if told == 0 {
				t.Error("nothing was read at all")
			}
			x.checkUnchanged()
		})
	}
}

// mcpMessages returns MCP messages about files and entries: all requests that
// change nothing, and invalid ones.
func mcpMessages(leaves []*testFile, targets []*target) (list []string) {
	add := func(method string, params fields) { list = append(list, rpc(1, method, params)) }
	ask := func(tool string, arguments fields) { list = append(list, call(tool, arguments)) }
	add("initialize", fields{"protocolVersion": "2025-06-18", "capabilities": fields{}, "clientInfo": fields{"name": "x", "version": "1"}})
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list"} {
		add(method, fields{})
	}
	ask("memory_search", fields{"query": "alike same words Twin job", "limit": 100, "explain": true})
	ask("memory_search", fields{"query": "alike", "limit": 1, "offset": 3, "include_archived": true})
	ask("memory_recent", fields{"hours": 100000, "limit": 100})
	ask("memory_todos", fields{"state": "all"})
	ask("memory_list", fields{"limit": 2})
	ask("memory_status", fields{}) // for the owner it reports the state of the whole memory
	for _, format := range []string{"summary", "boot", "full", "items"} {
		ask("memory_context", fields{"format": format})
	}
	for _, session := range []string{"sid0", "sid1", "sid2", "none"} {
		ask("memory_load", fields{"session": session})
		ask("memory_search", fields{"query": "alike", "session": session})
	}
	// Scope fields in a tool's arguments have no effect.
	for _, more := range []fields{
		{"subject": "owner"}, {"Subject": "owner"}, {"context": "private"}, {"external_key": "telegram:1"}, {"scope": fields{"subject": "owner"}},
		{"ѕubject": "owner"}, {"subject\u200b": "owner"}, {"Memwatchd-Subject": "owner"}, {"as_owner": true},
	} {
		with := func(f fields) fields { maps.Copy(f, more); return f }
		ask("memory_search", with(fields{"query": "alike"}))
		add("tools/call", with(fields{"name": "memory_search", "arguments": fields{"query": "alike", "limit": 3}, "_meta": more}))
		add("resources/list", with(fields{"_meta": more}))
	}
	list = append(list, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"alike","query":"Twin"},"name":"memory_search"}}`)
	dirs := map[string]bool{}
	for i, l := range leaves {
		file := l.path
		add("resources/read", fields{"uri": mcp.ResourceURI(file)})
		ask("memory_get", fields{"path": file})
		ask("memory_related", fields{"path": file})
		add("resources/list", fields{"cursor": file})
		for at := range len(file) {
			if file[at] == '/' && !dirs[file[:at+1]] {
				dirs[file[:at+1]] = true
				add("resources/read", fields{"uri": mcp.ResourceURI(file[:at])})
			}
		}
		if i%4 > 0 && !thorough {
			continue
		}
		for _, cursor := range []string{file[:len(file)-1], file + "\x00", strings.ToUpper(file)} {
			add("resources/list", fields{"cursor": cursor})
		}
		for _, uri := range []string{
			"memory://./" + file, "memory:///" + file, "memory://x/../" + file, "memory://%2e%2e/" + file, "memory://" + strings.ReplaceAll(file, "/", "%2F"),
			"memory://" + strings.ReplaceAll(file, "/", "//"), "memory://" + strings.ReplaceAll(file, "/", `\`), "memory://localhost/" + file, "memory://" + file + "?x=1",
			"memory://" + file + "%00", "memory://" + file + "/", "memory://" + strings.ToUpper(file), "MEMORY://" + file, "memory:" + file, "file:///" + file, file,
		} {
			add("resources/read", fields{"uri": uri})
		}
	}
	for i, e := range targets {
		ask("memory_search", fields{"query": e.word(), "count": false, "include_archived": true})
		ask("memory_get", fields{"id": e.path + "#" + e.id()})
		if i%4 > 0 && !thorough {
			continue
		}
		ask("memory_get", fields{"id": e.id()})
		ask("memory_get", fields{"path": e.path + "#" + e.id()})
		ask("memory_related", fields{"id": e.path + "#" + e.id()})
		add("resources/read", fields{"uri": "memory://" + e.path + "#" + e.id()})
		add("resources/read", fields{"uri": mcp.ResourceURI(e.path + "#" + e.id())})
		ask("memory_get", fields{"namespace": "fact", "key": e.word()})
		ask("memory_context", fields{"format": "relevant", "query": e.word() + " " + e.proof()})
	}
	slices.Sort(list)
	return slices.Compact(list)
}
