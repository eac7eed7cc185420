package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The form of credentials that the mask of these tests detects, and an example.
var (
	credentialRE = regexp.MustCompile(`tok_[A-Za-z0-9_.=+/~:-]{8,}`)
	credential   = "tok_s3Cret-Value.9Z"
)

func maskTokens(source []byte) []byte {
	found := credentialRE.FindAllIndex(source, -1)
	if found == nil {
		return source
	}
	out := bytes.Clone(source)
	for _, loc := range found {
		for i := loc[0]; i < loc[1]; i++ {
			if c := out[i] | 0x20; c >= 'a' && c <= 'z' || out[i] >= '0' && out[i] <= '9' {
				out[i] = 'x'
			}
		}
	}
	return out
}

func maskingLayout() *Layout {
	l := testLayout()
	l.Mask = maskTokens
	return l
}

// FuzzMask checks that a document does not contain a credential from any
// position in its source, and that masking does not change the structure of the
// document.
func FuzzMask(f *testing.F) {
	for i, s := range seeds {
		f.Add("2026-02-04/a.md", []byte(s), uint(3*i), "s3Cret-Value.9Z", true)
		f.Add("MEMORY.md", []byte(s), uint(i), "00000000", false)
	}
	f.Add("a.md", []byte("---\na: \nb: \"\"\n---\n"), uint(7), "0123_~~==", true)
	f.Fuzz(func(t *testing.T, path string, src []byte, at uint, secret string, again bool) {
		secret = credentialRE.FindString("tok_" + secret)
		n := int(at % uint(len(src)+1))
		if secret == "" || bytes.Contains(src, []byte(secret)) || bytes.Contains(src, []byte("xxx")) {
			return
		}
		src = slices.Concat(src[:n], []byte(secret), src[n:])
		if again {
			src = slices.Concat(src, []byte("\n\n- "+secret+"\n"))
		}
		open, masked := testLayout().Parse(path, src, testMeta), maskingLayout().Parse(path, src, testMeta)
		if !bytes.Equal(masked.Source, src) || !masked.Masked() || open.Masked() {
			t.Fatal("the source is not what it was, or not told as masked")
		}
		checkMasked(t, masked, secret)
		if e := masked.Excerpt(); e != nil {
			checkMasked(t, e, secret)
		}
		sameShape(t, open, masked)
		if a, b := open.Excerpt(), masked.Excerpt(); (a == nil) != (b == nil) {
			t.Fatal("other readers")
		} else if a != nil {
			sameShape(t, a, b)
		}
	})
}

// checkMasked fails if a document contains a credential outside the values that
// determine its subject.
func checkMasked(t *testing.T, d *Document, secret string) {
	t.Helper()
	said := *d
	said.Source, said.Place, said.Claim = nil, Place{}, ""
	said.Front.SubjectID, said.Front.SessionID, said.Front.ContactID = "", "", ""
	for _, f := range said.Front.Fields {
		if strings.Contains(f.Key, secret) {
			return
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(d.Shown(d.viewOfEverything()).Lines, "\n")
	if strings.Contains(string(text), secret) || strings.Contains(lines, secret) {
		t.Fatalf("%q is told:\n%s\n%s", secret, text, lines)
	}
}

// viewOfEverything returns a view that may read the whole document.
func (d *Document) viewOfEverything() View {
	owners := map[string]string{d.Own.Owner: "", d.privatePartition.Owner: ""}
	for i := range d.Entries {
		owners[d.Entries[i].Partition.Owner] = ""
	}
	return View{owners: owners, private: true}
}

// sameShape fails if two documents differ in structure, readers or positions of
// edits.
func sameShape(t *testing.T, a, b *Document) {
	t.Helper()
	switch {
	case len(a.Entries) != len(b.Entries), len(a.Headings) != len(b.Headings), !slices.Equal(a.Hidden, b.Hidden),
		a.Own != b.Own, a.Partition != b.Partition, a.Unsound != b.Unsound, a.Front.Span != b.Front.Span, a.Front.Broken != b.Front.Broken:
		t.Fatalf("%q is read otherwise", a.Source)
	}
	for i := range a.Entries {
		e, m := &a.Entries[i], &b.Entries[i]
		switch {
		case e.Line != m.Line, e.EndLine != m.EndLine, e.Span != m.Span, e.Block != m.Block, e.Heading != m.Heading,
			e.Partition != m.Partition, e.Comment != m.Comment, len(e.Text) != len(m.Text), (e.Title == "") != (m.Title == ""),
			e.Type != m.Type, len(e.Tasks) != len(m.Tasks), len(e.Links) != len(m.Links), e.Masked:
			t.Fatalf("%q: entry %d is read otherwise:\n%+v\n%+v", a.Source, i, e, m)
		case m.Masked != credentialRE.Match(b.Source[m.Span.Start:m.Span.End]):
			t.Fatalf("%q: entry %d: masked is %v", a.Source, i, m.Masked)
		}
		for j := range e.Tasks {
			if e.Tasks[j].Box != m.Tasks[j].Box || e.Tasks[j].State != m.Tasks[j].State {
				t.Fatalf("%q: entry %d has other tasks", a.Source, i)
			}
		}
	}
}

// TestWritesKeepMasked checks that changes to a file keep the masked text
// beside them.
func TestWritesKeepMasked(t *testing.T) {
	l := maskingLayout()
	const path = "_longterms/acct_42/_index.md"
	src := "---\nsummary: 'see " + credential + "' # mine\ntasks: 0/9\n---\n# Tasks\n- [ ] rotate " + credential + " <!-- id=a source=" + credential + " -->\n- [ ] b\n\n# Notes\n- **" + credential + "**: c\n- d\n"
	parse := func(b []byte) *Document { return l.Parse(path, b, testMeta) }
	for name, test := range map[string]struct {
		change func(*Document, *Revision)
		want   string
	}{
		"task":      {func(d *Document, r *Revision) { r.SetTask(0, 0, Done) }, strings.Replace(src, "[ ] rotate", "[x] rotate", 1)},
		"attribute": {func(d *Document, r *Revision) { r.SetAttribute(0, "pin", "1") }, strings.Replace(src, " -->", " pin=1 -->", 1)},
		"counters":  {func(d *Document, r *Revision) { r.SetCounters() }, strings.Replace(src, "0/9", "0/2", 1)},
		"append":    {func(d *Document, r *Revision) { r.Append([]string{"Notes"}, "- e") }, src + "- e\n"},
		"remove":    {func(d *Document, r *Revision) { r.Remove(1) }, strings.Replace(src, "- [ ] b\n", "", 1)},
		"field":     {func(d *Document, r *Revision) { r.SetField("summary", d.Front.Summary); r.SetTask(1, 0, Done) }, strings.Replace(src, "[ ] b", "[x] b", 1)},
	} {
		d := parse([]byte(src))
		r := d.Revise()
		test.change(d, r)
		got, err := r.Apply(parse)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// TestRewriteKeepsMasked checks that Rewrite keeps masked text, removes its
// line as a whole, or fails if it is ambiguous which of several lines is
// removed.
func TestRewriteKeepsMasked(t *testing.T) {
	l := maskingLayout()
	parse := func(b []byte) *Document { return l.Parse("MEMORY.md", b, testMeta) }
	src := "# A\n- " + credential + "\n- b\n- " + credential[:len(credential)-1] + "8\n- for c: " + credential + "\n- d\n"
	d := parse([]byte(src))
	v := d.viewOfEverything()
	shown := d.Shown(v).Text()
	masked := string(maskTokens([]byte(credential)))
	for _, test := range []struct{ old, new, want string }{
		{"- b", "- c\n- e", strings.Replace(src, "- b", "- c\n- e", 1)},
		{"# A\n", "", strings.Replace(src, "# A\n", "", 1)},
		{"- b\n", "", strings.Replace(src, "- b\n", "", 1)},
		{"- for c: " + masked + "\n", "", strings.Replace(src, "- for c: "+credential+"\n", "", 1)},
		{"- for c: " + masked, "- for c: none", strings.Replace(src, "- for c: "+credential, "- for c: none", 1)},
		{shown, "- b\n", "- b\n"},
		{"- " + masked + "\n- b", "- b", ""},
		{"- b\n- " + masked + "\n", "", ""},
		{"- " + masked + "\n- b\n", "- b\n- " + masked + "\n", ""},
	} {
		got, err := d.Rewrite(v, strings.Replace(shown, test.old, test.new, 1), parse)
		if test.want == "" && !errors.Is(err, ErrMasked) || test.want != "" && (err != nil || string(got) != test.want) {
			t.Errorf("%q for %q: %v\n%s", test.new, test.old, err, got)
		}
	}
}
