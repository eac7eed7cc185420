// Package importer reads the exports of other programs: conversations, notes and
// memories.
//
// Each format is a function from a reader to a sequence of records. A sequence
// holds one record at a time in memory, and a defect ends only the record that
// contains it. [Open] lists the files to read, also those of an archive, within limits.
package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// maxRecord bounds the source of a record, in bytes. Larger ones are skipped.
const maxRecord = 16 << 20

// Records is a sequence of records. An error of type [*Problem] concerns a part
// of the source, which is skipped; any other error ends the sequence.
type Records = iter.Seq2[*api.ImportRecord, error]

// A Problem is a part of a source that cannot be imported.
type Problem struct {
	At     string // place in the source, such as line 3
	Reason string
}

// Error returns the place and the reason.
func (p *Problem) Error() string { return p.At + ": " + p.Reason }

// A Format reads the files of a program. Match reports whether a file in a
// directory or an archive belongs to the format, by its name.
type Format struct {
	Program string
	Match   func(name string) bool
	Read    func(s Source, r io.Reader) Records
}

// A Source describes a file that a format reads.
type Source struct {
	Name     string         // for titles
	Origin   string         // distinguishes the file from all others, and stays when it gets a newer version
	Location *time.Location // of times without a zone
}

// localID returns an id of the program that is unique in the file only as one that
// is unique everywhere.
func (s *Source) localID(id string) string { return s.Origin + " " + id }

// formats lists the formats by their names.
var formats = []Format{
	{"chatgpt", isConversations, readChatGPT},
	{"claude", isClaude, readClaude},
	{"claude-code", hasExt(".jsonl"), readSession},
	{"codex", isRollout, readSession},
	{"gemini", hasExt(".jsonl"), readSession},
	{"qwen", hasExt(".jsonl"), readSession},
	{"copilot", hasExt(".jsonl"), readSession},
	{"mem0", hasExt(".json", ".md"), readMem0},
	{"server-memory", hasExt(".json", ".jsonl"), readServerMemory},
	{"claude-mem", hasExt(".json"), readClaudeMem},
	{"jsonl", hasExt(".jsonl"), readJSONL},
}

// FormatOf returns the format of a program.
func FormatOf(program string) (Format, bool) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Program == program })
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}

func hasExt(list ...string) func(name string) bool {
	return func(name string) bool { return slices.Contains(list, strings.ToLower(path.Ext(name))) }
}

// A moment is a time in any form that exports use: seconds or milliseconds since
// 1970, or a text.
type moment string

// UnmarshalJSON never fails: a record without a time is better than none.
func (m *moment) UnmarshalJSON(data []byte) error {
	*m = moment(strings.Trim(string(data), `"`))
	return nil
}

// time returns the time, or zero for a missing or unknown one.
func (s *Source) time(m moment) time.Time {
	if n, err := strconv.ParseFloat(string(m), 64); err == nil {
		if n > 1e11 { // milliseconds
			n /= 1000
		}
		if n > 0 && n < 1e11 {
			return time.Unix(int64(n), int64((n-float64(int64(n)))*1e6)*1000).UTC()
		}
		return time.Time{}
	}
	t, _ := memory.ParseTime(string(m), s.Location)
	if t.Year() >= 9999 {
		return time.Time{}
	}
	return t
}

// sorted yields the keys of a map in order.
func sorted[V any](m map[string]V) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// earliest returns the earliest of some times, without those that are unknown.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// decode decodes a JSON value and ignores fields of an unexpected type. It returns
// nil, or the reason to skip the value as a [*Problem].
func decode(at string, raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if _, mistyped := err.(*json.UnmarshalTypeError); err == nil || mistyped {
		return nil
	}
	return &Problem{At: at, Reason: "invalid JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
}

// readEach returns the records of each value of a stream. Read returns the records
// of a value, or the reason to skip it.
func readEach[T any](values iter.Seq2[value, error], read func(value, *T) ([]*api.ImportRecord, error)) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		for v, err := range values {
			var list []*api.ImportRecord
			in := new(T)
			if err == nil {
				err = decode(v.at, v.raw, in)
			}
			if err == nil {
				list, err = read(v, in)
			}
			if err != nil {
				list = []*api.ImportRecord{nil}
			}
			for _, r := range list {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// appendPart appends a message without white space around it, unless it is empty.
func appendPart(list []api.ImportPart, author, text string) []api.ImportPart {
	text = strings.TrimSpace(text)
	if text != "" {
		list = append(list, api.ImportPart{Author: author, Text: text})
	}
	return list
}

// maxWhole bounds formats that must be read as a whole, in bytes.
const maxWhole = 64 << 20

func titleOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.Trim(line, "#*- "))
	return strings.Join(words[:min(len(words), 8)], " ")
}

// maxText bounds the text of one record, in bytes, so that it fits into a request, where it is
// encoded twice. Longer records become several files.
const maxText = 192 << 10

// split returns a record as one or more records whose texts have at most most
// bytes each. Further ones have ids of their own, and the time of the first.
func split(r *api.ImportRecord, most int) (list []*api.ImportRecord) {
	size := most // of the last one
	for _, p := range r.Parts {
		text := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return ' ' // it would take seven bytes in a request
			}
			return r
		}, strings.ReplaceAll(strings.ToValidUTF8(p.Text, "\ufffd"), "\r\n", "\n"))
		for text != "" {
			p.Text = text
			if len(text) > most {
				p.Text = strings.ToValidUTF8(text[:most], "")
				p.Text = p.Text[:cmp.Or(strings.LastIndexByte(p.Text, '\n')+1, len(p.Text))]
			}
			text = text[len(p.Text):]
			if size+len(p.Text) > most {
				next := *r
				next.Parts = nil
				list, size = append(list, &next), 0
			}
			last := list[len(list)-1]
			last.Parts, size = append(last.Parts, p), size+len(p.Text)
		}
	}
	for i, next := range list[min(1, len(list)):] {
		next.ID, next.Title = fmt.Sprintf("%s#%d", r.ID, i+2), fmt.Sprintf("%s (%d)", cmp.Or(r.Title, r.ID), i+2)
	}
	return list
}
