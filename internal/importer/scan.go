package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A value is a JSON value of a stream.
type value struct {
	key string // of the list that contains the value, if the stream is an object of lists
	at  string // place in the stream
	raw []byte
}

var (
	errTooLarge = fmt.Errorf("more than %d bytes", maxRecord)
	errNoObject = errors.New("not a JSON object")
)

// openText returns a reader of a stream without its byte order mark and initial white
// space, and the first byte after it.
func openText(r io.Reader) (text *bufio.Reader, first byte) {
	text = bufio.NewReaderSize(r, 64<<10)
	if mark, _ := text.Peek(3); bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
		text.Discard(3)
	}
	start, _ := text.Peek(64)
	start = bytes.TrimLeft(start, " \t\r\n")
	if len(start) > 0 {
		first = start[0]
	}
	return text, first
}

// objects yields the JSON objects of a stream: those of each line, which can have
// several, or those of a list. The rest of a line after text that is no object is a
// [*Problem], and the next line follows.
func objects(r io.Reader) iter.Seq2[value, error] {
	text, first := openText(r)
	if first == '[' {
		return elements(text)
	}
	return func(yield func(value, error) bool) {
		var buf []byte
		for n := 1; ; n++ {
			at := fmt.Sprintf("line %d", n)
			line, err := readLine(text, buf)
			if err == errTooLarge {
				if !yield(value{}, &Problem{At: at, Reason: err.Error()}) {
					return
				}
				continue
			}
			if err != nil {
				if err != io.EOF {
					yield(value{}, err)
				}
				return
			}
			buf = line[:0]
			for rest := bytes.TrimSpace(line); len(rest) > 0; {
				var raw json.RawMessage
				dec := json.NewDecoder(bytes.NewReader(rest))
				err := dec.Decode(&raw)
				switch {
				case rest[0] != '{':
					err = errNoObject
				case errors.Is(err, io.ErrUnexpectedEOF):
					err = errors.New("invalid JSON: the line ends within an object")
				case err != nil:
					err = fmt.Errorf("invalid JSON: %w", err)
				}
				if err != nil {
					if !yield(value{}, &Problem{At: at, Reason: err.Error(), Text: bytes.Clone(rest)}) {
						return
					}
					break
				}
				if !yield(value{at: at, raw: raw}, nil) {
					return
				}
				rest = bytes.TrimSpace(rest[dec.InputOffset():])
			}
		}
	}
}

// readLine returns the next line, in the memory of a buffer if it fits. It skips a line
// that is too large.
func readLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	size := 0
	for {
		part, err := r.ReadSlice('\n')
		size += len(part)
		if size <= maxRecord {
			buf = append(buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil && (err != io.EOF || size == 0):
			return nil, err
		case size > maxRecord:
			return nil, errTooLarge
		default:
			return buf, nil
		}
	}
}

// elements yields the elements of a list, or of the lists in an object. After a defect or
// an element of more than maxWhole bytes, a [*Problem] ends the sequence.
func elements(r io.Reader) iter.Seq2[value, error] {
	return func(yield func(value, error) bool) {
		text, _ := openText(r)
		s := &elementReader{r: text, left: maxWhole, yield: yield}
		s.dec = json.NewDecoder(s)
		err := s.readDocument()
		_, syntax := errors.AsType[*json.SyntaxError](err)
		switch {
		case err == nil, err == errStopped:
			return
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			err = &Problem{At: s.place(), Reason: "the file ends within a value"}
		case syntax, err == errSyntax, err == errElement:
			err = &Problem{At: s.place(), Reason: err.Error() + "; the rest of the file was not read"}
		}
		yield(value{}, err)
	}
}

var (
	errStopped = errors.New("stopped")
	errSyntax  = errors.New("invalid JSON")
	errElement = fmt.Errorf("more than %d bytes in one element", maxWhole)
)

// An elementReader reads a document and bounds its elements.
type elementReader struct {
	r     io.Reader
	dec   *json.Decoder
	yield func(value, error) bool
	left  int // bytes of the element
	n     int // elements before it
}

// place returns the place of the next element.
func (s *elementReader) place() string { return fmt.Sprintf("element %d", s.n+1) }

// Read implements io.Reader.
func (s *elementReader) Read(b []byte) (int, error) {
	if s.left <= 0 {
		return 0, errElement
	}
	n, err := s.r.Read(b)
	s.left -= n
	return n, err
}

func (s *elementReader) readDocument() error {
	switch start, err := s.dec.Token(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case start == json.Delim('['):
		return s.readList("")
	case start != json.Delim('{'):
		return errSyntax
	}
	for s.dec.More() {
		key, err := s.dec.Token()
		if err != nil {
			return err
		}
		start, err := s.dec.Token()
		switch {
		case err != nil:
			return err
		case start == json.Delim('['):
			err = s.readList(key.(string))
		case start == json.Delim('{'):
			err = s.skipObject()
		}
		if err != nil {
			return err
		}
	}
	_, err := s.dec.Token()
	return err
}

// readList yields the elements of a list whose bracket has been read.
func (s *elementReader) readList(key string) error {
	for s.dec.More() {
		var raw json.RawMessage
		if err := s.dec.Decode(&raw); err != nil {
			return err
		}
		if !s.yield(value{key, s.place(), raw}, nil) {
			return errStopped
		}
		s.n, s.left = s.n+1, maxWhole
	}
	_, err := s.dec.Token()
	return err
}

// skipObject reads the rest of an object whose brace has been read.
func (s *elementReader) skipObject() error {
	for depth := 1; depth > 0; {
		t, err := s.dec.Token()
		switch {
		case err != nil:
			return err
		case t == json.Delim('{'), t == json.Delim('['):
			depth++
		case t == json.Delim('}'), t == json.Delim(']'):
			depth--
		}
	}
	return nil
}
