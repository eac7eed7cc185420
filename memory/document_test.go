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

// TestSplit checks that the split of a file with private and public text gives each entry
// to the file with its readers, in order, and that the file before it is private if it
// contains private text.
func TestSplit(t *testing.T) {
	files := []struct {
		path, front string
		base        Visibility
	}{
		{"2026-02-04/s.md", "", PublicOK},
		{"2026-02-04/s.md", "---\nupdated_at: 2026-02-04T01:00:00Z\nsummary: s\ntags: [file]\nsubject_id: acct:1\n---\n", PublicOK},
		{"memory/2026-02-04.md", "---\ntags: file\n---\n", PublicOK},
		{"MEMORY.md", "---\nupdated_at: 2026-02-04T01:00:00Z\nsummary: s\ntags: [file]\n---\n", PrivateOnly},
		{"_longterms/acct_1/fact.md", "", PrivateOnly},
	}
	splits := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		file := files[r.IntN(len(files))]
		chunks := randomDocument(r, file.base)
		marked := false // it contains text for other readers than those of the file
		for i := range chunks {
			c := &chunks[i]
			if file.base == PrivateOnly && (c.heading > 0 || c.loose) {
				c.private = true
			}
			marked = marked || c.private != (file.base == PrivateOnly)
		}
		source := joinChunks(file.front, chunks)
		l := testLayout()
		parse := func(path string, source []byte) *Document { return l.Parse(path, source, testMeta) }
		d := parse(file.path, []byte(source))
		if want := file.base == PublicOK && !marked; (d.Partition.Visibility == PublicOK) != want {
			t.Fatalf("seed %d: the file is %s:\n%s", seed, d.Partition.Visibility, source)
		}
		s, err := d.Split(parse)
		if err != nil || (s != nil) != marked {
			t.Fatalf("seed %d: split %v, want %v: %v\n%s", seed, s != nil, marked, err, source)
		}
		if s == nil {
			continue
		}
		splits++
		got := map[Visibility]string{}
		for path, source := range map[string][]byte{file.path: s.Stay, s.Path: slices.Concat(s.New, s.Move)} {
			if path != "" {
				next := parse(path, source)
				got[next.Partition.Visibility] += texts(next)
			}
		}
		for _, v := range []Visibility{PrivateOnly, PublicOK} {
			var kept []chunk
			for _, c := range chunks {
				if c.gap = true; c.heading > 0 || c.private == (v == PrivateOnly) {
					kept = append(kept, c)
				}
			}
			if want := texts(parse(file.path, []byte(joinChunks("", kept)))); got[v] != want {
				t.Fatalf("seed %d: %s text of\n%s\n(-want +got):\n%s", seed, v, source, cmp.Diff(want, got[v]))
			}
		}
		for line := range strings.Lines(source) {
			if line = strings.TrimSpace(line); !bytes.Contains(s.Stay, []byte(line)) && !bytes.Contains(s.Move, []byte(line)) {
				t.Fatalf("seed %d: the line %q of\n%s\nis in neither file", seed, line, source)
			}
		}
	}
	if splits < 500 {
		t.Errorf("only %d files were split", splits)
	}
}

// TestSplitReaders checks that a split gives a private text to no other readers than those of
// its file.
func TestSplitReaders(t *testing.T) {
	l := testLayout()
	parse := func(path string, source []byte) *Document { return l.Parse(path, source, testMeta) }
	const session = "_longterms/acct_42/_archive/2026-02-04/cli.md"
	for _, tt := range []struct{ path, source string }{
		// The file beside has no session_id, so it would belong to the directory.
		{session, "---\nsession_id: cli\nvisibility: public_ok\n---\n- a\n- SECRET <!-- visibility=private_only -->\n"},
		{session, "---\nsession_id: cli\nvisibility: public_ok\n---\n- a\n\n<private>\nSECRET\n</private>\n"},
		// Only the last comment of an entry that has attributes can publish it.
		{"MEMORY.md", "- a <!-- visibility=public_ok -->\n- SECRET <!-- id=a -->\n\n<!-- visibility=public_ok -->\n"},
		{"MEMORY.md", "- a <!-- visibility=public_ok -->\n\nSECRET <!-- visibility=public_ok -->\nb <!-- id=a -->\n"},
		{"MEMORY.md", "- a <!-- visibility=public_ok -->\n- SECRET <!-- visibility=public_ok -->\n  b <!-- id=a -->\n"},
	} {
		d := parse(tt.path, []byte(tt.source))
		s, err := d.Split(parse)
		if err != nil {
			continue
		}
		for path, source := range map[string][]byte{tt.path: s.Stay, s.Path: slices.Concat(s.New, s.Move)} {
			if next := parse(path, source); bytes.Contains(source, []byte("SECRET")) && next.Partition != d.Partition {
				t.Errorf("%s: the text of %v is in %s, of %v:\n%s", tt.path, d.Partition, path, next.Partition, tt.source)
			}
		}
	}
}

// texts returns the texts of the entries of a document, except empty headings.
func texts(d *Document) string {
	var b strings.Builder
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Block != EmptyHeading {
			fmt.Fprintf(&b, "%s\n", e.Text)
		}
	}
	return b.String()
}

// TestMarkedText checks that a mark makes a public file private, wherever it is.
func TestMarkedText(t *testing.T) {
	golden.Table(t, "marks", func(t *testing.T, in []string) string {
		d := testLayout().Parse("2026-02-04/s.md", []byte("---\nvisibility: public_ok\n---\n- open\n\n"+in[0]+"\n- tail\n"), testMeta)
		if shown := d.Shown(View{}).Text(); strings.Contains(shown, "SECRET") {
			t.Errorf("%q: nobody sees\n%s", in[0], shown)
		}
		for _, p := range d.Problems {
			if p.Code == PrivateMarked {
				return fmt.Sprintf("private, line %d", p.Line)
			}
		}
		return d.Partition.Visibility.String()
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
