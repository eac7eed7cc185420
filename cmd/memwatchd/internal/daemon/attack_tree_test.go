package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A randomMemory is a random memory that records, for every line it writes, which
// subjects may read it. The random memory chose this itself, and parses nothing: the
// same memory can be written as if the text hidden from a reader had never been
// there.
type randomMemory struct {
	r     *rand.Rand
	today time.Time
	files []*testFile

	paths   []string // of all files, and of some that do not exist
	secrets []string // words found in private text only
}

// A testFile is one file of a random memory.
type testFile struct {
	path         string
	owners       []string // subjects that it belongs to; none: public text is open to all, private text belongs to the root owner
	contested    bool     // contested: no subject reads it
	public       bool     // its own attributes are public
	front        []string // lines of its frontmatter
	routing      []string // those that set owner and visibility: without them other text would change owners
	broken       bool     // all of it is private, despite its attributes
	mixed        bool     // it can contain marks for other readers than its own
	closed       bool     // all of it is private
	chunks       []chunk
	crlf         bool
	unterminated bool // the last line has no ending
}

// A chunk is a block of a file.
type chunk struct {
	text    string
	level   int  // of a heading that is not an entry, else 0
	entry   bool // else a heading, a comment, a rule or a line with a <private> tag
	item    bool
	prose   bool // a paragraph, which would introduce a code block below it, or may disappear above one
	tight   bool // no blank line above
	private bool
}

const rootOwner = "owner"

// identities are the links of every random memory.
const identities = "links:\n  telegram:1: acct:42\n  slack:T1:U7: acct:42\n"

func newRandomMemory(seed uint64) *randomMemory {
	w := &randomMemory{r: rand.New(rand.NewPCG(seed, 7)), today: time.Now().In(testkit.Zone)}
	for i := range 4 {
		w.secrets = append(w.secrets, fmt.Sprintf("zorb%d", i), fmt.Sprintf("密%d", i), "zorbling"+strings.Repeat("o", i))
	}
	w.chooseFiles()
	return w
}

func (w *randomMemory) day(ago int) string { return w.today.AddDate(0, 0, -ago).Format(time.DateOnly) }

func (w *randomMemory) chance(percent int) bool { return w.r.IntN(100) < percent }

func (w *randomMemory) pickOne(list ...string) string { return list[w.r.IntN(len(list))] }

func (w *randomMemory) chooseFiles() {
	subjects := []string{"", "", "", "", rootOwner, "acct:42", "acct_42", "ext:telegram:1", "bob", "x:y"}
	for _, ago := range []int{-1, 0, 0, 1, 2, 5, 20, -400} {
		for range 2 {
			if w.chance(55) {
				w.addSession(w.pickOne("", "memory/")+w.day(ago), w.pickOne(subjects...))
			}
		}
	}
	type room struct {
		dir     string
		owners  []string
		claim   string
		clashes bool
	}
	for _, d := range []room{
		{"owner", []string{"owner"}, "", false},
		{"acct_42", []string{"acct:42"}, "acct:42", false},
		{"ext_telegram_1", []string{"ext:telegram:1", "ext_telegram_1"}, "", false},
		{"bob", []string{"bob"}, w.pickOne("", "bob"), false},
		{"x_y", []string{"x:y", "x_y"}, "", false},
		{"c_d", nil, "c:d", true},
	} {
		if d.claim != "" && len(d.owners) > 0 {
			d.owners = []string{d.claim}
		}
		claimed := false
		for _, name := range []string{
			"_index.md", "profile.md", "fact.md", "project.md", "task_state.md", "extra.md", "_archive/2026-01.md",
			"_archive/" + w.day(30) + "/cli.md", "_archive/" + w.day(31) + "/s.md",
		} {
			if !w.chance(45) && (claimed || d.claim == "" || name != "_index.md") {
				continue
			}
			f := &testFile{path: "_longterms/" + d.dir + "/" + name, owners: d.owners, contested: d.clashes}
			archived := strings.Count(name, "/") == 2
			if archived {
				f.public = true
				if d.dir == rootOwner { // the place of sessions without a subject
					f.owners = nil
				}
				switch w.r.IntN(3) {
				case 0:
					f.owners, f.contested = []string{"bob"}, false
					f.routing = []string{"subject_id: bob"}
				case 1:
					f.owners, f.contested = nil, false
					f.routing = []string{"session_id: s" + w.pickOne("1", "2")}
				}
			} else if d.claim != "" && (!claimed || w.chance(30)) {
				f.routing = []string{"subject_id: " + d.claim}
				if d.clashes && claimed {
					f.routing = []string{"subject_id: c_d"}
				}
				claimed = true
			} else if w.chance(10) {
				f.routing = []string{"subject_id: somebody-else"} // does not match the path, and is ignored
			}
			w.addFile(f)
		}
		if d.clashes {
			// Besides any other files, two files name two subjects.
			for i, subject := range []string{"c:d", "c_d"} {
				w.addFile(&testFile{path: fmt.Sprintf("_longterms/c_d/n%d.md", i), contested: true, routing: []string{"subject_id: " + subject}})
			}
		}
	}
	for _, f := range []testFile{
		{path: "MEMORY.md", owners: []string{rootOwner}},
		{path: "SOUL.md", owners: []string{rootOwner}, public: true},
		{path: "USER.md", owners: []string{rootOwner}},
		{path: "memory/" + w.day(0) + ".md", owners: []string{rootOwner}, public: true},
		{path: "memory/" + w.day(1) + ".md", owners: []string{rootOwner}, public: true},
		{path: "memory/" + w.day(9) + ".md", owners: []string{rootOwner}, public: true},
		{path: "notes/ideas.md", owners: []string{rootOwner}},
		{path: "notes/深.md", owners: []string{rootOwner}},
		{path: "top.MD", owners: []string{rootOwner}},
		{path: "notes/theirs.md", owners: []string{"bob"}, routing: []string{"subject_id: bob"}},
		{path: "alice/MEMORY.md", owners: []string{"alice"}},
		{path: "alice/memory/" + w.day(0) + ".md", owners: []string{"alice"}, public: true},
		{path: "alice/memory/" + w.day(3) + ".md", owners: []string{"alice"}, public: true},
		{path: "alice/memory/plan.md", owners: []string{"alice"}},
		{path: "alice/SOUL.md", owners: []string{"alice"}, public: true},
		{path: "alice/USER.md", owners: []string{"alice"}},
		{path: "alice/misc.md", owners: []string{rootOwner}},
	} {
		if w.chance(65) {
			w.addFile(&f)
		}
	}
	if w.chance(60) {
		w.addFile(&testFile{path: "bob/MEMORY.md", owners: []string{"bob"}})
		w.addFile(&testFile{path: "bob/memory/" + w.day(1) + ".md", owners: []string{"bob"}, public: true})
	}
	for _, f := range w.files {
		w.paths = append(w.paths, f.path)
	}
	w.paths = append(w.paths, "absent.md", "_longterms/acct_42/none.md", w.day(0)+"/none.md", "../MEMORY.md", "alice")
	for _, f := range w.files {
		w.fillFile(f)
	}
}

func (w *randomMemory) addSession(dir, subject string) {
	f := &testFile{path: dir + "/" + w.pickOne("cli", "telegram_1", "s1", "s2", "slack", "web", "café") + ".md", public: true}
	if subject != "" {
		f.owners, f.routing = []string{subject}, []string{"subject_id: " + subject}
	}
	w.addFile(f)
}

// addFile adds a file, unless one of that name exists.
func (w *randomMemory) addFile(f *testFile) {
	if !slices.ContainsFunc(w.files, func(g *testFile) bool { return g.path == f.path }) {
		w.files = append(w.files, f)
	}
}

// fillFile chooses the content of a file.
func (w *randomMemory) fillFile(f *testFile) {
	f.crlf = w.chance(10)
	if w.chance(20) {
		line := "visibility: " + w.pickOne("private_only", "public_ok", "nonsense")
		f.public = line == "visibility: public_ok"
		f.routing = append(f.routing, line)
	}
	if len(f.routing) > 0 || w.chance(60) {
		f.front = slices.Clone(f.routing)
		for _, line := range []string{
			"summary: " + strings.NewReplacer("\xff", "", "\x00", "").Replace(w.randomWords(4, !f.public)), "tags: [" + w.pickOne("home", "work", "x/y") + ", " + w.pickOne("tea", "file", "zorbtag") + "]",
			"updated_at: " + w.day(w.r.IntN(9)) + "T0" + w.pickOne("1", "2", "3") + ":00:00Z", "contact_id: c" + w.pickOne("1", "2"),
			"contact_nickname: " + w.pickOne("Zed", "小明"), "tasks: 1/3", "channel: cli # why", "odd: {a: [1, x]}",
		} {
			if w.chance(35) {
				f.front = append(f.front, line)
			}
		}
		if !slices.ContainsFunc(f.front, func(s string) bool { return strings.HasPrefix(s, "session_id") }) && w.chance(30) {
			if !strings.Contains(f.path, "/_archive/") {
				f.front = append(f.front, "session_id: s"+w.pickOne("1", "2"))
			}
		}
		w.r.Shuffle(len(f.front), func(i, j int) { f.front[i], f.front[j] = f.front[j], f.front[i] })
	}
	if len(f.routing) == 0 && w.chance(4) { // broken frontmatter makes the whole file private
		f.front, f.public = []string{"summary: [" + w.randomWords(1, true)}, false
		f.broken = true
	}
	f.mixed = w.chance(30)
	w.composeBlocks(f)
	f.closed = !f.public || slices.ContainsFunc(f.chunks, func(p chunk) bool { return p.private })
	f.unterminated = len(f.chunks) > 0 && w.chance(10)
}

func (w *randomMemory) composeBlocks(f *testFile) {
	within, rest := false, f.broken // inside <private>, or private up to the end
	add := func(p chunk) {
		p.private = p.private || within || rest
		if n := len(f.chunks); p.item && n > 0 && f.chunks[n-1].item && w.chance(75) {
			p.tight = true
		}
		f.chunks = append(f.chunks, p)
	}
	level := 0
	most := 14
	if w.chance(5) {
		most = 90
	}
	for range w.r.IntN(most) {
		switch n := w.r.IntN(100); {
		case n < 6 && f.mixed:
			tag := "<private>"
			if within {
				tag = "</private>"
			}
			f.chunks = append(f.chunks, chunk{text: tag, private: true})
			within = !within
		case n < 24 && !within: // a separate test covers who owns a heading in a private stretch
			deep := 1 + w.r.IntN(min(level+1, 4))
			level = deep
			text := strings.Repeat("#", deep) + " " + w.pickOne("Tasks", "Follow Ups", "10:30 AM - "+w.randomWords(1, false), "Key Facts", "待办与承诺", w.randomWords(2, false), "Alpha")
			if w.chance(15) { // a section without content is an entry
				add(chunk{text: text, entry: true, private: !f.public})
				// The next piece must not be below it.
				add(chunk{text: strings.Repeat("#", deep) + " " + w.pickOne("Tasks", "Beta"), level: deep})
			} else {
				add(chunk{text: text, level: deep})
				if w.chance(20) {
					level++
					add(chunk{text: strings.Repeat("#", level) + " " + w.randomWords(1, false), level: level})
				}
			}
			w.addEntry(f, add)
		case n < 30:
			add(chunk{text: w.pickOne("<!-- a note to oneself -->", "***", "<!-- memwatchd:generated -->\n- made up tea\n<!-- /memwatchd:generated -->"), private: !f.public, prose: true})
		default:
			w.addEntry(f, add)
		}
	}
	// A heading at the end would be an entry.
	if n := len(f.chunks); n > 0 && f.chunks[n-1].level > 0 {
		w.addEntry(f, add)
	}
	if within {
		f.chunks = append(f.chunks, chunk{text: "</private>", private: true})
		within = false
	}
	if f.mixed && w.chance(8) { // an unclosed tag or a duplicate id
		f.chunks = append(f.chunks, chunk{text: w.pickOne("<private>", "- "+w.randomWords(2, true)+" <!-- id=a id=b -->"), private: true, entry: true})
		rest = true
		for range w.r.IntN(3) {
			w.addEntry(f, add)
		}
	}
}

// addEntry writes one entry, with all attributes that entries can have.
func (w *randomMemory) addEntry(f *testFile, add func(chunk)) {
	p := chunk{entry: true, private: !f.public}
	if f.mixed {
		p.private = w.chance(45)
	}
	var attrs []string
	maybe := func(percent int, attr string) {
		if w.chance(percent) {
			attrs = append(attrs, attr)
		}
	}
	maybe(25, "id="+w.pickOne("k1", "k2", "k3", "k4"))
	maybe(15, "supersedes="+w.pickOne("k1", "k2", "k3", "MEMORY.md#k4"))
	maybe(15, "type="+w.pickOne("fact", "decision", "request"))
	maybe(15, "importance="+w.pickOne("0.1", "0.5", "0.9"))
	maybe(10, "updated="+w.day(w.r.IntN(4))+"T05:00:00Z")
	maybe(5, "source=msg:1")
	hidden := "" // markup in the text that makes it private
	switch {
	case p.private && (f.public || w.chance(30)):
		switch w.r.IntN(4) {
		case 0:
			hidden = " <private>" + w.randomWords(2, true) + "</private>"
		case 1:
			attrs = append(attrs, "visibility=secret")
		default:
			attrs = append(attrs, "visibility=private_only")
		}
	case f.mixed && !p.private && (!f.public || w.chance(10)):
		attrs = append(attrs, "visibility=public_ok")
	}
	inline, below := "", ""
	if len(attrs) > 0 {
		w.r.Shuffle(len(attrs), func(i, j int) { attrs[i], attrs[j] = attrs[j], attrs[i] })
		comment := "<!-- " + strings.Join(attrs, " ") + " -->"
		inline, below = " "+comment, "\n"+comment
	}
	text := w.randomText(p.private)
	var above chunk
	if n := len(f.chunks); n > 0 {
		above = f.chunks[n-1]
	}
	switch w.r.IntN(13) {
	case 0, 1, 2, 3:
		p.item = true
		p.text = w.pickOne("- ", "- ", "- [ ] ", "- [x] ", "- [ ] ") + text + hidden + inline
		if w.chance(30) {
			p.text += "\n  - " + w.pickOne("", "[ ] ", "[x] ") + w.randomText(p.private)
			if p.private && w.chance(30) { // a private nested item makes the whole entry private
				p.text += " <!-- visibility=private_only -->"
			}
		}
		if w.chance(10) {
			p.text += "\n\n  " + w.randomText(p.private)
		}
	case 4, 5, 6:
		p.prose = true
		p.text = text + w.pickOne("", "\n"+w.randomWords(3, p.private)) + hidden + inline
	case 7:
		p.text = "> " + text + hidden + inline
	case 8:
		p.text = "|a|b|\n|-|-|\n|" + w.randomWords(1, p.private) + "|" + w.randomWords(1, p.private) + hidden + "|" + below
	case 9:
		code := "```\n- [ ] " + w.randomWords(2, p.private) + "\n\n# " + w.randomWords(1, p.private) + "\n```"
		if hidden != "" {
			code = "```\n<private>\n```"
		}
		p.text = w.randomWords(2, p.private) + ":\n\n" + code + below
		if !above.prose && w.chance(60) { // once hidden text is removed, the prose above would introduce the code block
			p.text = code + below
		}
	case 10:
		p.text = "<div>\n" + text + hidden + "\n</div>" + below
	case 12:
		if hidden == "" && below == "" && p.private == !f.public && !above.prose && !above.item { // likewise; or an item above would include it
			p.text = "    " + w.randomWords(2, p.private) + "\n\n    " + w.randomWords(1, p.private)
			break
		}
		p.item = true
		p.text = w.pickOne("1. ", "7) ", "+ ") + text + hidden + inline
	case 11:
		p.prose = true
		p.text = text + " `code` \\* " + w.randomLink() + hidden + inline
	}
	add(p)
}

// randomText returns the text of an entry. Some of it is the same everywhere.
func (w *randomMemory) randomText(private bool) string {
	switch w.r.IntN(6) {
	case 0:
		return w.pickOne("same words", "Same  *words*", "喝茶", "water the plants", "see [home](MEMORY.md)")
	case 1:
		return "**" + w.randomWords(1, private) + "**: " + w.randomWords(3, private)
	case 2:
		return w.randomWords(2, private) + " #" + w.pickOne("tea", "project:x", "zorbtag", "标签") + " " + w.randomWords(1, private)
	case 3:
		return w.randomWords(2, private) + " " + w.randomLink()
	case 4:
		return w.randomWords(3, private) + " (added " + w.day(w.r.IntN(10)) + ")"
	}
	if w.chance(2) {
		return w.randomWords(400, private) // more than a hit shows
	}
	return w.randomWords(4, private)
}

func (w *randomMemory) randomLink() string {
	path := w.paths[w.r.IntN(len(w.paths))]
	switch w.r.IntN(5) {
	case 0:
		return "[[" + strings.TrimSuffix(path, ".md") + "]]"
	case 1:
		return "[up](../" + path + ")"
	case 2:
		return "[at](" + strings.ReplaceAll(path, " ", "%20") + "#k1)"
	case 3:
		return "<https://example.com/" + w.pickOne("a", "b") + ">"
	}
	return "[to](/" + path + ")"
}

// randomWords returns n words. Private text includes words found nowhere else.
func (w *randomMemory) randomWords(n int, private bool) string {
	out := make([]string, n)
	for i := range out {
		out[i] = w.pickOne("tea", "coffee", "green", "deploy", "server", "certificate", "snake_case", "HTTPServer", "running", "runs", "喝茶", "北京", "7", "the", "café", "привет", "ba\xffd", "nu\x00l")
		if private && w.chance(30) {
			out[i] = w.pickOne(w.secrets...)
		}
	}
	return strings.Join(out, " ")
}

// A reader is a caller: its subjects, and whether it may see private text.
type reader struct {
	subjects []string
	private  bool
}

// canRead reports whether a reader may see a file's public and private text.
func (a reader) canRead(f *testFile) (public, private bool) {
	if f.contested {
		return false, false
	}
	among := func(owners ...string) bool {
		return slices.ContainsFunc(owners, func(s string) bool { return slices.Contains(a.subjects, s) })
	}
	if len(f.owners) == 0 {
		return true, a.private && among(rootOwner)
	}
	return among(f.owners...), a.private && among(f.owners...)
}

// visibleFiles returns the memory as if text that the reader may not see had never been
// written. A nil reader gets all of it.
func (w *randomMemory) visibleFiles(a *reader) map[string]string {
	out := map[string]string{"_longterms/_identities.yaml": identities}
	for _, f := range w.files {
		public, private := true, true
		if a != nil {
			public, private = a.canRead(f)
		}
		if text, ok := f.renderVisible(public, private); ok {
			out[f.path] = text
		}
	}
	return out
}

// renderVisible returns a file, or false if the reader may not see it.
func (f *testFile) renderVisible(public, private bool) (string, bool) {
	if !public || f.closed && !private {
		return "", false
	}
	var b strings.Builder
	if f.front != nil {
		b.WriteString("---\n" + strings.Join(f.front, "\n") + "\n---\n")
	}
	for i := range f.chunks {
		p := &f.chunks[i]
		if !p.tight && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.text + "\n")
	}
	text := b.String()
	if f.unterminated {
		text = strings.TrimSuffix(text, "\n")
	}
	if f.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text, true
}
