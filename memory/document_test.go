package memory

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// A chunk is a block of a random document.
type chunk struct {
	text    string
	private bool
	heading int  // level, 0 for other blocks
	fence   bool // a tag line of a private range
	loose   bool // outside all entries: a comment or a rule
	item    bool
	gap     bool // preceded by a blank line
	inside  bool // between <private> and </private>
}

// randomDocument returns random public and private blocks, with all ways of
// marking text as private. Base is the file's own visibility.
func randomDocument(r *rand.Rand, base Visibility) []chunk {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	words := func() string {
		return pick("tea", "Tea #drink", "[x](2026-02-01/a.md)", "**Bob**: likes tea", "喝茶", "coffee (added 2026-01-02)", "2026-01-03: rain", "same", "same")
	}
	var out []chunk
	inside := false
	for range 3 + r.IntN(12) {
		if r.IntN(12) == 0 {
			tag := "<private>"
			if inside {
				tag = "</private>"
			}
			out = append(out, chunk{text: tag, private: true, fence: true})
			inside = !inside
			continue
		}
		c := chunk{private: r.IntN(2) == 0}
		attr := ""
		if c.private && base == PublicOK {
			attr = pick(" <!-- visibility=private_only -->", " <!-- id=k1 visibility=private_only -->", " <!-- visibility=private_only --> more <!-- id=k1 -->")
		}
		if !c.private {
			attr = pick("", " <!-- id=k1 -->", " <!-- importance=0.5 -->")
			if base == PrivateOnly {
				attr = pick(" <!-- visibility=public_ok -->", " <!-- id=k1 visibility=public_ok -->")
			}
		}
		below := strings.ReplaceAll(strings.TrimPrefix(attr, " "), "--> more <!-- ", "") // on lines of its own
		if below != "" {
			below = "\n" + below
		}
		switch r.IntN(11) {
		case 0, 1:
			c.heading = 1 + r.IntN(3)
			c.text = strings.Repeat("#", c.heading) + " " + pick("Tasks", "Follow Ups", "10:30 AM - a", "Key Facts", "A", "待办与承诺")
			c.private = false
		case 2, 3, 4:
			c.item = true
			c.text = pick("- ", "- [ ] ", "- [x] ") + words() + attr
			if r.IntN(3) == 0 {
				c.text += "\n  " + pick("- nested", "- [ ] nested", "- [x] same")
			}
		case 5:
			c.text = words() + pick("", "\nsecond line") + attr
		case 6:
			c.text = "> " + words() + attr
		case 7:
			c.text = "|a|b|\n|-|-|\n|c|d|" + below
		case 8:
			c.text = words() + ":\n\n```\n- [ ] code\n\n# code\n```" + below
		case 9:
			c.text = "<div>\n" + words() + "\n</div>" + below
		case 10:
			c.text, c.loose, c.private = pick("<!-- note -->", "***", GeneratedOpen+"\nmade up\n"+GeneratedClose), true, false
		}
		c.private, c.inside = c.private || inside, inside
		out = append(out, c)
	}
	if inside {
		out = append(out, chunk{text: "</private>", private: true, fence: true})
	}
	for i := range out {
		out[i].gap = i > 0 && !(out[i].item && out[i-1].item && r.IntN(4) > 0)
	}
	return out
}

// readableChunks returns the document without private blocks, and without
// headings that have only private blocks below them.
func readableChunks(chunks []chunk) []chunk {
	entry := func(i int) bool { return chunks[i].heading == 0 && !chunks[i].loose && !chunks[i].fence }
	next := func(i int) int {
		for i++; i < len(chunks); i++ {
			if entry(i) || chunks[i].heading > 0 {
				return i
			}
		}
		return -1
	}
	var out []chunk
	gap := false
	keep := func(c chunk) {
		c.gap, gap = gap, false
		out = append(out, c)
	}
	for i, c := range chunks {
		gap = gap || c.gap
		if c.heading == 0 {
			if !c.private {
				keep(c)
			}
			continue
		}
		n := next(i)
		if n < 0 || chunks[n].heading > 0 && chunks[n].heading <= c.heading { // an empty heading is an entry
			if !c.private {
				keep(c)
			}
			continue
		}
		if c.inside {
			continue
		}
		for j := i + 1; j < len(chunks) && (chunks[j].heading == 0 || chunks[j].heading > c.heading); j++ {
			empty := false
			if chunks[j].heading > 0 {
				n := next(j)
				empty = n < 0 || chunks[n].heading > 0 && chunks[n].heading <= chunks[j].heading
			}
			if (entry(j) || empty) && !chunks[j].private {
				keep(c)
				break
			}
		}
	}
	return out
}

func joinChunks(front string, chunks []chunk) string {
	var b strings.Builder
	b.WriteString(front)
	for _, c := range chunks {
		if c.gap && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// TestShownAsIfTheRestDidNotExist checks that a view of a document is the same
// as if its unreadable text had never been written.
func TestShownAsIfTheRestDidNotExist(t *testing.T) {
	files := []struct {
		path, front string
		without     string // the frontmatter visible to the readers
		base        Visibility
		readers     []Scope // scopes that may read only the public part
	}{
		{"2026-02-04/s.md", "", "", PublicOK, []Scope{{}, {Subject: "acct:1", Context: Private}, {Subject: "owner"}}},
		{"2026-02-04/s.md", "---\nupdated_at: 2026-02-04T01:00:00Z\nsummary: s\ntags: [file]\nsubject_id: acct:1\n---\n", "---\nupdated_at: 2026-02-04T01:00:00Z\nsummary: s\ntags: [file]\nsubject_id: acct:1\n---\n", PublicOK, []Scope{{Subject: "acct:1"}, {Subject: "acct:1", Context: Public}}},
		{"memory/2026-02-04.md", "---\ntags: file\n---\n", "---\ntags: file\n---\n", PublicOK, []Scope{{Subject: "owner"}}},
		{"MEMORY.md", "---\nupdated_at: 2026-02-04T01:00:00Z\nsummary: s\ntags: [file]\n---\n", "", PrivateOnly, []Scope{{Subject: "owner"}}},
		{"_longterms/acct_1/fact.md", "", "", PrivateOnly, []Scope{{Subject: "acct:1"}}},
	}
	n := 3000
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 1))
		file := files[r.IntN(len(files))]
		chunks := randomDocument(r, file.base)
		if file.base == PrivateOnly { // a heading without entries has the file's visibility
			for i := range chunks {
				chunks[i].private = chunks[i].private || chunks[i].heading > 0 || chunks[i].loose
			}
		}
		all, some := joinChunks(file.front, chunks), joinChunks(file.without, readableChunks(chunks))
		l := testLayout()
		full, reduced := l.Parse(file.path, []byte(all), testMeta), l.Parse(file.path, []byte(some), testMeta)
		for _, scope := range file.readers {
			v := viewOf(t, scope)
			if got, want := visible(full, v), visible(reduced, v); got != want {
				t.Fatalf("seed %d: %+v sees more or less of\n%s\n(-without the rest +with it):\n%s", seed, scope, all, cmp.Diff(want, got))
			}
		}
	}
}

// visible returns everything that a view can read or derive from a document.
func visible(d *Document, v View) string {
	d = d.For(v)
	if d == nil {
		return "nothing"
	}
	var b strings.Builder
	shown := d.Shown(v)
	fmt.Fprintf(&b, "empty %v total %d summary %q\n%s\n", shown.Empty(), len(shown.Lines), d.Summary(v), shown.Text())
	tasks, followUps := d.Progress(v)
	fmt.Fprintln(&b, "progress", tasks, followUps)
	for _, e := range d.Entries {
		if !e.Readable(v) {
			continue
		}
		e.Tasks = slices.Clone(e.Tasks)
		for i := range e.Tasks {
			e.Tasks[i].Box = Span{}
		}
		e.Heading, e.Span, e.Comment, e.lead = 0, Span{}, Span{}, 0
		fmt.Fprintf(&b, "%+v\n", e)
	}
	return b.String()
}

// TestShownWithoutMarkedText checks that marks make text private wherever they are in a
// public file, and whether the text below them stays public.
func TestShownWithoutMarkedText(t *testing.T) {
	golden.Table(t, "marks", func(t *testing.T, in []string) string {
		d := testLayout().Parse("2026-02-04/s.md", []byte("---\nvisibility: public_ok\n---\n- open\n\n"+in[0]+"\n- tail\n"), testMeta)
		text := d.Shown(View{}).Text()
		if !strings.Contains(text, "- open\n") || strings.Contains(text, "SECRET") {
			t.Errorf("%q: nobody sees\n%s", in[0], text)
		}
		if strings.Contains(text, "- tail\n") {
			return "public below"
		}
		return "private below"
	})
}

// TestShownEmpty checks that a file without readable text is treated like a
// missing file. For views of a part of a file, so is an empty file.
func TestShownEmpty(t *testing.T) {
	owner := viewOf(t, Scope{Subject: "owner", Context: Private})
	golden.Table(t, "shown", func(t *testing.T, in []string) string {
		d := testLayout().Parse(in[0], []byte(in[1]), testMeta)
		switch public, private := !d.Shown(View{}).Empty(), !d.Shown(owner).Empty(); {
		case public && private:
			return "everybody"
		case public:
			t.Errorf("%q: the owner sees less", in)
		case private:
			return "owner"
		}
		return "nobody"
	})
}

// TestShownSeparators checks that separators do not reveal how many entries are hidden
// between them.
func TestShownSeparators(t *testing.T) {
	for _, gap := range []string{"\n§\n", "\n\n§\n\n", "\r\n§ \r\n"} {
		for hidden := range 1 << 4 {
			var all, readable []string
			for i := range 4 {
				text := "fact " + string(rune('a'+i))
				if hidden>>i&1 == 0 {
					readable = append(readable, text)
				} else {
					text += " <!-- visibility=private_only -->"
				}
				all = append(all, text)
			}
			parse := func(list []string) *Document {
				return testLayout().Parse("2026-02-04/a.md", []byte(strings.Join(list, gap)), testMeta)
			}
			if got, want := visible(parse(all), View{}), visible(parse(readable), View{}); got != want {
				t.Errorf("hidden %04b: (-without the rest +with it)\n%s", hidden, cmp.Diff(want, got))
			}
		}
	}
}

// TestProse checks that prose omits text for programs, keeps text for users,
// and records whether each line is trusted: an untrusted line begins with !.
func TestProse(t *testing.T) {
	l := &Layout{Mask: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("SECRET"), []byte("XXXXXX")) }}
	golden.Table(t, "prose", func(t *testing.T, in []string) string {
		context, _ := ParseContext(in[1])
		v := viewOf(t, Scope{Subject: "owner", Context: context})
		doc := l.Parse("MEMORY.md", []byte(in[2]), testMeta).For(v)
		if doc == nil {
			return ""
		}
		var got strings.Builder
		for _, line := range doc.Prose(v) {
			text, _, _ := strings.Cut(line.Text, " <!--")
			if line.Entry >= 0 && !strings.Contains(doc.Entries[line.Entry].Text, strings.TrimSpace(text)) {
				t.Errorf("%s: %q is said to be of %q", in[0], line.Text, doc.Entries[line.Entry].Text)
			}
			if line.Untrusted {
				got.WriteByte('!')
			}
			got.WriteString(line.Text + "\n")
		}
		return got.String()
	})
}

// FuzzExcerpt checks that the excerpt consists of exactly the readable lines,
// that readers of the whole file do not get an excerpt, and that a view that
// may read neither gets no document.
func FuzzExcerpt(f *testing.F) {
	for i, s := range seeds {
		f.Add(uint8(i), []byte(s))
		f.Add(uint8(i), []byte("- open <!-- visibility=public_ok -->\n\n"+s+"\n\n- closed <!-- visibility=private_only -->\n\n"+s))
	}
	f.Fuzz(func(t *testing.T, n uint8, src []byte) {
		paths := []string{"2026-02-04/a.md", "MEMORY.md", "memory/2026-02-04.md", "_longterms/acct_42/fact.md", "x/y.md"}
		l := testLayout()
		d := l.Parse(paths[int(n)%len(paths)], src, testMeta)
		owner := d.publicPartition.Owner
		for _, subject := range []string{"owner", "acct:42", "acct:1"} {
			if viewOf(t, Scope{Subject: subject}).Readable(d.publicPartition) {
				owner = subject
			}
		}
		if ValidSubject(owner) != nil {
			owner = "owner" // for text without a subject
		}
		outside, inside := viewOf(t, Scope{Subject: owner}), viewOf(t, Scope{Subject: owner, Context: Private})
		e := d.Excerpt()
		switch {
		case e == nil && d.For(outside) != nil && (d.For(outside) != d || d.Partition != d.publicPartition):
			t.Fatal("without an excerpt some see a part")
		case e != nil && inside.Readable(d.Partition) && (d.For(outside) != e || d.For(inside) != d):
			t.Fatal("one who may read all sees the excerpt, or the other way round")
		case e == nil:
			return
		}
		if !e.Partition.Excerpt || d.Partition.Visibility != PrivateOnly || e.excerpt != nil {
			t.Fatalf("an excerpt in %+v of what is in %+v", e.Partition, d.Partition)
		}
		var public []string
		for _, line := range d.publicLines() {
			public = append(public, d.line(line))
		}
		// At the start of the excerpt, a BOM character is a byte order mark.
		if got, want := e.Shown(outside).Text(), strings.Join(public, "\n")+"\n"; strings.TrimPrefix(got, string(bom)) != strings.TrimPrefix(want, string(bom)) {
			t.Fatalf("the excerpt is %q, what is readable %q", got, want)
		}
		for i := range e.Entries {
			if !e.Entries[i].Readable(outside) {
				t.Fatalf("line %d of the excerpt is not public", e.Entries[i].Line)
			}
		}
		checkEntries(t, e)
	})
}
