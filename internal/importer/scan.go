package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

type value struct {
	key  string // of the list that contains the value, if the stream is an object of lists
	line int    // on which it begins
	raw  []byte // valid until the next value
}

var (
	errTooLarge = fmt.Errorf("more than %d bytes", maxRecord)
	errTooDeep  = fmt.Errorf("nested more than %d times", maxDepth)
	errNoObject = errors.New("not a JSON object")
)

// maxDepth bounds the nesting of a value.
const maxDepth = 200

// A scanner splits a stream into values without decoding it.
type scanner struct {
	r     *bufio.Reader
	line  int
	buf   []byte
	spare []byte // memory for the buffer
}

func newScanner(r io.Reader) *scanner {
	s := &scanner{r: bufio.NewReaderSize(r, 64<<10), line: 1}
	if start, _ := s.r.Peek(3); bytes.Equal(start, []byte("\xEF\xBB\xBF")) {
		s.r.Discard(3)
	}
	return s
}

// objects yields the JSON objects of a stream, whatever is between them: line ends,
// nothing, or the brackets and commas of a list. An object can span lines. Text
// that is no object is a [*Problem], and the next object of the line or the next
// line follows, so that a torn line ends no other one.
func objects(r io.Reader) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		s := newScanner(r)
		for broken := 0; ; {
			rest := bytes.TrimLeft(s.buf, " \t\r\n,[]\x1e\ufeff")
			s.drop(len(s.buf) - len(rest))
			if len(rest) == 0 {
				broken = 0
				err := s.readLine()
				if err == io.EOF {
					return
				}
				if err != nil && (!yield(value{}, s.problem(err, nil)) || err != errTooLarge) {
					return
				}
				if err == errTooLarge {
					s.line++
				}
				continue
			}
			at := max(bytes.IndexByte(rest[:lineLen(rest)], '{'), 0)
			size, err := s.object(at)
			text := s.buf[:lineLen(s.buf)]
			switch {
			case err == errTooLarge:
				text = s.buf
			case err != nil:
				broken++
				if broken < maxBroken {
					text = text[:at+nextStart(text[at:])]
				}
			case at > 0:
				text, err = text[:at], errNoObject
			default:
				text = s.buf[:size]
			}
			v := value{line: s.line, raw: bytes.TrimSpace(text)}
			if err == nil && !yield(v, nil) || err != nil && !yield(v, s.problem(err, v.raw)) {
				return
			}
			s.drop(len(text))
			if err == errTooLarge {
				s.line++ // which is not in the buffer
			}
		}
	}
}

// maxBroken bounds the broken objects of a line, the rest of which is skipped then.
const maxBroken = 16

// drop removes the beginning of the buffer.
func (s *scanner) drop(size int) {
	s.line += bytes.Count(s.buf[:size], []byte("\n"))
	s.buf = s.buf[size:]
}

// lineLen returns the length of the first line of a text, with its end.
func lineLen(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n + 1
	}
	return len(text)
}

// nextStart returns where another object can begin in a line with a broken one: at
// the next place that looks like the beginning of the line. A program that stopped
// within a line appends to it.
func nextStart(line []byte) int {
	key := line[:bytes.IndexByte(line, ':')+1]
	if at := bytes.Index(line[len(key):], key); at >= 0 && len(key) > 0 {
		return len(key) + at
	}
	return len(line)
}

// object returns the end of the object at an offset of the buffer. It reads further
// lines as the object needs them.
func (s *scanner) object(at int) (end int, err error) {
	var raw json.RawMessage
	dec := json.NewDecoder(&bufferReader{s, at})
	if s.buf[at] != '{' {
		return 0, errNoObject
	}
	err = dec.Decode(&raw)
	return at + int(dec.InputOffset()), err
}

// A bufferReader reads the buffer of a scanner from an offset on, and the lines
// after it.
type bufferReader struct {
	s  *scanner
	at int
}

// Read implements io.Reader.
func (r *bufferReader) Read(b []byte) (int, error) {
	if r.at == len(r.s.buf) {
		if err := r.s.readLine(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.s.buf[r.at:])
	r.at += n
	return n, nil
}

// readLine appends a line to the buffer. If the buffer would become too large,
// readLine skips the line.
func (s *scanner) readLine() error {
	size, long := len(s.buf), false
	if size == 0 {
		s.buf = s.spare
	}
	for {
		part, err := s.r.ReadSlice('\n')
		long = long || len(s.buf)+len(part) > maxRecord
		if !long {
			s.buf = append(s.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && err != io.EOF:
			return err
		case long:
			s.buf = s.buf[:size]
			return errTooLarge
		case len(s.buf) == size:
			return io.EOF
		default:
			if size == 0 {
				s.spare = s.buf[:0]
			}
			return nil
		}
	}
}

// problem returns the reason to skip a text of the present line. Errors of reading
// stay as they are.
func (s *scanner) problem(err error, text []byte) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("invalid JSON: the file ends within an object")
	case syntax:
		err = fmt.Errorf("invalid JSON: %w", err)
	case err != errTooLarge && err != errNoObject:
		return err
	}
	return &Problem{Line: s.line, Reason: err.Error(), Text: bytes.Clone(text)}
}

// elements yields the elements of a list, or of the lists in an object. A stream
// of neither form yields its one value.
func elements(r io.Reader) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		s := newScanner(r)
		err := s.document(yield)
		switch {
		case err == nil || err == errStopped:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			yield(value{}, &Problem{Line: s.line, Reason: "the file ends within a value"})
		case errors.Is(err, errSyntax):
			yield(value{}, &Problem{Line: s.line, Reason: err.Error() + "; the rest of the file was not read"})
		default:
			yield(value{}, err)
		}
	}
}

var (
	errStopped = errors.New("stopped")
	errSyntax  = errors.New("invalid JSON")
)

// document reads the value of a stream.
func (s *scanner) document(yield func(value, error) bool) error {
	switch c, err := s.next(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case c == '[':
		return s.list("", yield)
	case c != '{':
		return errSyntax
	}
	for {
		c, err := s.next()
		switch {
		case err != nil:
			return err
		case c == '}':
			return nil
		case c == ',':
			continue
		case c != '"':
			return errSyntax
		}
		if err := s.value(c); err != nil {
			return err
		}
		var key string
		decode(s.line, s.buf, &key)
		c, err = s.next()
		if err != nil || c != ':' {
			return cmp.Or(err, errSyntax)
		}
		c, err = s.next()
		if err != nil {
			return err
		}
		if c == '[' {
			err = s.list(key, yield)
		} else {
			err = s.value(c)
		}
		if err != nil && err != errTooLarge && err != errTooDeep {
			return err
		}
	}
}

// list yields the elements of a list whose bracket has been read.
func (s *scanner) list(key string, yield func(value, error) bool) error {
	for {
		c, err := s.next()
		switch {
		case err != nil:
			return err
		case c == ']':
			return nil
		case c == ',':
			continue
		case c == '}' || c == ':':
			return errSyntax
		}
		line := s.line
		err = s.value(c)
		switch {
		case err == errTooLarge || err == errTooDeep:
			err = &Problem{Line: line, Reason: err.Error()}
		case err != nil:
			return err
		}
		if !yield(value{key, line, s.buf}, err) {
			return errStopped
		}
	}
}

// next returns the next byte that is not white space.
func (s *scanner) next() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c == '\n':
			s.line++
		case c != ' ' && c != '\t' && c != '\r':
			return c, nil
		}
	}
}

// value reads the value that begins with c into the buffer. Of a value that is
// too large or too deep, it reads all and keeps none.
func (s *scanner) value(c byte) (failure error) {
	s.buf = s.buf[:0]
	depth, quoted, escaped := 0, false, false
	for {
		if len(s.buf) >= maxRecord {
			failure = errTooLarge
		}
		if failure != nil {
			s.buf = s.buf[:0]
		}
		s.buf = append(s.buf, c)
		switch {
		case quoted:
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				quoted = false
			case c == '\n':
				s.line++
			}
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			depth++
			if depth > maxDepth {
				failure = errTooDeep
			}
		case c == '}', c == ']':
			depth--
		case c == '\n':
			s.line++
		}
		if depth == 0 && !quoted {
			if c == '"' || c == '}' || c == ']' {
				return failure
			}
			if p, err := s.r.Peek(1); err != nil || bytes.IndexByte([]byte(",]} \t\r\n"), p[0]) >= 0 {
				return failure // the end of a number or a word
			}
		}
		next, err := s.r.ReadByte()
		if err != nil {
			return cmp.Or(failure, io.ErrUnexpectedEOF)
		}
		c = next
	}
}
