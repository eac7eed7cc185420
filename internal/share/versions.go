package share

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/memwatchd/memwatchd/internal/state"
)

const publishedName = "published.jsonl"

// An operation of a line.
const (
	opPut      = "put"
	opGone     = "gone"     // the object becomes a tombstone
	opDelete   = "delete"   // the tombstone is removed
	opVerified = "verified" // the store was compared with the files at the time rev
)

// A line is a line of the record of published objects, or of the outbox, which has
// the payload. An outbox without tombstones is an export in JSON lines.
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

var (
	errDamaged = errors.New("line with a wrong checksum")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

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

// A key identifies an object of this machine.
type key struct {
	collection uint8
	id         [16]byte
}

// key returns the object of the line and reports whether it has a valid one.
func (l *line) key() (k key, ok bool) {
	i := slices.IndexFunc(Collections, func(c Collection) bool { return c.Name == l.RecordType })
	id, err := hex.DecodeString(strings.ReplaceAll(l.ID, "-", ""))
	if i < 0 || err != nil || len(id) != len(k.id) {
		return key{}, false
	}
	return key{uint8(i), [16]byte(id)}, true
}

// A published is the last version of an object that was sent.
type published struct {
	tenant unique.Handle[[20]byte]
	file   uint64 // hash of the path; 0 if it is unknown
	hash   uint64 // of the properties; 0 if the store may have another version
	rev    int64  // milliseconds since 1970 times 1000, or the number after that of the last version
	gone   bool
}

// versions contains the last version of each object. Its file grows at the end: before
// an object is sent, it gets a line without a hash, since the store may write it
// without an answer, and another line with the hash afterwards.
type versions struct {
	file     *os.File
	size     int64
	lines    int
	known    map[key]published
	live     int       // objects in the store
	verified time.Time // last comparison with the store; zero if one is due
	unsure   bool      // that comparison must be repeated soon
}

// openVersions opens the record in a directory. It discards a damaged one, and returns the
// reason as damage: all entries are sent again, and compared with the store.
func openVersions(dir string) (r *versions, damage, err error) {
	f, err := os.OpenFile(filepath.Join(dir, publishedName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	r = &versions{file: f, known: make(map[key]published)}
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF { // the rest is torn
			return r, nil, f.Truncate(r.size)
		}
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		l, err := decodeLine(text)
		if err != nil {
			*r = versions{file: f, known: make(map[key]published)}
			return r, fmt.Errorf("%s is damaged and was discarded", publishedName), f.Truncate(0)
		}
		r.size += int64(len(text))
		r.apply(&l)
	}
}

// apply records a line in the last versions.
func (r *versions) apply(l *line) {
	r.lines++
	if l.Op == opVerified {
		r.verified = time.UnixMilli(l.Rev)
		return
	}
	k, ok := l.key()
	tenant, err := hex.DecodeString(l.Tenant)
	if !ok || err != nil || len(tenant) != 20 {
		return // of another version of the program
	}
	if before := r.known[k]; before.hash != 0 {
		r.live--
	}
	if l.Op == opDelete {
		delete(r.known, k)
		return
	}
	s := published{tenant: unique.Make([20]byte(tenant)), file: parseHash(l.File), hash: parseHash(l.Hash), rev: l.Rev,
		gone: l.Op == opGone}
	if s.hash != 0 {
		r.live++
	}
	r.known[k] = s
}

// parseHash returns the first 64 bits of a hash in hexadecimal digits, or 0.
func parseHash(s string) uint64 {
	b, err := hex.DecodeString(s[:min(len(s), 16)])
	if err != nil || len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// fileHash returns the hash by which the record names a path. Files that a user
// removes leave no names there.
func fileHash(path string) uint64 {
	sum := sha256.Sum256([]byte(path))
	return binary.BigEndian.Uint64(sum[:8])
}

// append adds lines. If it fails, it removes what was written of them.
func (r *versions) append(lines []line, sync bool) error {
	var text []byte
	for i := range lines {
		t, err := lines[i].encode()
		if err != nil {
			return err
		}
		text = append(text, t...)
	}
	_, err := r.file.Write(text)
	if err == nil && sync {
		err = r.file.Sync()
	}
	if err != nil {
		return errors.Join(err, r.file.Truncate(r.size))
	}
	r.size += int64(len(text))
	for i := range lines {
		r.apply(&lines[i])
	}
	return nil
}

// compact rewrites the record with one line for each object, if it has many more.
func (r *versions) compact() error {
	if r.lines <= 2*len(r.known)+1000 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(r.known), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.collection, b.collection), bytes.Compare(a.id[:], b.id[:]))
	})
	path := r.file.Name()
	err := state.WriteFrom(path, func(w io.Writer) error {
		for _, k := range keys {
			l := k.lineOf(r.known[k])
			text, err := l.encode()
			if err == nil {
				_, err = w.Write(text)
			}
			if err != nil {
				return err
			}
		}
		text, err := r.verifiedLine().encode()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err != nil {
		return err
	}
	next, _, err := openVersions(filepath.Dir(path))
	if err != nil {
		return err
	}
	r.file.Close() // it was replaced
	next.unsure = r.unsure
	*r = *next
	return nil
}

func (k key) lineOf(s published) line {
	o := k.objectOf(s, nil)
	l := line{RecordType: o.Collection, Op: opPut, Tenant: o.Tenant, ID: o.ID, Rev: s.rev,
		File: fmt.Sprintf("%016x", s.file)}
	switch {
	case s.gone:
		l.Op = opGone
	case s.hash != 0:
		l.Hash = fmt.Sprintf("%016x", s.hash)
	}
	return l
}

// setVerified records the time of a comparison with the store; zero if one is due. One
// that must be repeated soon is recorded in memory only.
func (r *versions) setVerified(now time.Time, unsure bool) error {
	r.unsure = unsure
	r.verified = now
	err := r.append([]line{*r.verifiedLine()}, true)
	r.verified = now
	return err
}

func (r *versions) verifiedLine() *line {
	if r.unsure {
		return &line{Op: opVerified, Rev: time.Time{}.UnixMilli()}
	}
	return &line{Op: opVerified, Rev: r.verified.UnixMilli()}
}

// A change is a new version of an object.
type change struct {
	Object
	op   string
	file uint64
}

func (c *change) line() line {
	return line{RecordType: c.Collection, Op: c.op, Tenant: c.Tenant, ID: c.ID, Rev: c.rev(),
		File: fmt.Sprintf("%016x", c.file)}
}

// changesOf returns the changes from the last versions to the objects of some
// files, by tenant, tombstones first. The order depends on nothing but the changes, and the
// revision of an object on nothing but the time and its own last version.
func changesOf(known map[key]published, files map[uint64]bool, objects []change, host string, now time.Time) []change {
	var out []change
	wanted := make(map[key]bool, len(objects))
	revOf := func(s published) int64 { return max(now.UnixMilli()*1000, s.rev+1) }
	for _, c := range objects {
		l := line{RecordType: c.Collection, ID: c.ID}
		k, _ := l.key()
		wanted[k] = true
		if s, ok := known[k]; ok && !s.gone && s.hash == parseHash(c.text("hash")) {
			continue
		}
		c.op, c.Properties["rev"] = opPut, revOf(known[k])
		out = append(out, c)
	}
	for k, s := range known {
		if files[s.file] && !s.gone && !wanted[k] {
			out = append(out, newTombstone(k, s, host, revOf(s)))
		}
	}
	sortChanges(out)
	return out
}

func sortChanges(list []change) {
	slices.SortFunc(list, func(a, b change) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.op, b.op), // gone before put
			strings.Compare(a.Collection, b.Collection), strings.Compare(a.ID, b.ID))
	})
}

// newTombstone returns the change that removes the text of an object from the store.
func newTombstone(k key, s published, host string, rev int64) change {
	return change{Object: k.objectOf(s, map[string]any{"host": host, "rev": rev, "gone": true}), op: opGone,
		file: s.file}
}

func (k key) objectOf(s published, properties map[string]any) Object {
	u, tenant := k.id, s.tenant.Value()
	return Object{Collection: Collections[k.collection].Name, Tenant: hex.EncodeToString(tenant[:]),
		ID: fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), Properties: properties}
}
