package brief

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

// An Item is a value under a key.
type Item struct {
	Namespace, Key, Value string
	Untrusted             bool
}

// Items returns keyed items, by namespace in the order of [memory.Namespaces]
// and within each by key:
//
//	Long-term Memory (filtered)
//	profile:
//	  timezone = "Asia/Shanghai"
//	preference:
//	  response_style = {"lang":"zh","brevity":"concise"}
//
// A value that is JSON is unchanged. Every other value is encoded as a JSON
// string, and so is a key that is not a plain word. An untrusted item has the
// mark before its key. MaxItems and MaxChars bound the block: the namespaces
// take turns, one item at a time, so that a large namespace does not displace the
// others. An item that does not fit is left out, and the next one is tried.
func (s Style) Items(items []Item) Block {
	order := memory.Namespaces()
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Namespace), slices.Index(order, b.Namespace)),
			strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value),
		)
	})
	var b Block
	lines, rounds := make([]string, len(items)), make([]int, len(items))
	turns := make([]int, len(items)) // indexes of items, in the order in which they take space
	for i, item := range items {
		lines[i] = "  " + markLine(keyText(item.Key)+" = "+valueText(item.Value), item.Untrusted)
		if i > 0 && items[i-1].Namespace == item.Namespace {
			rounds[i] = rounds[i-1] + 1
		}
		turns[i] = i
	}
	slices.SortStableFunc(turns, func(i, j int) int { return cmp.Compare(rounds[i], rounds[j]) })
	chars := Chars(memory.FilteredHeader) + 1 // of the items that fit
	shown := map[string]string{}              // lines that fit, by namespace
	for _, i := range turns {
		more, namespace := Chars(lines[i])+1, items[i].Namespace
		if shown[namespace] == "" {
			more += Chars(namespace) + 2
		}
		if b.Items == s.MaxItems || chars+more > s.MaxChars {
			b.Omitted.Items++
			continue
		}
		shown[namespace] += lines[i] + "\n"
		chars += more
		b.Items++
	}
	if b.Items > 0 {
		b.Text = memory.FilteredHeader + "\n"
	}
	for _, namespace := range order {
		if shown[namespace] != "" {
			b.Text += namespace + ":\n" + shown[namespace]
		}
	}
	return b
}

// keyText returns a key unchanged, or as a JSON string if the key could be
// mistaken for more than a key.
func keyText(key string) string {
	odd := func(r rune) bool {
		return strings.ContainsRune("=\"\\[]{}", r) || unicode.IsSpace(r) && r != ' '
	}
	_, hidden := memory.FirstInvisible(key, true)
	if hidden || key == "" || key != strings.TrimSpace(key) || strings.ContainsFunc(key, odd) ||
		promptTagRE().MatchString(key) {
		return quoteJSON(key)
	}
	return key
}

// valueText formats a value as JSON on one line. A value that is not valid JSON
// becomes a JSON string.
func valueText(value string) string {
	if v := strings.TrimSpace(value); json.Valid([]byte(v)) {
		if strings.ContainsAny(v, "\r\n") {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(v)); err == nil {
				v = b.String()
			}
		}
		return escapeInvisible(v)
	}
	return quoteJSON(value)
}

func quoteJSON(s string) string {
	text, _ := api.EncodeJSON(s) // every string can be encoded
	return escapeInvisible(strings.TrimSuffix(string(text), "\n"))
}

// escapeInvisible escapes characters of a JSON text that are invisible or break lines,
// and the beginnings of comments, prompt tags and <private> tags. JSON allows such
// characters in strings only, where the escapes are valid.
func escapeInvisible(s string) string {
	s = promptTagRE().ReplaceAllString(s, `\u003c$1`)
	s = fileTagRE().ReplaceAllString(s, `\u003c$1`)
	return string(memory.EscapeJSON([]byte(s), true))
}

// fileTagRE matches the beginning of comments and <private> tags, which have a
// meaning in files.
var fileTagRE = lazyregexp.New(`(?i)<(!--|/?\s*private)`)
