package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A Record is the journal's description of one change of one file.
type Record struct {
	ID    string    `json:"id"`    // sorts by time; short enough to type
	Group string    `json:"group"` // shared by changes that are undone together; otherwise equal to ID
	Time  time.Time `json:"time"`  // when the change began

	Path string `json:"-"` // the file; for a move, its old path
	To   string `json:"-"` // the new path of a moved file, otherwise ""

	Cause  string   `json:"cause"`            // as in vault.Change
	Reason string   `json:"reason,omitempty"` // as in vault.Change
	Undoes []string `json:"undoes,omitempty"` // IDs of the changes that this change reverses, newest first

	// Program is the program that requested the change, and Session its session,
	// by its own account.
	Program string `json:"program,omitempty"`
	Session string `json:"session,omitempty"`

	// Automatic reports that the daemon made the change without a request.
	Automatic bool `json:"automatic,omitempty"`
	// External reports that another program made the change.
	External bool `json:"external,omitempty"`

	Before    string `json:"before"`         // digest of the whole file, "" if there is no file
	After     string `json:"after"`          // likewise
	Made      int    `json:"made,omitempty"` // number of directories above the new path that the change created
	Temp      string `json:"-"`              // name of the temporary file next to the file
	State     State  `json:"-"`
	Forgotten bool   `json:"forgotten,omitempty"` // some of the changed text was removed or never recorded

	// Old and New are the contents before and after a change, for [Journal.Begin] only.
	// The journal stores those that are not nil.
	Old, New []byte `json:"-"`
}

// FilePath returns the path of the file after the change.
func (r *Record) FilePath() string { return cmp.Or(r.To, r.Path) }

// State is the progress of a change.
type State string

// The states of a change.
const (
	StateIntent State = "intent" // pending: the change may or may not have been made
	StateDone   State = "done"   // the change is complete
	StateUndone State = "undone" // the change is complete and was reversed later
)

// Digest returns the SHA-256 of data in hexadecimal digits. It returns "" for
// nil, which means that there is no file.
func Digest(data []byte) string {
	if data == nil {
		return ""
	}
	return DigestOf(sha256.Sum256(data))
}

// DigestOf returns the digest for a SHA-256 hash, or "" if all of its bytes are
// zero.
func DigestOf(hash [32]byte) string {
	if hash == [32]byte{} {
		return ""
	}
	return hex.EncodeToString(hash[:])
}

// errOutdated reports a record in a format that no release had, which contains the changed lines.
var errOutdated = errors.New("recorded by an earlier build")

// A header is the line of JSON in a record's file. Hunks is set in records of earlier
// builds.
type header struct {
	Record
	Path  rawName `json:"path"`
	To    rawName `json:"to,omitzero"`
	Temp  rawName `json:"temp,omitzero"`
	Hunks string  `json:"hunks,omitempty"`
}

// A rawName is a file name. It may contain any bytes, and JSON strings cannot
// represent some of them.
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

// encode returns the content of the record's file.
func (r *Record) encode() ([]byte, error) {
	h := header{Record: *r, Path: rawName(r.Path), To: rawName(r.To), Temp: rawName(r.Temp)}
	h.Time = r.Time.UTC()
	line, err := json.Marshal(h)
	return append(line, '\n'), err
}

// decodeRecord parses the first line of a record's file.
func decodeRecord(line []byte) (Record, error) {
	var h header
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	if h.Hunks != "" {
		return Record{}, errOutdated
	}
	r := h.Record
	r.Path, r.To, r.Temp = string(h.Path), string(h.To), string(h.Temp)
	return r, nil
}

// An ID is a number in Douglas Crockford's base 32, which omits letters that
// look like digits. The number counts hundredths of a second since idEpoch. If
// the clock has not advanced, the number is one more than the previous ID.
const (
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
	idLength = 8
	idUnit   = 10 * time.Millisecond
)

var idEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

func idNumber(t time.Time) int64 { return max(0, (t.UnixNano()-idEpoch)/int64(idUnit)) }

var idEncoding = base32.NewEncoding(idDigits).WithPadding(base32.NoPadding)

func formatID(n int64) string {
	return idEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(n))[3:]) // 40 bits
}

// IsID reports whether a text has the form of an ID or of its beginning.
func IsID(text string) bool {
	text = idNormalizer.Replace(strings.ToLower(text))
	return text != "" && len(text) <= idLength && strings.Trim(text, idDigits) == ""
}

func parseID(id string) (n int64, ok bool) {
	bits, err := idEncoding.DecodeString(id)
	if err != nil || len(id) != idLength || len(bits) != 5 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(append(make([]byte, 3), bits...))), true
}

// idNormalizer normalizes a typed ID or prefix of an ID: it replaces letters that
// look like digits and drops hyphens and spaces.
var idNormalizer = strings.NewReplacer("o", "0", "i", "1", "l", "1", "-", "", " ", "")
