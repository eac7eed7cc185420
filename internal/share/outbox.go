package share

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unique"
)

// Names of the files of the outbox, for items and summaries, and of the record of
// published objects.
var boxNames = [2]string{"short_term.jsonl", "long_term.jsonl"}

const publishedName = "published.jsonl"

// Limits of a batch.
const (
	maxBatch      = 200
	maxBatchBytes = 1 << 20
)

// A key identifies an object of this machine.
type key struct {
	collection uint8
	id         [16]byte
}

// A published is the last version of an object that was published or waits in the
// outbox.
type published struct {
	tenant unique.Handle[[20]byte]
	file   uint64 // hash of the path; 0 if it is unknown
	hash   uint64 // of the properties
	rev    int64  // milliseconds since 1970 times 1000, or the number after that of the last version
	gone   bool
	queued bool // waits in the outbox
}

// An outbox contains the changes that the store has not acknowledged, and the last
// version of each object.
type outbox struct {
	dir       string
	box       [2]*lineFile // items and summaries
	done      [2]int64     // position in box up to which the lines are acknowledged
	pending   int          // lines that are not
	published *lineFile
	lines     int // of published
	known     map[key]published
	live      int       // objects in the store
	verified  time.Time // last comparison with the store; zero if one is due
	unsure    bool      // that comparison must be repeated soon
}

// openOutbox opens the files in a directory. It discards damaged files, and returns
// the reason as damage: the entries must be compared with the store then.
func openOutbox(dir string) (o *outbox, damage, err error) {
	o = &outbox{dir: dir, known: make(map[key]published)}
	o.published, err = openLines(filepath.Join(dir, publishedName), func(l line, _ int64) {
		o.lines++
		o.applyLine(&l, false)
	})
	bad := o.published
	for i := 0; i < len(boxNames) && err == nil; i++ {
		waits := false
		o.box[i], err = openLines(filepath.Join(dir, boxNames[i]), func(l line, end int64) {
			k, _ := l.key()
			waits = waits || o.known[k].rev < l.Rev // lines are acknowledged in order
			if !waits {
				o.done[i] = end
				return
			}
			o.pending++
			o.applyLine(&l, true)
		})
		bad = o.box[i]
	}
	if err == nil {
		return o, nil, nil
	}
	if !errors.Is(err, errDamaged) {
		return nil, nil, errors.Join(err, o.close())
	}
	damage = fmt.Errorf("%s is damaged and was discarded", filepath.Base(bad.path))
	if err := errors.Join(o.setVerified(time.Time{}, false), bad.clear(), o.close()); err != nil {
		return nil, nil, err
	}
	o, _, err = openOutbox(dir)
	return o, damage, err
}

func (o *outbox) close() (err error) {
	for _, f := range []*lineFile{o.published, o.box[0], o.box[1]} {
		if f != nil {
			err = errors.Join(err, f.file.Close())
		}
	}
	return err
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

// applyLine records a line in the last versions.
func (o *outbox) applyLine(l *line, queued bool) {
	if l.Op == opVerified {
		o.verified = time.UnixMilli(l.Rev)
		return
	}
	k, ok := l.key()
	tenant, err := hex.DecodeString(l.Tenant)
	if !ok || err != nil || len(tenant) != 20 {
		return // of another version of the program
	}
	if before := o.known[k]; !before.gone && !before.queued && before.rev > 0 {
		o.live--
	}
	if l.Op == opDelete && !queued {
		delete(o.known, k)
		return
	}
	if l.Op == opPut && !queued {
		o.live++
	}
	o.known[k] = published{tenant: unique.Make([20]byte(tenant)), file: parseHash(l.File), hash: l.hash(), rev: l.Rev,
		gone: l.Op != opPut, queued: queued}
}

// hash returns the beginning of the hash of the properties.
func (l *line) hash() uint64 {
	hash, _ := l.Payload["hash"].(string)
	return parseHash(cmp.Or(l.Hash, hash))
}

// parseHash returns the first 64 bits of a hash in hexadecimal digits, or 0.
func parseHash(s string) uint64 {
	b, err := hex.DecodeString(s[:min(len(s), 16)])
	if err != nil || len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// fileHash returns the hash by which the files of the outbox name a path. Files
// that a user removes leave no names there.
func fileHash(path string) uint64 {
	sum := sha256.Sum256([]byte(path))
	return binary.BigEndian.Uint64(sum[:8])
}

// A change is a new version of an object.
type change struct {
	Object
	op   string
	file uint64
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
	slices.SortFunc(out, func(a, b change) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.op, b.op), // gone before put
			strings.Compare(a.Collection, b.Collection), strings.Compare(a.ID, b.ID))
	})
	return out
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

// append writes changes to the outbox and to the disk.
func (o *outbox) append(changes []change) error {
	var lines [2][]line
	hide := false // the outbox has text of an object that is now removed
	for _, c := range changes {
		l := line{RecordType: c.Collection, Op: c.op, Tenant: c.Tenant, ID: c.ID, Rev: c.rev(),
			File: fmt.Sprintf("%016x", c.file), Payload: c.Properties}
		k, _ := l.key()
		hide = hide || c.op != opPut && o.known[k].queued
		n := min(int(k.collection), 1)
		lines[n] = append(lines[n], l)
	}
	for i := range lines {
		if len(lines[i]) == 0 {
			continue
		}
		if err := o.box[i].append(lines[i], true); err != nil {
			return err
		}
		o.pending += len(lines[i])
		for n := range lines[i] {
			o.applyLine(&lines[i][n], true)
		}
	}
	if hide {
		return o.dropSuperseded()
	}
	return nil
}

// dropSuperseded removes the acknowledged lines from the outbox, and those of all but the
// last version of each object.
func (o *outbox) dropSuperseded() error {
	o.pending = 0
	for i, box := range o.box {
		from, to := o.done[i], box.size
		err := box.replace(func(add func(*line) error) error {
			var failed error
			err := (&lineFile{file: box.file}).read(from, to, func(l line, _ int64) bool {
				if k, _ := l.key(); o.known[k].rev == l.Rev {
					o.pending++
					failed = add(&l)
				}
				return failed == nil
			})
			return errors.Join(err, failed)
		})
		if err != nil {
			return err
		}
		o.done[i] = 0
	}
	return nil
}

// A batch is the beginning of the lines that are not acknowledged.
type batch struct {
	box     int
	end     int64
	lines   []line
	objects []Object
}

// nextBatch returns the next batch of one tenant, which is empty if all lines are
// acknowledged.
func (o *outbox) nextBatch() (b batch, err error) {
	for b.box = range o.box {
		box, size, from := o.box[b.box], int64(0), o.done[b.box]
		err = box.read(from, box.size, func(l line, end int64) bool {
			size += end - max(from, b.end)
			if n := len(b.lines); n == maxBatch || n > 0 && (size > maxBatchBytes || l.Tenant != b.lines[0].Tenant) {
				return false
			}
			b.lines, b.end = append(b.lines, l), end
			b.objects = append(b.objects, Object{Collection: l.RecordType, Tenant: l.Tenant, ID: l.ID,
				Delete: l.Op == opDelete, Properties: l.Payload})
			return true
		})
		if err != nil || len(b.lines) > 0 {
			return b, err
		}
	}
	return b, nil
}

// acknowledge records that the store has a batch, without the objects that it refused.
// These have no hash, so that they differ from every version and are tried again with
// the next comparison. When the store has all batches, the outbox is emptied.
func (o *outbox) acknowledge(b batch, refused []Refusal) error {
	for i := range b.lines {
		l := &b.lines[i]
		isRefused := slices.ContainsFunc(refused, func(r Refusal) bool { return r.ID == l.ID })
		if l.Op == opPut && !isRefused {
			l.Hash, _ = l.Payload["hash"].(string)
			l.Hash = l.Hash[:min(len(l.Hash), 16)]
		}
		l.Payload = nil
	}
	if err := o.published.append(b.lines, false); err != nil {
		return err
	}
	for i := range b.lines {
		l := &b.lines[i]
		o.lines++
		if k, _ := l.key(); o.known[k].rev == l.Rev {
			o.applyLine(l, false)
		}
	}
	o.done[b.box] = b.end
	o.pending -= len(b.lines)
	if o.done[0] < o.box[0].size || o.done[1] < o.box[1].size {
		return nil
	}
	if err := o.published.file.Sync(); err != nil {
		return err
	}
	for i := range o.box {
		if o.box[i].size == 0 {
			continue
		}
		err := o.box[i].clear()
		if o.box[i].size == 0 { // also if only syncing failed
			o.done[i] = 0
		}
		if err != nil {
			return err
		}
	}
	if o.lines > 2*len(o.known)+1000 {
		return o.compactPublished()
	}
	return nil
}

// compactPublished rewrites the record of published objects with one line for each. The
// outbox must be empty.
func (o *outbox) compactPublished() error {
	keys := slices.SortedFunc(maps.Keys(o.known), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.collection, b.collection), bytes.Compare(a.id[:], b.id[:]))
	})
	o.lines = 0
	return o.published.replace(func(add func(*line) error) error {
		for _, k := range keys {
			s := o.known[k]
			at := k.objectOf(s, nil)
			l := line{RecordType: at.Collection, Op: opPut, Tenant: at.Tenant, ID: at.ID, Rev: s.rev,
				File: fmt.Sprintf("%016x", s.file), Hash: fmt.Sprintf("%016x", s.hash)}
			if s.gone {
				l.Op, l.Hash = opGone, ""
			}
			o.lines++
			if err := add(&l); err != nil {
				return err
			}
		}
		return add(o.verifiedLine())
	})
}

// setVerified records the time of a comparison with the store; zero if one is due. One
// that must be repeated soon is recorded in memory only.
func (o *outbox) setVerified(now time.Time, unsure bool) error {
	o.verified, o.unsure, o.lines = now, unsure, o.lines+1
	return o.published.append([]line{*o.verifiedLine()}, true)
}

func (o *outbox) verifiedLine() *line {
	if o.unsure {
		return &line{Op: opVerified, Rev: time.Time{}.UnixMilli()}
	}
	return &line{Op: opVerified, Rev: o.verified.UnixMilli()}
}

// dropWaiting discards the lines that wait. The entries must be compared with the last
// versions again, and then with the store, which may have some of the lines although it
// did not acknowledge them.
func (o *outbox) dropWaiting() (*outbox, error) {
	if !o.verified.IsZero() {
		if err := o.setVerified(time.Time{}, false); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(o.box[0].clear(), o.box[1].clear(), o.close()); err != nil {
		return nil, err
	}
	fresh, _, err := openOutbox(o.dir)
	return fresh, err
}

// size returns the bytes of the lines that wait.
func (o *outbox) size() int64 { return o.box[0].size + o.box[1].size - o.done[0] - o.done[1] }
