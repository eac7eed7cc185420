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
			line, err := readLine(text, buf[:0])
			if err == io.EOF {
				return
			}
			buf = line
			for rest := bytes.TrimSpace(line); err == nil && len(rest) > 0; {
				var raw json.RawMessage
				dec := json.NewDecoder(bytes.NewReader(rest))
				err = dec.Decode(&raw)
				switch {
				case err != nil:
					err = &Problem{at, "invalid JSON: " + err.Error()}
				case rest[0] != '{':
					err = &Problem{at, errNoObject.Error()}
				case !yield(value{at: at, raw: raw}, nil):
					return
				}
				rest = bytes.TrimSpace(rest[dec.InputOffset():])
			}
			if err == errTooLarge {
				err = &Problem{at, err.Error()}
			}
			_, skipped := errors.AsType[*Problem](err)
			if err != nil && (!yield(value{}, err) || !skipped) {
				return
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
		s := &elementReader{r: text, left: maxWhole}
		dec := json.NewDecoder(s)
		key, depth, n, inList := "", 0, 1, false
		for {
			at := fmt.Sprintf("element %d", n)
			var raw json.RawMessage
			var token json.Token
			var err error
			isElement := inList && dec.More()
			if isElement {
				err = dec.Decode(&raw)
			} else {
				token, err = dec.Token()
			}
			switch {
			case err == io.EOF && depth == 0:
				return
			case s.err != nil && s.err != io.EOF && s.err != errElement:
				yield(value{}, s.err)
				return
			case err != nil:
				yield(value{}, &Problem{at, err.Error() + "; the rest of the file was not read"})
				return
			case isElement && !yield(value{key, at, raw}, nil):
				return
			case isElement:
				n, s.left = n+1, maxWhole
			}
			switch t := token.(type) {
			case string:
				key = t
			case json.Delim:
				depth += map[json.Delim]int{'[': 1, '{': 1, ']': -1, '}': -1}[t]
				inList = t == '[' && depth <= 2
			}
		}
	}
}

var errElement = fmt.Errorf("more than %d bytes in one element", maxWhole)

// An elementReader reads a document and bounds its elements.
type elementReader struct {
	r    io.Reader
	left int // bytes of the element
	err  error
}

// Read implements io.Reader.
func (s *elementReader) Read(b []byte) (n int, err error) {
	if s.left <= 0 {
		s.err = errElement
		return 0, s.err
	}
	n, s.err = s.r.Read(b)
	s.left -= n
	return n, s.err
}
