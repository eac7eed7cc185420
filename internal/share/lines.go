package share

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// An operation of a line.
const (
	opPut      = "put"
	opGone     = "gone"     // the object becomes a tombstone
	opDelete   = "delete"   // the tombstone is removed
	opVerified = "verified" // the store was compared with the files at the time rev
)

// A line is a line of the outbox, or of the record of published objects, which
// lacks the payload. An outbox without tombstones is an export in JSON lines.
type line struct {
	RecordType string         `json:"record_type,omitempty"`
	Op         string         `json:"op"`
	Tenant     string         `json:"tenant,omitempty"`
	ID         string         `json:"id,omitempty"`
	Rev        int64          `json:"rev"`
	File       string         `json:"file,omitempty"` // hash of the path
	Hash       string         `json:"hash,omitempty"`
	Payload    map[string]any `json:"payload,omitempty"`
}

// errDamaged is returned for a file with a line whose checksum is wrong.
var errDamaged = errors.New("line with a wrong checksum")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumLength = len(`,"sum":"01234567"}` + "\n")

// encode returns the line with the CRC-32C of its other fields as the last field.
func (l *line) encode() ([]byte, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text[:len(text)-1], `,"sum":"%08x"}`+"\n", crc32.Checksum(text, castagnoli)), nil
}

// decodeLine returns the line that encode returned as text.
func decodeLine(text []byte) (l line, err error) {
	at := len(text) - sumLength
	if at < 1 {
		return l, errDamaged
	}
	body := append(bytes.Clone(text[:at]), '}')
	sum := fmt.Sprintf(`,"sum":"%08x"}`+"\n", crc32.Checksum(body, castagnoli))
	if string(text[at:]) != sum || json.Unmarshal(body, &l) != nil {
		return l, errDamaged
	}
	return l, nil
}

// A lineFile is a file of lines that only grows at its end.
type lineFile struct {
	file *os.File
	path string
	size int64
}

// openLines opens a file, which it creates if it does not exist, and calls each
// with every line and the position after it. It cuts off a torn last line. If a
// line is damaged, it returns [errDamaged] and the open file.
func openLines(path string, each func(l line, end int64)) (*lineFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &lineFile{file: f, path: path}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	damage := s.read(0, info.Size(), func(l line, end int64) bool {
		s.size = end
		each(l, end)
		return true
	})
	if damage == nil && s.size < info.Size() {
		err = f.Truncate(s.size)
	}
	return s, errors.Join(err, damage)
}

// maxLine exceeds the length of any line.
const maxLine = 32 << 20

// read calls each with the complete lines from a position up to another one, until
// it returns false.
func (s *lineFile) read(from, to int64, each func(l line, end int64) bool) error {
	if from >= to {
		return nil
	}
	lines := bufio.NewScanner(io.NewSectionReader(s.file, from, to-from))
	lines.Buffer(make([]byte, min(256<<10, to-from)), maxLine)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			return 0, nil, nil
		}
		return end, data[:end], nil
	})
	for lines.Scan() {
		l, err := decodeLine(lines.Bytes())
		if err != nil {
			return err
		}
		from += int64(len(lines.Bytes()))
		if !each(l, from) {
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errDamaged
	}
	return lines.Err()
}

// append adds lines. If it fails, it removes what was written of them.
func (s *lineFile) append(lines []line, sync bool) error {
	var text []byte
	for i := range lines {
		t, err := lines[i].encode()
		if err != nil {
			return err
		}
		text = append(text, t...)
	}
	_, err := s.file.Write(text)
	if err == nil && sync {
		err = s.file.Sync()
	}
	if err != nil {
		return errors.Join(err, s.file.Truncate(s.size))
	}
	s.size += int64(len(text))
	return nil
}

// replace replaces the lines, in a new file at the same path, by those that write
// passes to its argument.
func (s *lineFile) replace(write func(add func(*line) error) error) (err error) {
	path := s.path
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(path+".new"))
		}
	}()
	size, buffer := int64(0), bufio.NewWriterSize(f, 1<<20)
	err = write(func(l *line) error {
		text, err := l.encode()
		if err == nil {
			size += int64(len(text))
			_, err = buffer.Write(text)
		}
		return err
	})
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return err
	}
	s.file.Close() // it was replaced; its content no longer matters
	*s = lineFile{file: f, path: path, size: size}
	return nil
}

func (s *lineFile) clear() error {
	err := s.file.Truncate(0)
	if err == nil {
		s.size = 0
		err = s.file.Sync()
	}
	return err
}
