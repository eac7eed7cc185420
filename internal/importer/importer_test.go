package importer

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testSource(name string) Source {
	return Source{name, "from-" + strings.ReplaceAll(strings.ToLower(name), ".", "-"), time.FixedZone("test", -8*3600)}
}

// collect returns the records and problems of a file, one a line.
func collect(t testing.TB, records Records) string {
	t.Helper()
	var b strings.Builder
	for record, err := range records {
		if problem, ok := errors.AsType[*Problem](err); ok {
			fmt.Fprintln(&b, problem)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := api.EncodeJSON(record)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	return b.String()
}

// TestFormats reads the files of each archive in testdata, sorted by name.
func TestFormats(t *testing.T) {
	for _, f := range formats {
		t.Run(f.Program, func(t *testing.T) {
			name := filepath.Join("testdata", f.Program+".txtar")
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := &archive.Files[len(archive.Files)-1]
			files := slices.Clone(archive.Files[:len(archive.Files)-1])
			slices.SortFunc(files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
			got := ""
			for _, file := range files {
				if !f.Match(filepath.Base(file.Name)) {
					t.Errorf("%s does not match", file.Name)
				}
				got += collect(t, f.Read(testSource(file.Name), bytes.NewReader(file.Data)))
			}
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHostile reads sources that no program writes. Every format must return what
// it can read, and end.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("[", 1<<17)
	for name, text := range map[string]string{
		"empty": "", "blank": " \n\n", "BOM": "\xef\xbb\xbf[]", "word": "null", "text": "hello", "number": "12",
		"open list": "[", "open object": `{"a":`, "open text": `["a`, "deep": deep, "deep object": strings.Repeat(`{"a":`, 1<<17),
		"deep element": "[" + deep[:300] + strings.Repeat("]", 300) + `, {"id": "a"}]`, "commas": "[,,,]", "colons": "[:]", "braces": "[}]",
		"NUL": "[\x00]", "invalid UTF-8": "[{\"title\": \"\xff\", \"id\": \"\xff\"}]", "huge number": "[" + strings.Repeat("9", 1<<20) + "]",
		"escapes": `["\\\"", "\u0000", "\ud800"]`, "front": "---\n", "front twice": "---\n---\n---\n", "lists": `{"a": [1], "b": {"c": [2]}, "d": "]"}`,
	} {
		for _, f := range formats {
			for record, err := range f.Read(testSource(name), strings.NewReader(text)) {
				if _, ok := errors.AsType[*Problem](err); err != nil && !ok {
					t.Errorf("%s: %s: %v", f.Program, name, err)
				}
				if err == nil && record.ID == "" {
					t.Errorf("%s: %s: record %v", f.Program, name, record)
				}
			}
		}
	}
}

// TestLimits checks that a line that is too large is skipped, and that an element that is
// too large ends a list.
func TestLimits(t *testing.T) {
	got := ""
	for v, err := range objects(strings.NewReader(strings.Repeat("x", maxRecord+1) + "\n{}\n")) {
		got += fmt.Sprintf("%s %s %v; ", v.at, v.raw, err)
	}
	if want := fmt.Sprintf("  line 1: %v; line 2 {} <nil>; ", errTooLarge); got != want {
		t.Errorf("got %s", got)
	}
	got = ""
	for v, err := range elements(io.MultiReader(strings.NewReader(`["a", "`), &repeated{element: []byte("xxxxxxxx"), n: maxWhole})) {
		got += fmt.Sprintf("%s %s %v; ", v.at, v.raw, err)
	}
	if want := fmt.Sprintf("element 1 \"a\" <nil>;   element 2: %v; the rest of the file was not read; ", errElement); got != want {
		t.Errorf("got %s", got)
	}
}

// TestObjects checks that text between objects ends no other line.
func TestObjects(t *testing.T) {
	for name, c := range map[string][2]string{
		"CRLF":         {"{\"a\":1}\r\n\r\n{\"b\":2}\r\n", `line 1 {"a":1}; line 3 {"b":2}; `},
		"BOM":          {"\ufeff{\"a\":1}\n{\"b\":2}", `line 1 {"a":1}; line 2 {"b":2}; `},
		"two":          {`{"a":1}{"b":2} {"c":3}`, `line 1 {"a":1}; line 1 {"b":2}; line 1 {"c":3}; `},
		"list":         {"[{\"a\":1},\n{\n\"b\":[2]}]\n", "element 1 {\"a\":1}; element 2 {\n\"b\":[2]}; "},
		"torn":         {"{\"a\":1}{\"a\":\n{\"b\":2}\n", `line 1 {"a":1}; line 1: invalid JSON: unexpected EOF; line 2 {"b":2}; `},
		"comma":        {"{\"a\":1,}\n{\"b\":2}", `line 1: invalid JSON: invalid character '}' looking for beginning of object key string; line 2 {"b":2}; `},
		"other values": {"1\n\"{}\"\n\x00{}\n{}", `line 1: not a JSON object; line 2: not a JSON object; line 3: invalid JSON: invalid character '\x00' looking for beginning of value; line 4 {}; `},
	} {
		got := ""
		for v, err := range objects(strings.NewReader(c[0])) {
			if err != nil {
				got += err.Error() + "; "
			} else {
				got += fmt.Sprintf("%s %s; ", v.at, v.raw)
			}
		}
		if got != c[1] {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// A zeros reader returns n zero bytes.
type zeros struct{ n int64 }

func (z *zeros) Read(b []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), z.n)
	clear(b[:n])
	z.n -= n
	return int(n), nil
}

// TestArchive reads archives with hostile names and sizes.
func TestArchive(t *testing.T) {
	f, _ := FormatOf("chatgpt")
	pack := func(fill func(*zip.Writer)) ([]Input, error) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		fill(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "export")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Open(f, name, nil)
		for i := range list {
			list[i].Name = strings.TrimPrefix(list[i].Name, name+"/")
		}
		return list, err
	}
	add := func(w *zip.Writer, name string, r io.Reader) {
		out, err := w.Create(name)
		if err == nil {
			_, err = io.Copy(out, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := pack(func(w *zip.Writer) {
		for _, name := range []string{"../../conversations.json", "/etc/conversations-001.json", `C:\x\conversations-002.json`, "chat.html", "conversations.json/", "a/conversations.json.exe"} {
			add(w, name, strings.NewReader(""))
		}
	})
	var names []string
	for _, in := range list {
		names = append(names, in.Name)
	}
	if diff := cmp.Diff([]string{"../../conversations.json", "/etc/conversations-001.json", "C:/x/conversations-002.json"}, names); diff != "" || err != nil {
		t.Errorf("names (-want +got):\n%s%v", diff, err)
	}
	if _, err := pack(func(w *zip.Writer) { add(w, "chat.html", strings.NewReader("")) }); err == nil {
		t.Error("an archive of other files is read")
	}
	list, err = pack(func(w *zip.Writer) { add(w, "conversations.json", &zeros{64 << 20}) })
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	in, err := list[0].open()
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, in)
	if !errors.Is(err, errArchive) || n > 16<<20 {
		t.Errorf("read %d bytes: %v", n, err)
	}
}

// TestOpen lists the files of a directory that match, also behind a link, and reads any file
// that is named.
func TestOpen(t *testing.T) {
	dir, f := t.TempDir(), Format{}
	f, _ = FormatOf("codex")
	for _, name := range []string{"rollout-1.jsonl", "a/b/rollout-2.jsonl", "a/notes.txt"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "real", filepath.Dir(name)), 0o700),
			os.WriteFile(filepath.Join(dir, "real", name), []byte("PK"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for arg, want := range map[string][]string{"real": {"real/a/b/rollout-2.jsonl", "real/rollout-1.jsonl"},
		"link": {"link/a/b/rollout-2.jsonl", "link/rollout-1.jsonl"}, "link/a/notes.txt": {"link/a/notes.txt"}} {
		list, err := Open(f, filepath.Join(dir, arg), nil)
		var got []string
		for _, in := range list {
			got = append(got, strings.TrimPrefix(in.Name, dir+"/"))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", arg, err, diff)
		}
	}
	if _, err := Open(f, filepath.Join(dir, "none"), nil); err == nil {
		t.Error("a missing file is no error")
	}
	if os.Geteuid() == 0 {
		return // who may read every directory
	}
	closed := filepath.Join(dir, "real", "a", "b")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(closed, 0o700) })
	if list, err := Open(f, filepath.Join(dir, "real"), nil); len(list) != 1 || err == nil {
		t.Errorf("beside an unreadable directory: %d files, %v", len(list), err)
	}
}

// TestSplit checks that parts keep all text and the limit.
func TestSplit(t *testing.T) {
	r := &api.ImportRecord{ID: "a", Title: "T", Parts: []api.ImportPart{
		{Author: "person", Text: strings.Repeat("é", 25)}, {Author: "agent", Text: "one\ntwo\nthree\nfour"}, {Text: "x"}, {Text: "\x00\r\n\x1b"}}}
	text := ""
	for i, part := range split(r, 10) {
		size := 0
		for _, p := range part.Parts {
			size += len(p.Text)
			text += p.Text
			if !utf8.ValidString(p.Text) {
				t.Errorf("%q", p.Text)
			}
		}
		if want := []string{"a", fmt.Sprintf("a#%d", i+1)}[min(i, 1)]; size > 10 || part.ID != want {
			t.Errorf("%s: %d bytes", part.ID, size)
		}
	}
	if text != strings.Repeat("é", 25)+"one\ntwo\nthree\nfourx \n " {
		t.Errorf("%q", text)
	}
	if list := split(r, 1000); len(list) != 1 || list[0].ID != "a" || len(list[0].Parts) != 4 {
		t.Error(list)
	}
}

// A repeated reader returns a list with the element n times.
type repeated struct {
	element []byte
	n       int
	rest    []byte
}

func (r *repeated) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.element
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestMemory reads 1 GiB of conversations, 32 MiB in short tests, in less than
// 100 MB of memory.
func TestMemory(t *testing.T) {
	message := strings.Repeat("All work and no play. ", 50)
	nodes := map[string]any{}
	for i := range 200 {
		nodes[fmt.Sprint(i)] = map[string]any{"parent": fmt.Sprint(i - 1), "message": map[string]any{
			"author": map[string]any{"role": "user"}, "content": map[string]any{"content_type": "text", "parts": []string{message}}}}
	}
	element, err := json.Marshal(map[string]any{"id": "a", "current_node": "199", "mapping": nodes})
	if err != nil {
		t.Fatal(err)
	}
	element = append(element, ',')
	last := element[:len(element)-1]
	size := 32 << 20
	if os.Getenv("FAULTS") != "" {
		size = 1 << 30
	}
	want := size / len(element)
	source := io.MultiReader(strings.NewReader("["), &repeated{element: element, n: want - 1}, bytes.NewReader(last), strings.NewReader("]"))
	runtime.GC() // of other tests
	var m runtime.MemStats
	count, most := 0, uint64(0)
	for record, err := range readChatGPT(Source{}, source) {
		if err != nil || len(record.Parts) != 200 {
			t.Fatal(err)
		}
		if count++; count%100 == 0 {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse+m.StackInuse)
		}
	}
	if count != want || most > 100e6 {
		t.Errorf("%d of %d records with %d bytes of memory", count, want, most)
	}
	t.Logf("%d MiB in %d records, %d MB of memory", size>>20, count, most/1e6)
}
