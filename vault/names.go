package vault

import (
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// Skips says why a path of this name is never read, or "". For a directory it
// says why nothing below it is. It looks at names only, not at the disk.
func (v *Vault) Skips(path string, dir bool) string {
	if !valid(path) {
		return "not a path"
	}
	rules := v.currentRules()
	for i := range len(path) {
		if path[i] == '/' {
			if reason := skipDir(path[:i], rules); reason != "" {
				return reason
			}
		}
	}
	if dir {
		return skipDir(path, rules)
	}
	return v.skipFile(path, rules)
}

// skipDir says why a directory, in one that is read, is not.
func skipDir(path string, rules *rules) string {
	if _, base, _ := cutLast(path); base[0] == '.' {
		return "hidden directory"
	}
	if rules.ignored(path, true) {
		return "ignored by pattern"
	}
	return ""
}

// skipFile says why a file, in a directory that is read, is not.
func (v *Vault) skipFile(path string, rules *rules) string {
	if !isMarkdown(path) {
		return "not a Markdown file"
	}
	if v.Skip != nil {
		if reason := v.Skip(path); reason != "" {
			return reason
		}
	} else if _, base, _ := cutLast(path); strings.IndexByte(".#~", base[0]) >= 0 {
		return "hidden or temporary file"
	}
	if rules.ignored(path, false) {
		return "ignored by pattern"
	}
	return ""
}

func isMarkdown(path string) bool {
	return len(path) > len(".md") && strings.EqualFold(path[len(path)-len(".md"):], ".md")
}

// currentRules are the ignore patterns as they were last read.
func (v *Vault) currentRules() *rules {
	if r := v.rules.Load(); r != nil {
		return r
	}
	r, _ := v.loadRules()
	return r
}

// loadRules reads the ignore file. Where that fails the rules stay as they
// were: a file that cannot be read for a moment must not let everything in.
func (v *Vault) loadRules() (*rules, error) {
	text := ""
	file, err := v.Read(memory.IgnoreFile)
	switch {
	case err == nil:
		text = string(file.Data)
	case !Absent(err):
		if old := v.rules.Load(); old != nil {
			return old, err
		}
	default:
		err = nil
	}
	r := parseRules(v.Ignore, text)
	v.rules.Store(r)
	return r, err
}
