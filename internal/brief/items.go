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
	"github.com/memwatchd/memwatchd/internal/letters"
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
// mark before its key. MaxItems and MaxChars bound the block: an item that does not
// fit is left out, and the next one is tried.
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
	text, namespace := memory.FilteredHeader+"\n", ""
	for _, item := range items {
		line := "  " + markLine(keyText(item.Key)+" = "+valueText(item.Value), item.Untrusted) + "\n"
		if item.Namespace != namespace {
			line = item.Namespace + ":\n" + line
		}
		if b.Items == s.MaxItems || Chars(text+line) > s.MaxChars {
			b.Omitted.Items++
			continue
		}
		text, namespace = text+line, item.Namespace
		b.Items++
		b.Text = text
	}
	return b
}

// keyText returns a key unchanged, or as a JSON string if the key could be
// mistaken for more than a key.
func keyText(key string) string {
	odd := func(r rune) bool {
		return strings.ContainsRune("=\"\\[]{}", r) || unicode.IsSpace(r) && r != ' '
	}
	_, hidden := letters.FirstInvisible(key, true)
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
	return string(letters.EscapeJSON([]byte(s), true))
}

// fileTagRE matches the beginning of comments and <private> tags, which have a
// meaning in files.
var fileTagRE = lazyregexp.New(`(?i)<(!--|/?\s*private)`)
