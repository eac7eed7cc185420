package dates

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Format recognizes the paths of daily notes in a format of moment.js, as
// Obsidian uses it.
type Format struct {
	pattern *regexp.Regexp // of a path without extension
	parts   string         // Y, M or D for each group of pattern
}

// dayTokens maps the tokens of moment.js to patterns. The group is the part of the date
// with the first letter of the token.
var dayTokens = map[string]string{
	"YYYY": `(\d{4})`, "YY": `(\d{2})`,
	"MMMM": `(\pL+)`, "MMM": `(\pL{3})`, "MM": `(\d{2})`, "M": `(\d{1,2})`,
	"DD": `(\d{2})`, "D": `(\d{1,2})`, "Do": `(\d{1,2})(?:st|nd|rd|th)`,
	"dddd": `\pL+`, "ddd": `\pL+`, "dd": `\pL+`, "d": `[0-6]`, "E": `[1-7]`,
	"ww": `\d{2}`, "w": `\d{1,2}`, "WW": `\d{2}`, "W": `\d{1,2}`, "gggg": `\d{4}`, "GGGG": `\d{4}`, "Q": `[1-4]`,
}

// dayTokenRE matches literal text in brackets, an escaped character, a token, or any
// other character.
var dayTokenRE = lazyregexp.New(`(?s)\[[^\[\]]*\]|\\.|[MDQwWd]o|Y+|M+|D+|d+|w+|W+|g+|G+|.`)

const maxFormat = 200

// ParseFormat parses a format such as YYYY/MM/YYYY-MM-DD, for files below a
// folder, which is empty for the root. An empty format is YYYY-MM-DD. Names of months
// are English.
func ParseFormat(folder, format string) (*Format, error) {
	format = strings.Trim(cmp.Or(format, "YYYY-MM-DD"), "/")
	if len(format) > maxFormat || !utf8.ValidString(format) {
		return nil, fmt.Errorf("a format of days is longer than %d bytes or not text", maxFormat)
	}
	f, pattern := &Format{}, "^"
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder != "" {
		pattern += regexp.QuoteMeta(folder) + "/"
	}
	for _, token := range dayTokenRE().FindAllString(format, -1) {
		known, ok := dayTokens[token]
		switch {
		case ok:
			pattern += known
			if known[0] == '(' {
				f.parts += token[:1]
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
	if !strings.Contains(f.parts, "Y") || !strings.Contains(f.parts, "M") || !strings.Contains(f.parts, "D") {
		return nil, fmt.Errorf("the format of days %q lacks the year, the month or the day", format)
	}
	var err error
	f.pattern, err = regexp.Compile(pattern + "$")
	return f, err
}

// Day returns the day of the daily note with a path without extension, as YYYY-MM-DD, and
// reports whether it is one. A nil format has no daily notes.
func (f *Format) Day(name string) (day string, ok bool) {
	if f == nil {
		return "", false
	}
	date := map[byte]int{} // by part, which may occur several times with one value
	for i, value := range f.pattern.FindStringSubmatch(name) {
		if i == 0 {
			continue
		}
		part := f.parts[i-1]
		n, err := strconv.Atoi(value)
		if err != nil {
			n = int(months()[strings.ToLower(value)])
			if month := time.Month(n).String(); value != month && value != month[:3] {
				return "", false
			}
		} else if part == 'Y' && len(value) == 2 {
			n += 2000
		}
		if was, known := date[part]; known && was != n {
			return "", false
		}
		date[part] = n
	}
	day = fmt.Sprintf("%04d-%02d-%02d", date['Y'], date['M'], date['D'])
	if !isDay(day) {
		return "", false
	}
	return day, true
}
