package ops

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A testFile is a test file with its readers. They are part of the test data and not a
// result of parsing, so a memory can also be created without the files that a reader may not
// read.
type testFile struct {
	path       string
	kind       memory.Kind
	owner      string // subject; if empty, public text is readable by all and private text belongs to the root owner
	isPrivate  bool
	front      []string // lines of its frontmatter
	blocks     []block
	blankLines bool // with blank lines between items

	// routing holds the frontmatter lines that set owner and privacy. Without
	// them other text would change hands, so they are present whenever any text
	// is.
	routing []string
}

// A block is a heading or an entry.
type block struct {
	text    string
	heading bool
	private bool // for the file beside a public one
}

// splitFile returns a file without the blocks for other readers, and the file beside it with
// these blocks, or nil if there are none.
func splitFile(l *testFile) (own, beside *testFile) {
	own, beside = new(testFile), new(testFile)
	*own = *l
	*beside = *l
	ending, layout := memory.PublicFile, &memory.Layout{Users: func(dir string) bool { return dir != "inbox" && dir != "notes" }}
	if !l.isPrivate {
		ending = memory.UnseenFile
	}
	beside.path, beside.isPrivate = memory.BesideFile(l.path, ending), !l.isPrivate
	beside.kind = layout.Place(beside.path).Kind
	isVisibility := func(line string) bool { return strings.HasPrefix(line, "visibility:") }
	beside.routing = append(slices.DeleteFunc(slices.Clone(l.routing), isVisibility), "visibility: "+visibilityOf(beside.isPrivate))
	if l.owner != "" && l.owner != "owner" && !slices.Contains(beside.routing, "subject_id: "+l.owner) {
		beside.routing = append(beside.routing, "subject_id: "+l.owner)
	}
	beside.front = slices.DeleteFunc(slices.Clone(l.front), func(line string) bool { return !strings.HasPrefix(line, "session_id:") })
	own.blocks, beside.blocks = nil, nil
	entries := 0
	for _, b := range l.blocks {
		if b.heading || b.private == l.isPrivate {
			own.blocks = append(own.blocks, b)
		}
		if b.heading || b.private != l.isPrivate {
			beside.blocks = append(beside.blocks, b)
		}
		if !b.heading && b.private != l.isPrivate {
			entries++
		}
	}
	if entries == 0 {
		return own, nil
	}
	return own, beside
}

// A readAccess holds the permissions of a caller.
type readAccess struct {
	subjects []string
	private  bool // in a private context
}

// canRead implements the documented rule of who may read an entry:
//
//	readable = (no subject, or one of mine) and (public, or in a private context)
//
// Private text without a subject belongs to the root owner.
func (r *readAccess) canRead(owner string, private bool) bool {
	if private && owner == "" {
		owner = "owner"
	}
	return (owner == "" || slices.Contains(r.subjects, owner)) && (!private || r.private)
}

// otherText is what an unreadable file has in place of all its text.
const otherText = "- zqother"

// render returns the file. With a reader who may not read it, it returns false, or with
// other a file with another text.
func (l *testFile) render(r *readAccess, other bool) (string, bool) {
	readable := r == nil || r.canRead(l.owner, l.isPrivate)
	if !readable && !other {
		return "", false
	}
	var parts []string
	front := slices.Clone(l.routing)
	if readable {
		front = append(front, l.front...)
	} else {
		parts = append(parts, otherText+"\n")
	}
	var headings []string // headings without content so far
	item := false
	for _, b := range l.blocks {
		switch {
		case !readable:
		case b.heading && strings.HasPrefix(b.text, "## ") && len(headings) > 0 && strings.HasPrefix(headings[0], "# "):
			headings = append(headings[:1:1], b.text)
		case b.heading:
			headings = []string{b.text}
		default:
			for _, heading := range headings {
				parts, item = append(parts, heading+"\n"), false
			}
			headings = nil
			if is := strings.HasPrefix(b.text, "- "); is && item && !l.blankLines {
				parts[len(parts)-1] += b.text + "\n"
			} else {
				parts, item = append(parts, b.text+"\n"), is
			}
		}
	}
	if len(front) > 0 {
		parts = slices.Insert(parts, 0, "---\n"+strings.Join(front, "\n")+"\n---\n")
	}
	return strings.Join(parts, "\n"), true
}

// testLinks holds the links of every test memory.
const testLinks = "links:\n  telegram:1: acct:42\n"

// newTestMemory creates a memory of leaves, complete or without the text that a reader
// may not read.
func newTestMemory(t testing.TB, leaves []*testFile, r *readAccess) *testMemory {
	t.Helper()
	return newOtherMemory(t, leaves, r, false)
}

// newOtherMemory is newTestMemory; with other, the files have other unreadable text.
func newOtherMemory(t testing.TB, leaves []*testFile, r *readAccess, other bool) *testMemory {
	t.Helper()
	archive := &txtar.Archive{Comment: []byte("quiet: none\nusers: acct_42 ext_telegram_1 bob\n"),
		Files: []txtar.File{{Name: memory.IdentitiesPath, Data: []byte(testLinks)}}}
	for _, l := range leaves {
		if text, ok := l.render(r, other); ok {
			archive.Files = append(archive.Files, txtar.File{Name: l.path, Data: []byte(text)})
		}
	}
	g := readOpsCase(t, archive).start(t)
	// The directory always exists, because its presence determines where new
	// files go.
	checkError(t, os.MkdirAll(filepath.Join(g.dir, "memory"), 0o700))
	g.vectors = &testVectors{lag: 5}
	g.vectors.update(g.docs)
	g.memory.Vectors, g.memory.Publisher = g.vectors, idlePublisher{}
	g.isInitial = true
	return g
}

// restore resets the files to their initial content.
func (g *testMemory) restore(t testing.TB) {
	t.Helper()
	files := g.files(t)
	if maps.Equal(files, g.base) && g.isIndexed(g.base) {
		g.isInitial = true
		return
	}
	g.isInitial = false
	g.startWriter(t)
	for path := range files {
		if _, ok := g.base[path]; !ok {
			checkError(t, os.Remove(filepath.Join(g.dir, path)))
		}
	}
	for path, text := range g.base {
		if is, ok := files[path]; !ok || is != text {
			g.write(t, path, text)
		}
	}
	checkError(t, g.Sync(t.Context()))
	g.startTodos(t)
	g.isInitial = true
}

// isIndexed reports whether the index contains exactly the memory files of files.
func (g *testMemory) isIndexed(files map[string]string) bool {
	indexed := 0
	for path, text := range files {
		if g.memory.Layout.Skip(path) != "" {
			continue
		}
		if doc := g.docs[path]; doc == nil || string(doc.Source) != text {
			return false
		}
		indexed++
	}
	return indexed == len(g.docs)
}

// runRequest runs an operation, on a listener with or without a fixed scope. It
// returns the encoded answer without durations, or the error.
func (g *testMemory) runRequest(t testing.TB, fixed *api.Fixed, op *api.Operation, request string) (answer string, failure *api.Error) {
	t.Helper()
	g.isInitial = g.isInitial && op.ReadOnly
	answer, err := g.send(t.Context(), api.Caller{Fixed: fixed}, op, []byte(request))
	if err != nil {
		failure = asError(err)
		body, err := api.EncodeJSON(api.Failure{Error: failure})
		checkError(t, err)
		answer = string(body)
	}
	return answer, failure
}

// readable returns the shown text of all files for a scope.
func (g *testMemory) readable(t testing.TB, s memory.Scope) map[string]string {
	t.Helper()
	v, err := g.View(g.Scope(s.Subject, s.Context))
	checkError(t, err)
	is := map[string]string{}
	g.eachFile(t, func(path string) {
		if doc, err := g.Load(path); err == nil && doc.For(v) != nil {
			is[path] = strings.Join(doc.For(v).Shown(v).Lines, "\n")
		}
	})
	return is
}

// firstMissing returns the first text of the leaves that the reader may not read and
// that is missing from the files or out of order. It ignores the state of
// boxes, because completing a task ticks all copies, including unreadable ones.
func firstMissing(leaves []*testFile, r *readAccess, is map[string]string) string {
	for _, l := range leaves {
		text := unticked.Replace(is[l.path])
		if !r.canRead(l.owner, l.isPrivate) {
			for _, line := range l.front {
				at := strings.Index(text, line+"\n")
				if at < 0 {
					return l.path + ": " + line
				}
				text = text[at:]
			}
		}
		for _, b := range l.blocks {
			if b.heading || r.canRead(l.owner, l.isPrivate) {
				continue
			}
			want := unticked.Replace(b.text)
			at := strings.Index(text, want+"\n")
			if at < 0 {
				return l.path + ": " + b.text
			}
			text = text[at+len(want):]
		}
	}
	return ""
}

var unticked = strings.NewReplacer("[x]", "[ ]")

func encodeRequest(t *testing.T, request fields) string {
	t.Helper()
	text, err := json.Marshal(request)
	checkError(t, err)
	return string(text)
}
