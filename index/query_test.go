package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// newFiles returns a complete index of the given files.
func newFiles(t testing.TB, text map[string]string) *Index {
	t.Helper()
	s := &mapSource{text: text}
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	return x
}

// wantHits compares the hits of a query with the wanted ones, as path:line.
func wantHits(t *testing.T, x *Index, q Query, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, hitsOf(t, x, q)); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", q, diff)
	}
}

// TestHeadingWords checks that the words of a heading count for the entries
// below it, and that overlap and exclusion only use the words of the entry.
func TestHeadingWords(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md": "# Trains\n\n- A window seat.\n- Trains are late.\n- Trains and trains, trains, trains.\n",
		"b.md": "# Travel\n\n- Trains run at night.\n- A seat by the window.\n",
	})
	wantHits(t, x, Query{Text: "window trains"}, "a.md:3", "b.md:4", "a.md:4", "a.md:5", "b.md:3")
	wantHits(t, x, Query{Text: "trains", Mode: Overlap}, "a.md:4", "a.md:5", "b.md:3")
	wantHits(t, x, Query{Text: "trains", Exclude: "late"}, "a.md:5", "a.md:3", "b.md:3")
}

// TestNamesOfFiles checks that the names and the description of a file find its first
// entry, also as a phrase, and that words of its path count least.
func TestNamesOfFiles(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md":      "---\nname: deploy-target\ndescription: Ships to Zurich\n---\nSee the runbook.\n\n- second\n",
		"b.md":      "---\ntitle: A quarterly retrospective\naliases: [moon]\nvisibility: public\n---\n- text\n",
		"s2.md":     "- other\n",
		"zebra.md":  "- stripes\n",
		"animal.md": "# Two animals\n\n- a zebra and a quokka\n\n## 重要约定\n\n- all of us\n",
	})
	for query, want := range map[string][]string{
		"Zurich": {"a.md:5"}, `"ships to zurich"`: {"a.md:5"}, "moon": {"b.md:6"}, "retrospective": {"b.md:6"}, "deploy-target": {"a.md:5"},
		"zebra2quokka": {"animal.md:3", "zebra.md:1"}, `"two animals"`: {"animal.md:7", "animal.md:3"}, "重要约定": {"animal.md:7"}, `"zurich see"`: nil,
	} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: query, Limit: 9})
		if query != "zebra2quokka" && res.Absent != nil || err != nil {
			t.Errorf("%s: absent: %q, %v", query, res.Absent, err)
		}
		wantHits(t, x, Query{Text: query, Exact: strings.Contains(query, `"`)}, want...)
	}
}

// TestRepeatedWords checks that a word counts more if the query repeats it.
func TestRepeatedWords(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- red paper\n- a line\n- green paper\n"})
	wantHits(t, x, Query{Text: "green red red"}, "a.md:1", "a.md:3")
	wantHits(t, x, Query{Text: "red green green"}, "a.md:3", "a.md:1")
}

// TestStopWords checks that only whole words are stop words, however a
// contraction is written.
func TestStopWords(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- a shell for the well\n- paper\n- he'd be ill; she'll shed it in hell\n- will he?\n"})
	for word, want := range map[string]string{"shell": "a.md:1", "well": "a.md:1", "ill": "a.md:3", "shed": "a.md:3", "hell": "a.md:3"} {
		if got := hitsOf(t, x, Query{Text: word + " paper"}); !slices.Contains(got, want) {
			t.Errorf("%s is not found: %v", word, got)
		}
	}
	for _, stop := range []string{"she'll", "He’d", "will", "the", "dont"} {
		wantHits(t, x, Query{Text: stop + " paper"}, "a.md:2")
	}
	wantHits(t, x, Query{Text: "will"}, "a.md:4")
	wantHits(t, x, Query{Text: "we'll drill a well"}, "a.md:1")
}

// TestPhrasesComeFirst checks the order of entries with all, some and none of the
// phrases, and the note.
func TestPhrasesComeFirst(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md": "- the red lamp, the red lamp\n- a lamp that is red\n- a green chair\n",
		"b.md": "- in a corner, between two windows and behind a curtain: a red lamp, and a green chair\n",
	})
	for _, tc := range []struct {
		text, exclude string
		exact         bool
		note          string
		want          []string
	}{
		{`"red lamp"`, "", false, "the phrase occurs in 2 of these entries; they come first", []string{"a.md:1", "b.md:1", "a.md:2"}},
		{`"red lamp"`, "", true, "", []string{"a.md:1", "b.md:1"}},
		{`"lamp red"`, "", false, "no entry contains the phrase; these entries contain words of it", []string{"a.md:1", "a.md:2", "b.md:1"}},
		{`"lamp red"`, "", true, "", nil},
		{`"red lamp" "green chair"`, "", false, "the phrase occurs in 1 of these entries; they come first",
			[]string{"b.md:1", "a.md:3", "a.md:1", "a.md:2"}},
		{`"red lamp" "green chair"`, "", true, "", []string{"b.md:1"}},
		{`"red lamp" "curtain rod"`, "", false, "no entry contains all phrases; these entries contain words of them",
			[]string{"b.md:1", "a.md:1", "a.md:2"}},
		{`"red lamp"`, `"green chair"`, false, "the phrase occurs in 1 of these entries; they come first", []string{"a.md:1", "a.md:2"}},
		{`"nowhere at all"`, "", false, "", nil},
	} {
		q := Query{Text: tc.text, Exclude: tc.exclude, Exact: tc.exact, Limit: 10}
		wantHits(t, x, q, tc.want...)
		for _, limit := range []int{0, 1} {
			q.Limit = limit
			res, err := x.Search(t.Context(), ownerView(t), q)
			if err != nil || res.Note != tc.note {
				t.Errorf("%+v has the note %q, want %q; %v", q, res.Note, tc.note, err)
			}
		}
	}
}

// TestAnswersFollowQuestions checks that the entry after a question gets a greater
// share of its score than other neighbours.
func TestAnswersFollowQuestions(t *testing.T) {
	for end, want := range map[string]string{"?": "a.md:3", "?**": "a.md:3", "？": "a.md:3", ".": "a.md:2", "? No.": "a.md:2"} {
		x := newFiles(t, map[string]string{
			"a.md": "- Pottery, they said.\n- Where is the kiln for pottery" + end + "\n- In the old barn.\n",
		})
		hits := hitsOf(t, x, Query{Text: "kiln barn pottery"})
		if len(hits) != 3 || hits[0] != want {
			t.Errorf("%s: the hits are %v, want %s first", end, hits, want)
		}
	}
}

func TestTypos(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md": "# Environments\n\n- Deployment of the proxy.\n- JavaScript on the server.\n- A long walk.\n- Скрипты запуска.\n",
		"b.md": "- a walk in the park\n- tall trees\n- 人工智能\n- a certificate\n- zuverlaessigkeitspruefungsverordnung\n",
	})
	for word, want := range map[string]string{
		"deploymnet": "deployment", "deploymentt": "deployment", "deploymant": "deployment", "dpeloyment": "deployment",
		"javascirpt": "javascript", "porxy": "proxy", "pork": "park", "tres": "trees",
		"certficate": "certificate", "certificte": "certificate", "certificat": "certificate", "certificatw": "certificate",
		"serever": "server", "enviromnent": "environments", "wolk": "walk", "скрипыт": "скрипты", "walks": "", "por": "", "人工知能": "", "pxy1": "",
		"zaverlaessigkeitspruefungsverordnung": "zuverlaessigkeitspruefungsverordnung",
	} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: word, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range res.Corrected {
			if c.Word != word {
				t.Errorf("%s is reported as %s", word, c.Word)
			}
			got += strings.Join(c.To, " ")
		}
		if got != want {
			t.Errorf("%s is corrected to %q, want %q", word, got, want)
		}
	}
	wantHits(t, x, Query{Text: "javascirpt", Mode: Overlap})
	wantHits(t, x, Query{Text: "javascirpt park"}, "b.md:1", "a.md:4")
	wantHits(t, x, Query{Text: "javascirpt park", KeepTypos: true}, "b.md:1")
	wantHits(t, x, Query{Text: `"javascirpt" park`}, "b.md:1")
	wantHits(t, x, Query{Text: `"park" javascirpt "`}, "b.md:1", "a.md:4")
}

// TestTyposOfOneWord checks that each misspelling of a word is corrected, and that the
// word counts once.
func TestTyposOfOneWord(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- JavaScript on the server.\n- a walk\n", "b.md": "- tall trees\n"})
	search := func(text string) Result {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: text, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Hits) != 1 || res.TotalAll != 1 || res.Hits[0].Missing != nil || res.Absent != nil {
			t.Fatalf("%s: %+v", text, res)
		}
		return res
	}
	for text, want := range map[string]string{
		"javascirpt":            "[{javascirpt [javascript]}]",
		"javascirpt jvaascript": "[{javascirpt [javascript]} {jvaascript [javascript]}]",
		"javascript":            "[]",
		"javascript javascirpt": "[{javascirpt [javascript]}]",
		"javascirpt javascript": "[{javascirpt [javascript]}]",
	} {
		res := search(text)
		if got := fmt.Sprint(res.Corrected); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		alone := "javascirpt"
		if strings.Contains(text, "javascript") {
			alone = "javascript"
		}
		if got, want := res.Hits[0].Score, search(alone).Hits[0].Score; got != want {
			t.Errorf("%s: the score is %v, with %s alone %v", text, got, alone, want)
		}
	}
}

// TestSoftHyphens checks that soft hyphens do not divide words.
func TestSoftHyphens(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- the daily back\u00adup of the data\u00adbase\n- the back, up\n"})
	wantHits(t, x, Query{Text: "backup", KeepTypos: true}, "a.md:1")
	wantHits(t, x, Query{Text: "data\u00adba\u00adse", KeepTypos: true}, "a.md:1")
	wantHits(t, x, Query{Text: `"daily backup"`, Exact: true}, "a.md:1")
	wantHits(t, x, Query{Text: "back", KeepTypos: true}, "a.md:2")
}

// TestElisions checks that French, Italian and Catalan words are found after an elided
// one, and that English contractions remain words.
func TestElisions(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md": "# L'histoire\n\n- L'été à la mer\n- cet été, rien\n- l’hiver d'aujourd'hui\n- commedia dell'arte d'un'altra\n",
		"b.md": "- don't wait\n- c'mon, it's five o'clock\n- I'll ask D'Souza\n",
	})
	for text, want := range map[string][]string{
		"été": {"a.md:3", "a.md:4"}, "l'été": {"a.md:3", "a.md:4"}, "L’ÉTÉ": {"a.md:3", "a.md:4"}, "d'e\u0301te\u0301": {"a.md:3", "a.md:4"},
		"hiver": {"a.md:5"}, "aujourd'hui": {"a.md:5"}, "aujourdhui": {"a.md:5"}, "arte": {"a.md:6"}, "l'été qu'arte": {"a.md:3", "a.md:4", "a.md:6"},
		"dont": {"b.md:1"}, "cmon": {"b.md:2"}, "oclock": {"b.md:2"}, "clock": nil, "dsouza": {"b.md:3"}, "souza": nil,
		`"été à"`: {"a.md:3"}, `"l'été à"`: {"a.md:3"}, `"l’hiver d'aujourd'hui"`: {"a.md:5"}, `"d'été"`: nil, `"arte d’un’altra"`: {"a.md:6"},
	} {
		got := hitsOf(t, x, Query{Text: text, Exact: true, KeepTypos: true})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", text, got, want)
		}
	}
	wantHits(t, x, Query{Text: "hiver été", Exclude: "l'été"}, "a.md:5")
	res, err := x.Search(t.Context(), ownerView(t), Query{Text: "l'été rien", Limit: 1})
	if err != nil || res.TotalAll != 1 || len(res.Hits) != 1 || res.Hits[0].Missing != nil {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestPrefixes(t *testing.T) {
	x := newFiles(t, map[string]string{
		"a.md": "- Environments differ.\n- JavaScript\n- Java\n- TypeScript types\n- Configuration\n- theory\n- Привет\n",
	})
	for text, want := range map[string][]string{
		"environm*": {"a.md:1"}, "javasc*": {"a.md:2"}, "jav*": {"a.md:2", "a.md:3"}, "typescr*": {"a.md:4"}, "configurat*": {"a.md:5"},
		"the*": {"a.md:6"}, "прив*": {"a.md:7"}, "ja*": nil, "jav*types": {"a.md:4"}, "*jav*": nil, "**jav**": nil, "jav": nil, "env* nothing": {"a.md:1"},
	} {
		got := hitsOf(t, x, Query{Text: text})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", text, got, want)
		}
	}
	wantHits(t, x, Query{Text: "javasc*", Mode: Overlap})
	wantHits(t, x, Query{Text: "theory jav", Typing: true, KeepTypos: true}, "a.md:2", "a.md:6", "a.md:3")
	wantHits(t, x, Query{Text: "javasc"}, "a.md:2", "a.md:3")
	wantHits(t, x, Query{Text: "javasc", KeepTypos: true})
}

// TestWholeWordsBeatPrefixes checks that the typed word precedes rarer words that begin
// with it, and that a query of one word names the words that begin with it.
func TestWholeWordsBeatPrefixes(t *testing.T) {
	files := map[string]string{"signs.md": "- a long line about gitsigns and the .gitconfig of gitlab\n"}
	for i := range 9 {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("- git has line %d\n- an author and the authority %d\n", i, i)
	}
	files["auth.md"] = "- auth\n"
	x := newFiles(t, files)
	hits := hitsOf(t, x, Query{Text: "git", Typing: true})
	if len(hits) != 10 || hits[9] != "signs.md:1" {
		t.Errorf("typing: %q", hits)
	}
	for query, want := range map[string]string{"auth": "auth* occurs in 10 files", "git": "", "auth line": "", "line": ""} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: query, Limit: 1, ByFile: true})
		if err != nil || res.Note != want {
			t.Errorf("%s: %q, want %q, %v", query, res.Note, want, err)
		}
	}
}

// TestPrefixIsOneWord checks that the words that begin with a typed prefix are as rare as they
// are together: a rare one of them does not outweigh the whole words of the query.
func TestPrefixIsOneWord(t *testing.T) {
	files := map[string]string{"rare.md": "- pubescence\n", "both.md": "- publish a branch\n"}
	for i := range 12 {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("- publish number %d\n- branch %d\n", i, i)
	}
	if hits := hitsOf(t, newFiles(t, files), Query{Text: "branch pub*"}); hits[0] != "both.md:1" {
		t.Errorf("got %q", hits)
	}
}

// TestCompletionsWin checks that a word that nothing contains stands for the most frequent
// of the words that begin with it or are similar.
func TestCompletionsWin(t *testing.T) {
	files := map[string]string{
		"java.md": "- Java opens\n- javac compiles\n- Javase runs\n",
		"env.md":  "- The environment of a process\n",
		"omit.md": "- Omit the field\n",
		"new.md":  "- Install postgresqlx\n",
		"db.md":   "- Postgres replicates\n",
		"disk.md": "- Postgres vacuums\n",
	}
	for i := range 9 {
		files[fmt.Sprintf("%d.md", i)] = "- JavaScript arrays\n- Commit the change\n- A Postgres server\n- A mac\n"
		if i < 3 {
			files[fmt.Sprintf("%d.md", i)] += "- Macro\n"
		}
	}
	x := newFiles(t, files)
	for query, want := range map[string]string{
		"javasc": "JavaScript arrays", "javasc arrays": "JavaScript arrays", "environm": "The environment of a process",
		"comit": "Commit the change", "comit field": "Omit the field",
		"postgresq vacuums": "Postgres vacuums", "postgresq install": "Install postgresqlx",
		"macr": "A mac",
	} {
		res, err := x.Search(t.Context(), ownerView(t), Query{Text: query, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Hits) == 0 || res.Hits[0].Entry.Text != "- "+want && res.Hits[0].Entry.Text != want {
			t.Errorf("%s finds %v, want %q first", query, res.Hits, want)
		}
	}
}

// TestDictionaryIsPrivate checks that corrections and prefixes use only words that
// the view may read and that still occur.
func TestDictionaryIsPrivate(t *testing.T) {
	var dirs memory.Directories
	public, err := dirs.View(memory.Scope{Subject: "owner", Context: memory.Public})
	if err != nil {
		t.Fatal(err)
	}
	s := &mapSource{text: map[string]string{
		"memory/2026-02-04.md": "- A launchpod. <!-- visibility=public_ok -->\n",
		"memory/2026-02-05.md": "- A launchpad. <!-- visibility=private_only -->\n- A harbour. <!-- visibility=private_only -->\n",
		"memory/2026-02-06.md": "- Launchpid. <!-- visibility=public_ok -->\n",
	}}
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	delete(s.text, "memory/2026-02-06.md")
	if err := x.Apply(t.Context(), s.updates("memory/2026-02-06.md")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		view memory.View
		text string
		want string
	}{
		{public, "launchpud", "1 hits [{launchpud [launchpod]}]"},
		{public, "launch*", "1 hits []"},
		{public, "habrour", "0 hits []"},
		{public, "harb*", "0 hits []"},
		{ownerView(t), "launchpud", "2 hits [{launchpud [launchpad launchpod]}]"},
		{ownerView(t), "launch*", "2 hits []"},
		{ownerView(t), "habrour", "1 hits [{habrour [harbour]}]"},
	} {
		res, err := x.Search(t.Context(), tc.view, Query{Text: tc.text, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range res.Corrected {
			slices.Sort(c.To)
		}
		if got := fmt.Sprint(res.Total, " hits ", res.Corrected); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestLevelInSection(t *testing.T) {
	var l, before level
	for n := range 12 {
		both := l.inSection()
		if both.inSection() != both {
			t.Errorf("level %d in two headings is %d, in one %d", l, both.inSection(), both)
		}
		if levelTenths[both] <= levelTenths[l] || n > 1 && levelTenths[l] < levelTenths[before] {
			t.Errorf("level %d counts %d, with a heading %d", l, levelTenths[l], levelTenths[both])
		}
		if (both > levelSection) != (n > 0) {
			t.Errorf("%d occurrences and a heading are level %d", n, both)
		}
		before, l = l, l.next()
	}
}

// TestSnippetLines checks that code, lists and tables keep their lines.
func TestSnippetLines(t *testing.T) {
	a := newAnalyzer()
	for _, c := range []struct{ text, query, want, language string }{
		{"one\nline of\ntext", "line", "one [line] of text", ""},
		{"> one\n> line\n>\n> > with 5 > 4", "line", "> one [line] with 5 > 4", ""},
		{"```go\nfunc main() {\n\tgo run()\n}\n```", "run", "func main() {\n    go [run]()\n}", "go"},
		{"Try:\n\n```sh\na\nb\nc\nd\nkestrel\ne\nf\ng\n```", "kestrel", "c\nd\n[kestrel]\ne\nf\ng", "sh"},
		{"- a list\n  - of items", "items", "- a list\n  - of [items]", ""},
		{"- a list\n  - " + strings.Repeat("of items ", 80) + "and kestrel here", "kestrel",
			"- a list\n…" + strings.Repeat("items of ", 24) + "items and [kestrel] here", ""},
		{"```\n" + strings.Repeat("a b ", 80) + "\nkestrel\n```", "kestrel", strings.Repeat("a b ", 60)[:239] + "…\n[kestrel]", ""},
		{"| port | host |\n|---|---|\n| 80 | kestrel |", "kestrel port", "| [port] | host |\n|---|---|\n| 80 | [kestrel] |", ""},
	} {
		snippet, marks, language := a.buildSnippet(c.text, a.parseQuery(c.query, false).terms, map[string]bool{})
		runes := []rune(snippet)
		for _, m := range slices.Backward(marks) {
			runes = slices.Insert(slices.Insert(runes, m[1], ']'), m[0], '[')
		}
		if string(runes) != c.want || language != c.language {
			t.Errorf("%q is %q in %q, want %q in %q", c.text, string(runes), language, c.want, c.language)
		}
	}
}

// TestTagStyles checks that selectors of the style of emojis make no other tag.
func TestTagStyles(t *testing.T) {
	s := &mapSource{text: map[string]string{
		"a.md": "- one #\u26a0\ufe0fAlert\n- two #\u26a0alert\n- three #\u26a0\ufe0ealert/x\n- four #\"\u26a0\ufe0f alert\"\n- five #\ufe0f #1\ufe0f\n",
		"b.md": "---\ntags: [\u26a0\ufe0falert, \"\u26a0alert\", \"\ufe0f\"]\n---\n- six\n",
		"c.md": "- seven #star\u2b50\ufe0f/a #1\ufe0f\u20e3\n",
	}}
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	for tag, want := range map[string][]string{
		"\u26a0alert":        {"a.md:1", "a.md:2", "a.md:3", "b.md:4"},
		"#\u26a0\ufe0fALERT": {"a.md:1", "a.md:2", "a.md:3", "b.md:4"},
		"\u26a0\ufe0ealert":  {"a.md:1", "a.md:2", "a.md:3", "b.md:4"},
		"\u26a0 alert":       {"a.md:4"},
		"star\u2b50":         {"c.md:1"},
		"1\ufe0f\u20e3":      {"c.md:1"},
	} {
		got := hitsOf(t, x, Query{Filter: Filter{Tags: []string{tag}}})
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tag, diff)
		}
	}
	want := []string{"\u26a0 alert", "\u26a0alert", "\u26a0alert/x"}
	tags, _, _, err := x.Tags(t.Context(), ownerView(t), Listing{Limit: 10, Prefix: "\u26a0\ufe0f"})
	if diff := cmp.Diff(want, tags); diff != "" || err != nil {
		t.Errorf("tags: %v (-want +got):\n%s", err, diff)
	}
	if tags, _, _, _ := x.Tags(t.Context(), ownerView(t), Listing{Limit: 10}); len(tags) != 5 {
		t.Errorf("tags: %q", tags)
	}
}

func TestNestedTags(t *testing.T) {
	deep := strings.Repeat("deep/er/", 40) + "x"
	s := &mapSource{text: map[string]string{
		"a.md": "- one #work\n- two #work/home/desk\n- three #workshop/home\n- four #work/Shop <!-- visibility=public_ok -->\n",
		"b.md": "---\ntags: [work/front]\n---\n- five\n",
		"c.md": "---\ntags: [" + deep + "]\n---\n- six\n",
	}}
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	for tag, want := range map[string][]string{
		"work":          {"a.md:1", "a.md:2", "a.md:4", "b.md:4"},
		"#Work/home":    {"a.md:2"},
		"work/home/des": nil,
		"home":          nil,
		"work/front":    {"b.md:4"},
		deep[:199]:      {"c.md:4"},
		deep[:207]:      nil, // longer than a tag in text
		deep:            {"c.md:4"},
	} {
		got := hitsOf(t, x, Query{Filter: Filter{Tags: []string{tag}}})
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tag, diff)
		}
	}
	if tags, _, _, err := x.Tags(t.Context(), ownerView(t), Listing{Limit: 10}); err != nil ||
		!slices.Equal(tags, []string{deep, "work", "work/front", "work/home/desk", "work/shop", "workshop/home"}) {
		t.Errorf("tags %q, %v", tags, err)
	}
}
