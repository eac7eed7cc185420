// Package importer reads the exports of other programs: conversations, notes and
// memories.
//
// Each format is a function from a reader to a sequence of records. A sequence
// holds one record at a time in memory, and a defect ends only the record that
// contains it. The package reads no files itself; [Archive] reads archives within
// limits.
package importer

import (
	"cmp"
	"encoding/json"
	"errors"
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
	Text   []byte // the line as it is, for lines of JSON of the format jsonl
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
	{"mem0", hasExt(".json", ".md"), readMem0},
	{"server-memory", hasExt(".json", ".jsonl"), readServerMemory},
	{"basic-memory", hasExt(".md"), readBasicMemory},
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

// decodeStrictly decodes a valid JSON value. If a field has an unexpected type, it
// decodes the others and returns the name of the field and the types.
func decodeStrictly(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		_, field, _ := strings.Cut(e.Field, "payload.")
		field = strings.TrimPrefix(cmp.Or(field, e.Field), "Payload.ExportEntry.")
		return fmt.Errorf("%s: got %s, want %s", cmp.Or(field, "line"), e.Value, e.Type.Kind())
	}
	return err
}

// readEach returns the records of each value of a stream. Read returns the records
// of a value, or the reason to skip it.
func readEach[T any](values iter.Seq2[value, error], read func(value, *T) ([]*api.ImportRecord, error)) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		for v, err := range values {
			var list []*api.ImportRecord
			if err == nil {
				in := new(T)
				err = decode(v.at, v.raw, in)
				if err == nil {
					list, err = read(v, in)
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
			for _, r := range list {
				if len(r.Parts) > 0 && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// textPart returns a message without white space around it.
func textPart(author, text string) api.ImportPart {
	return api.ImportPart{Author: author, Text: strings.TrimSpace(text)}
}

// maxWhole bounds formats that must be read as a whole, in bytes.
const maxWhole = 64 << 20

// readWhole returns a stream of at most maxWhole bytes.
func readWhole(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxWhole+1))
	if err == nil && len(text) > maxWhole {
		err = &Problem{At: "line 1", Reason: fmt.Sprintf("the file has more than %d bytes", maxWhole)}
	}
	return text, err
}

func titleOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.Trim(line, "#*- "))
	return strings.Join(words[:min(len(words), 8)], " ")
}

// partSize returns the bytes of a part in a request, without escapes.
func partSize(p *api.ImportPart) int {
	size := len(p.Text)
	for _, list := range [][]string{p.Section, p.Evidence, p.Tags, slices.Collect(maps.Keys(p.Attributes)),
		slices.Collect(maps.Values(p.Attributes))} {
		for _, s := range list {
			size += len(s) + 6
		}
	}
	return size
}

// Split returns a record as one or more records whose texts have at most most
// bytes each. Further ones have ids of their own, and the time of the first.
func Split(r *api.ImportRecord, most int) []*api.ImportRecord {
	part := func(n int) *api.ImportRecord {
		next := *r
		next.Parts = nil
		if n > 1 {
			next.ID, next.Title = fmt.Sprintf("%s#%d", r.ID, n), fmt.Sprintf("%s (%d)", cmp.Or(r.Title, r.ID), n)
		}
		return &next
	}
	list, size := []*api.ImportRecord{part(1)}, 0
	add := func(p api.ImportPart) {
		if size > 0 && size+partSize(&p) > most {
			list, size = append(list, part(len(list)+1)), 0
		}
		last := list[len(list)-1]
		last.Parts, size = append(last.Parts, p), size+partSize(&p)
	}
	for _, p := range r.Parts {
		p.Text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return ' ' // it would take seven bytes in a request
			}
			return r
		}, strings.ReplaceAll(p.Text, "\r\n", "\n"))
		for len(p.Text) > most {
			at := strings.LastIndexByte(p.Text[:most], '\n') + 1
			if at == 0 {
				at = len(strings.ToValidUTF8(p.Text[:most], ""))
			}
			head := p
			head.Text, p.Text = p.Text[:max(at, 1)], p.Text[max(at, 1):]
			add(head)
		}
		add(p)
	}
	return list
}
