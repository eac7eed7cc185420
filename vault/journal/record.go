package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A Record is one change of one file, as the journal keeps it.
type Record struct {
	ID    string    // sorts by time; a person can type it
	Group string    // shared by changes that are undone together; ID if alone
	Time  time.Time // when it was begun

	Path string // of the file; of what was moved, before
	To   string // where it was moved to, "" if it stayed

	Cause  string   // as in [Change]
	Reason string   // as in [Change]
	Undoes []string // ids of the changes that it reverses, newest first

	Before, After string // digests of the whole file, "" where there is none
	Temp          string // name of the temporary file, beside the file
	State         State
	Hunks         []Hunk // what was there, and what is instead
	Forgotten     bool   // some of that was taken out, or never was there
}

// FilePath returns where the file of a change is after it.
func (r *Record) FilePath() string {
	if r.To != "" {
		return r.To
	}
	return r.Path
}

// State is how far a change has come.
type State string

// The states of a change.
const (
	StateIntent State = "intent" // it may or may not have happened
	StateDone   State = "done"   // it has happened
	StateUndone State = "undone" // it has happened, and was reversed since
)

// Digest is how the journal names the content of a file: its SHA-256 in
// hexadecimal digits, and "" if there is no file, which is nil.
func Digest(data []byte) string {
	if data == nil {
		return ""
	}
	return DigestOf(sha256.Sum256(data))
}

// DigestOf is the digest of content with that SHA-256; zero if there is none.
func DigestOf(hash [32]byte) string {
	if hash == [32]byte{} {
		return ""
	}
	return hex.EncodeToString(hash[:])
}

// A record is two lines of JSON. The first is what lists show; the second, as
// long as the change is large, is the hunks. The first has a checksum of the
// second: what is damaged must not find its way into a person's file.
type header struct {
	ID     string    `json:"id"`
	Group  string    `json:"group"`
	Time   time.Time `json:"time"`
	Path   rawName   `json:"path"`
	To     rawName   `json:"to,omitzero"`
	Cause  string    `json:"cause"`
	Reason string    `json:"reason,omitempty"`
	Undoes []string  `json:"undoes,omitempty"`
	Before string    `json:"before"`
	After  string    `json:"after"`
	Temp   rawName   `json:"temp,omitzero"`
	Hunks  string    `json:"hunks"`

	Forgotten bool `json:"forgotten,omitempty"`
}

// A rawName is the name of a file: any bytes, and JSON has none for some.
type rawName string

type namedBytes struct {
	Bytes []byte `json:"bytes"`
}

func (n rawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(namedBytes{[]byte(n)})
}

func (n *rawName) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	var named namedBytes
	err := json.Unmarshal(text, &named)
	*n = rawName(named.Bytes)
	return err
}

// encode is the record as a file.
func (r *Record) encode() ([]byte, error) {
	hunks, err := json.Marshal(r.Hunks)
	if err != nil {
		return nil, err
	}
	first, err := json.Marshal(header{
		ID: r.ID, Group: r.Group, Time: r.Time.UTC(), Path: rawName(r.Path), To: rawName(r.To),
		Cause: r.Cause, Reason: r.Reason, Undoes: r.Undoes,
		Before: r.Before, After: r.After, Temp: rawName(r.Temp), Hunks: Digest(hunks),
		Forgotten: r.Forgotten,
	})
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{first, hunks, nil}, []byte("\n")), nil
}

// decodeHeader reads the first line of a record.
func decodeHeader(line []byte) (Record, error) {
	var h header
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	return Record{
		ID: h.ID, Group: h.Group, Time: h.Time, Path: string(h.Path), To: string(h.To),
		Cause: h.Cause, Reason: h.Reason, Undoes: h.Undoes,
		Before: h.Before, After: h.After, Temp: string(h.Temp), Forgotten: h.Forgotten,
	}, nil
}

// decode reads a whole record.
func decode(data []byte) (Record, error) {
	first, hunks, _ := bytes.Cut(data, []byte("\n"))
	r, err := decodeHeader(first)
	if err != nil {
		return Record{}, err
	}
	var h header
	if err := json.Unmarshal(first, &h); err != nil {
		return Record{}, err
	}
	hunks = bytes.TrimSuffix(hunks, []byte("\n"))
	if Digest(hunks) != h.Hunks {
		return Record{}, fmt.Errorf("damaged: the lines are not those that were written")
	}
	return r, json.Unmarshal(hunks, &r.Hunks)
}

// An id is a number in the digits of Douglas Crockford's base 32, which has no
// letters that look like digits: hundredths of a second since idEpoch, or one
// more than the last where the clock has not moved on.
const (
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
	idLength = 8
	idUnit   = 10 * time.Millisecond
)

var idEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// idNumber is the smallest number of an id for a time.
func idNumber(t time.Time) int64 { return max(0, (t.UnixNano()-idEpoch)/int64(idUnit)) }

func formatID(n int64) string {
	var id [idLength]byte
	for i := range id {
		id[idLength-1-i] = idDigits[n&31]
		n >>= 5
	}
	return string(id[:])
}

func parseID(id string) (n int64, ok bool) {
	if len(id) != idLength {
		return 0, false
	}
	for i := range len(id) {
		digit := strings.IndexByte(idDigits, id[i])
		if digit < 0 {
			return 0, false
		}
		n = n<<5 | int64(digit)
	}
	return n, true
}

// tidyID is an id, or the beginning of one, as somebody may have typed it.
var tidyID = strings.NewReplacer("o", "0", "i", "1", "l", "1", "-", "", " ", "")
