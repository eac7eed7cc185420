package compactor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/memory"
)

// nearShare is the share of a limit from which a file is near it, and
// nearlyFull the share from which the hint is more urgent.
const (
	nearShare  = 0.80
	nearlyFull = 0.95
)

// A Fill describes how full a limited file is.
type Fill struct {
	Size  api.CompactSize
	Limit api.CompactLimit
	Soft  bool    // this limit never causes trimming
	Share float64 // 1 is at the limit
}

// fillHint contains the words of a hint in one language.
type fillHint struct {
	over, nearly, near string
	items, characters  string // with the number and the limit
	separator          string
	archived, notShown string // consequence of a limit, or of a soft one
	hint               string // with the three of them
}

var fillHints = map[brief.Lang]fillHint{
	brief.English: {
		over: "over its limit", nearly: "nearly full", near: "filling up",
		items: "%d of %d items", characters: "%d of %d characters", separator: ", ",
		archived: "the least used items will be archived", notShown: "the excess will not be shown",
		hint: "long-term memory is %s (%s): delete or merge items, or %s",
	},
	brief.Chinese: {
		over: "已超出上限", nearly: "快满了", near: "接近上限",
		items: "%d/%d 条", characters: "%d/%d 字", separator: "，",
		archived: "否则最少用到的条目会被归档", notShown: "否则超出的部分不会显示",
		hint: "长期记忆%s（%s）：请删除或合并条目，%s",
	},
}

// Hint returns a hint for users who may tidy up the file, in English or
// another supported language, or "" if the file is not near its limit. It omits
// the path, which may reveal the subject.
func (f Fill) Hint(lang brief.Lang) string {
	w, ok := fillHints[lang]
	if !ok {
		w = fillHints[brief.English]
	}
	how, consequence := w.near, w.archived
	switch {
	case f.Share < nearShare:
		return ""
	case f.Share > 1:
		how = w.over
	case f.Share >= nearlyFull:
		how = w.nearly
	}
	var of []string
	if f.Limit.Items > 0 {
		of = append(of, fmt.Sprintf(w.items, f.Size.Items, f.Limit.Items))
	}
	if f.Limit.Characters > 0 {
		of = append(of, fmt.Sprintf(w.characters, f.Size.Characters, f.Limit.Characters))
	}
	if f.Soft {
		consequence = w.notShown
	}
	return fmt.Sprintf(w.hint, how, strings.Join(of, w.separator), consequence)
}

// limitOf returns the limit of a path, whether it is a soft one, and whether there is
// one.
func (c *Compactor) limitOf(path string) (limit api.CompactLimit, soft, ok bool) {
	limit, ok = matchLimit(c.Limits, path)
	if !ok {
		limit, soft = matchLimit(c.Soft, path)
	}
	return limit, soft, ok || soft
}

// Limited reports whether a hard or soft limit applies to a path.
func (c *Compactor) Limited(path string) bool {
	_, copied := memory.CopyOf(path)
	_, _, limited := c.limitOf(path)
	return limited && !copied
}

// FillOf returns how full a file is. A file without a limit has the zero Fill, which has
// no hint.
func (c *Compactor) FillOf(doc *memory.Document) (f Fill) {
	limit, soft, ok := c.limitOf(doc.Place.Path)
	if !ok || doc.Place.Kind != memory.Longterm || doc.Place.Root != "" {
		return f
	}
	size := measure(doc)
	if soft {
		size.Characters = brief.FullChars(doc) // which are cut
	}
	return Fill{Size: size, Limit: limit, Soft: soft, Share: share(limit, size)}
}

// Near returns the files near or over their limit with hints in English, the fullest first.
func (c *Compactor) Near() []api.NearLimit {
	list := []api.NearLimit{}
	for _, path := range c.Paths() {
		if !c.Limited(path) {
			continue
		}
		doc, err := c.Files.Load(path)
		if err != nil {
			continue
		}
		if f := c.FillOf(doc); f.Share >= nearShare {
			list = append(list, api.NearLimit{Path: path, Share: f.Share, Hint: f.Hint(brief.English)})
		}
	}
	slices.SortFunc(list, func(a, b api.NearLimit) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Path, b.Path))
	})
	return list
}
