package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A desk holds the directories and files of one actor.
type desk struct {
	*soak
	*rand.Rand
	files []string // relative to the root, oldest first
	next  int      // for an unused name
}

func (s *soak) desk(n int) *desk { return &desk{soak: s, Rand: s.random(n)} }

// fill creates n files with names of a pattern.
func (d *desk) fill(n int, pattern string) error {
	for range n {
		if err := d.fresh(pattern); err != nil {
			return err
		}
	}
	return nil
}

// fresh creates a file with an unused name.
func (d *desk) fresh(pattern string) error {
	d.next++
	path := fmt.Sprintf(pattern, d.next)
	d.files = append(d.files, path)
	return d.save(path, d.text("", 3+d.IntN(8)))
}

// save writes a file in one call.
func (d *desk) save(path, text string) error {
	d.saves.Add(1)
	path = d.path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func (d *desk) one() string { return d.files[d.IntN(len(d.files))] }

// plain are words that occur in many entries.
var plain = strings.Fields(`the a of and to in for with on as at by from when after before while
	deploy certificate proxy database index backup report meeting release invoice garden kitchen
	train ticket budget window server password timeout branch merge review customer contract
	morning evening monday friday always never prefers decided wants asked answered forgot noted
	数据库 索引 备份 会议 报告 早上 晚上 喜欢 决定 项目 客户 合同 服务器 证书 超时 审核`)

func (d *desk) some(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(plain[d.IntN(len(plain))] + " ")
	}
	return b.String()
}

// text returns a file with a number of entries, of every shape. Each has a word
// that no other entry ever has.
func (d *desk) text(front string, entries int) string {
	var b strings.Builder
	if front != "" {
		fmt.Fprintf(&b, "---\n%s\n---\n", front)
	}
	fmt.Fprintf(&b, "# Notes of %s\n\n", d.some(2))
	for n := range entries {
		if n%4 == 3 {
			fmt.Fprintf(&b, "## %s\n\n", []string{"Tasks", "Follow Ups", "Key Facts", "Links"}[d.IntN(4)])
		}
		b.WriteString(d.entry() + "\n")
	}
	return b.String()
}

// entry returns one entry and the blank line after it.
func (d *desk) entry() string {
	text := d.some(3+d.IntN(20)) + d.word()
	shapes := []string{
		"%s\nand more\n", "As it was run:\n\n```sh\n%s\n```\n", "| what | how |\n|---|---|\n| %s | well |\n", "> %s\n> more\n",
		"- [ ] %s (added 2026-02-05)\n  - [x] nested " + d.word() + "\n", "- [x] %s #project:shop\n",
		"- **" + d.some(2) + "x**: %s\n\n  and more of it " + d.word() + "\n", "1. %s [the report](2026-02-01/s1.md)\n",
		"- %s <!-- type=decision importance=0.9 visibility=public_ok -->\n", "- %s <!-- visibility=private_only -->\n", "- %s\n", "- %s\n",
	}
	return fmt.Sprintf(shapes[d.IntN(len(shapes))], text)
}
