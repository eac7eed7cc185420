package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A value is one JSON value of a stream.
type value struct {
	key  string // of the list that contains the value, if the stream is an object of lists
	line int    // on which it begins
	raw  []byte // valid until the next value
}

var (
	errTooLarge = fmt.Errorf("more than %d bytes", maxRecord)
	errTooDeep  = fmt.Errorf("nested more than %d times", maxDepth)
)

// maxDepth bounds the nesting of a value.
const maxDepth = 200

// A scanner splits a stream into values without decoding it.
type scanner struct {
	r    *bufio.Reader
	line int
	buf  []byte
}

func newScanner(r io.Reader) *scanner {
	s := &scanner{r: bufio.NewReaderSize(r, 64<<10), line: 1}
	if start, _ := s.r.Peek(3); bytes.Equal(start, []byte("\xEF\xBB\xBF")) {
		s.r.Discard(3)
	}
	return s
}

// lines yields the lines of a stream that are not blank, each with its number.
func lines(r io.Reader) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		s := newScanner(r)
		for ; ; s.line++ {
			s.buf = s.buf[:0]
			long := false
			for {
				part, err := s.r.ReadSlice('\n')
				long = long || len(s.buf)+len(part) > maxRecord
				if !long {
					s.buf = append(s.buf, part...)
				}
				if errors.Is(err, bufio.ErrBufferFull) {
					continue
				}
				if err != nil && err != io.EOF {
					yield(value{}, err)
					return
				}
				if long && !yield(value{line: s.line}, &Problem{Line: s.line, Reason: errTooLarge.Error()}) {
					return
				}
				if line := bytes.TrimSpace(s.buf); !long && len(line) > 0 && !yield(value{line: s.line, raw: line}, nil) {
					return
				}
				if err == io.EOF {
					return
				}
				break
			}
		}
	}
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
