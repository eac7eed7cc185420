package memory

import (
	"strings"
	"unicode"
)

// Words returns the letters and digits of the entries in their order, folded, with a space on both
// sides of each word. A document whose words contain those of another one contains its text,
// even if lines were joined, wrapped, indented, marked or ticked.
func (d *Document) Words() string {
	var b strings.Builder
	for i := range d.Entries {
		b.WriteString(strings.TrimSuffix(d.Entries[i].Words(), " "))
	}
	return b.String() + " "
}

// Words returns the words of an entry as [Document.Words] does, or "" if it has none.
func (e *Entry) Words() string {
	words := strings.FieldsFunc(e.Norm, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ") + " "
}
