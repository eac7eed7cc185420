package ops

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
)

// If -eval names a directory of judged conversations, as in TestEval of package index,
// TestEvalContext prints the share of their evidence in a block of some tokens beside that in
// the lines of the best BM25 ranking.
var (
	evalDir  = flag.String("eval", "", "directory of judged collections")
	evalSets = flag.String("sets", "*", "pattern of the collections to measure")
	evalConv = flag.String("tune", "conv-26,conv-30,conv-41,conv-42,chat-*", "patterns of the conversations to measure")
)

type evalQuestion struct {
	Conversation, Question string
	AsOf                   string `json:"as_of"`
	Gold                   []struct {
		Path string
		Line int
	}
}

func TestEvalContext(t *testing.T) {
	if *evalDir == "" {
		t.Skip("no judged collections: give -eval DIR")
	}
	dirs, err := filepath.Glob(filepath.Join(*evalDir, *evalSets, "by-conversation"))
	checkError(t, err)
	budgets := []int{1000, 2000}
	fmt.Println("| evidence in the block | questions | tokens | hook | without a block | BM25 1.2/.75 |\n|-|--:|--:|--:|--:|--:|")
	for _, dir := range dirs {
		byConv := map[string][]evalQuestion{}
		f, err := os.Open(filepath.Join(filepath.Dir(dir), "queries.jsonl"))
		checkError(t, err)
		for s := bufio.NewScanner(f); s.Scan(); {
			var q evalQuestion
			checkError(t, json.Unmarshal(s.Bytes(), &q))
			if len(q.Gold) > 0 && slices.ContainsFunc(strings.Split(*evalConv, ","), func(pattern string) bool {
				ok, _ := filepath.Match(pattern, q.Conversation)
				return ok
			}) {
				byConv[q.Conversation] = append(byConv[q.Conversation], q)
			}
		}
		f.Close()
		n, hook, silent, bm25 := 0, map[int]float64{}, map[int]int{}, map[int]float64{}
		for _, conv := range slices.Sorted(maps.Keys(byConv)) {
			archive := &txtar.Archive{Comment: []byte("max_chars: 1000000\n")}
			root := filepath.Join(dir, conv)
			checkError(t, filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
				if err != nil || filepath.Ext(name) != ".md" {
					return err
				}
				text, err := os.ReadFile(name)
				path, _ := filepath.Rel(root, name)
				archive.Files = append(archive.Files, txtar.File{Name: path, Data: text})
				return err
			}))
			m := readOpsCase(t, archive).start(t).memory
			lines := linesOf(t, m)
			for _, q := range byConv[conv] {
				at, err := time.Parse(time.DateOnly, cmp.Or(q.AsOf, "2026-02-05"))
				checkError(t, err)
				m.Now = func() time.Time { return at }
				question := strings.ReplaceAll(q.Question, `"`, " ")
				n++
				for _, budget := range budgets {
					block := relevantBlock(t, m, api.ContextRequest{Query: question, MinCover: 0.4, Limit: 40, MaxTokens: budget})
					hook[budget] += q.shareIn(block)
					if block == "" {
						silent[budget]++
					}
					bm25[budget] += q.shareIn(lines.block(question, budget))
				}
			}
		}
		for _, budget := range budgets {
			k := float64(n)
			fmt.Printf("| %s | %d | %d | %.3f | %.3f | %.3f |\n", filepath.Base(filepath.Dir(dir)), n, budget, hook[budget]/k,
				float64(silent[budget])/k, bm25[budget]/k)
		}
	}
}

// relevantBlock returns the text of a block of the format relevant for the owner.
func relevantBlock(t testing.TB, m *Memory, r api.ContextRequest) string {
	t.Helper()
	r.Format = "relevant"
	answer, err := m.Do(t.Context(), api.Caller{AsOwner: true}, api.RequestOf(r).WithDefaults())
	checkError(t, err)
	return answer.(*api.ContextAnswer).Text
}

// placeRE matches the place at the beginning of an entry in a block.
var placeRE = regexp.MustCompile(`(?m)^- (?:\[untrusted\] )?(\S.*?\.md:\d+)\b`)

// shareIn returns the share of the evidence whose place a block shows.
func (q *evalQuestion) shareIn(block string) (share float64) {
	shown := map[string]bool{}
	for _, m := range placeRE.FindAllStringSubmatch(block, -1) {
		shown[m[1]] = true
	}
	for _, g := range q.Gold {
		if shown[fmt.Sprintf("%s:%d", g.Path, g.Line)] {
			share += 1 / float64(len(q.Gold))
		}
	}
	return share
}

// evalLines are the entries of a memory in the form of a block, with their words.
type evalLines struct {
	lines []string
	words []map[string]int
	files map[string]int // entries by word
	mean  float64        // words of an entry
}

var wordRE = regexp.MustCompile(`[\pL\pN]+`)

func linesOf(t testing.TB, m *Memory) (all evalLines) {
	t.Helper()
	all.files = map[string]int{}
	sum := 0
	for _, f := range m.Index.Files(func(*index.FileInfo) bool { return true }) {
		doc, err := m.Files.Load(f.Path)
		checkError(t, err)
		for _, e := range doc.Entries {
			if e.Block == memory.EmptyHeading {
				continue
			}
			words := map[string]int{}
			for _, w := range wordRE.FindAllString(strings.ToLower(e.Text), -1) {
				if words[w]++; words[w] == 1 {
					all.files[w]++
				}
				words[""]++
			}
			sum += words[""]
			all.words = append(all.words, words)
			all.lines = append(all.lines, fmt.Sprintf("- %s:%d: %s\n", f.Path, e.Line, oneLine(e.Text)))
		}
	}
	all.mean = float64(sum) / float64(len(all.lines))
	return all
}

// block returns the best lines by BM25 that fit into a budget.
func (l *evalLines) block(question string, budget int) string {
	const k1, b = 1.2, 0.75
	scores := make([]float64, len(l.lines))
	for _, w := range wordRE.FindAllString(strings.ToLower(question), -1) {
		n := float64(l.files[w])
		idf := math.Log(1 + (float64(len(l.lines))-n+0.5)/(n+0.5))
		for i, words := range l.words {
			if tf := float64(words[w]); tf > 0 {
				scores[i] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(words[""])/l.mean))
			}
		}
	}
	order := make([]int, len(l.lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	text := ""
	for _, i := range order {
		if scores[i] > 0 && brief.Tokens(text+l.lines[i]) <= budget {
			text += l.lines[i]
		}
	}
	return text
}
