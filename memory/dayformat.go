package memory

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A DayFormat recognizes the paths of daily notes in a format of moment.js, as
// Obsidian uses it.
type DayFormat struct {
	folder  string // with a slash at the end, or empty
	pattern *regexp.Regexp
	parts   []string // layouts of package time for the groups of pattern; empty for other parts
}

// A dayToken is the meaning of a token of moment.js.
type dayToken struct {
	layout  string // of package time; empty for a part that does not select the day
	pattern string
}

var dayTokens = map[string]dayToken{
	"YYYY": {"2006", `\d{4}`}, "YY": {"06", `\d{2}`},
	"MMMM": {"January", `\pL+`}, "MMM": {"Jan", `\pL{3}`}, "MM": {"01", `\d{2}`}, "M": {"1", `\d{1,2}`},
	"DD": {"02", `\d{2}`}, "D": {"2", `\d{1,2}`}, "Do": {"2", `\d{1,2}(?:st|nd|rd|th)`},
	"dddd": {"", `\pL+`}, "ddd": {"", `\pL+`}, "dd": {"", `\pL+`}, "d": {"", `[0-6]`}, "E": {"", `[1-7]`},
	"ww": {"", `\d{2}`}, "w": {"", `\d{1,2}`}, "WW": {"", `\d{2}`}, "W": {"", `\d{1,2}`},
	"gggg": {"", `\d{4}`}, "GGGG": {"", `\d{4}`}, "Q": {"", `[1-4]`},
}

// dayTokenRE matches literal text in brackets, an escaped character, a token, or any
// other character.
var dayTokenRE = lazyregexp.New(`(?s)\[[^\[\]]*\]|\\.|[MDQwWd]o|Y+|M+|D+|d+|w+|W+|g+|G+|.`)

const maxDayFormat = 200

// ParseDayFormat parses a format such as YYYY/MM/YYYY-MM-DD, for files below a
// folder, which is empty for the root. An empty format is YYYY-MM-DD. Names of months
// are English.
func ParseDayFormat(folder, format string) (*DayFormat, error) {
	format = strings.Trim(cmp.Or(format, "YYYY-MM-DD"), "/")
	if len(format) > maxDayFormat || !utf8.ValidString(format) {
		return nil, fmt.Errorf("a format of days is longer than %d bytes or not text", maxDayFormat)
	}
	f := &DayFormat{}
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder != "" {
		f.folder = folder + "/"
	}
	has := ""
	pattern := "^"
	for _, token := range dayTokenRE().FindAllString(format, -1) {
		known, ok := dayTokens[token]
		switch {
		case ok:
			pattern += "(" + known.pattern + ")"
			f.parts = append(f.parts, known.layout)
			if known.layout != "" {
				has += token[:1]
			}
		case len(token) > 1 && token[0] == '[':
			pattern += regexp.QuoteMeta(token[1 : len(token)-1])
		case len(token) > 1 && token[0] == '\\':
			pattern += regexp.QuoteMeta(token[1:])
		case len(token) > 1 || strings.Contains("aAeEhHkmNQsSwWxXyYzZMDdgG", token):
			return nil, fmt.Errorf("the format of days %q has the token %s, which is not part of a day", format, token)
		default:
			pattern += regexp.QuoteMeta(token)
		}
	}
	if !strings.Contains(has, "Y") || !strings.Contains(has, "M") || !strings.Contains(has, "D") {
		return nil, fmt.Errorf("the format of days %q lacks the year, the month or the day", format)
	}
	var err error
	f.pattern, err = regexp.Compile(pattern + "$")
	return f, err
}

// Day returns the day of the daily note at path, as YYYY-MM-DD, and reports whether it
// is one. A nil format has no daily notes.
func (f *DayFormat) Day(path string) (day string, ok bool) {
	if f == nil {
		return "", false
	}
	name, md := CutMarkdown(path)
	name, below := strings.CutPrefix(name, f.folder)
	if !md || !below {
		return "", false
	}
	groups := f.pattern.FindStringSubmatch(name)
	if groups == nil {
		return "", false
	}
	date := map[byte]string{} // by kind of part; one may occur several times with one value
	for i, layout := range f.parts {
		value := groups[i+1]
		if layout == "2" {
			value = strings.TrimRight(value, "stndrh")
		}
		t, err := time.Parse(layout, value)
		part, form := byte('m'), "01"
		switch layout {
		case "":
			continue
		case "2006", "06":
			part, form = 'y', "2006"
		case "2", "02":
			part, form = 'd', "02"
		}
		is := t.Format(form)
		if err != nil || date[part] != "" && date[part] != is {
			return "", false
		}
		date[part] = is
	}
	day = date['y'] + "-" + date['m'] + "-" + date['d']
	if !IsDay(day) {
		return "", false
	}
	return day, true
}
