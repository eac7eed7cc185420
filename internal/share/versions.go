package share

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unique"
)

// An operation of a change.
const (
	opPut    = "put"
	opGone   = "gone"   // the object becomes a tombstone
	opDelete = "delete" // the tombstone is removed
)

// A key identifies an object of this machine.
type key struct {
	collection uint8 // index in Collections
	id         string
}

func keyOf(o *Object) key {
	i := slices.IndexFunc(Collections, func(c Collection) bool { return c.Name == o.Collection })
	return key{uint8(i), o.ID}
}

// A version is the last one of an object that the store listed, or that was sent since.
type version struct {
	tenant unique.Handle[string]
	file   uint64 // hash of the path; 0 for a tombstone
	hash   uint64 // of the properties; 0 if the store may have another version
	rev    int64  // milliseconds since 1970 times 1000, or the number after that of the last version
	gone   bool
}

// versions contains the last version of each object of this machine. The store lists them
// at the start. Before an object is sent, its version has no hash, since the store may
// write it without an answer.
type versions struct {
	known  map[key]version
	live   int       // objects in the store
	listed time.Time // by the store; zero for never
	again  bool      // the list must be repeated soon
}

func (v *versions) set(k key, s version) {
	if v.known[k].hash != 0 {
		v.live--
	}
	if s.hash != 0 {
		v.live++
	}
	v.known[k] = s
}

func (v *versions) remove(k key) {
	v.set(k, version{})
	delete(v.known, k)
}

// versionOf returns the version of an object of a file.
func versionOf(o *Object, file uint64) version {
	return version{tenant: unique.Make(o.Tenant), file: file, hash: parseHash(o.text("hash")), rev: o.rev(), gone: o.Gone()}
}

// parseHash returns the first 64 bits of a hash in hexadecimal digits, or 0.
func parseHash(s string) uint64 {
	b, err := hex.DecodeString(s[:min(len(s), 16)])
	if err != nil || len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

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
func changesOf(known map[key]version, files map[uint64]bool, objects []change, host string, now time.Time) []change {
	var out []change
	wanted := make(map[key]bool, len(objects))
	revOf := func(s version) int64 { return max(now.UnixMilli()*1000, s.rev+1) }
	for _, c := range objects {
		k := keyOf(&c.Object)
		s, ok := known[k]
		if ok && !s.gone && s.hash == parseHash(c.text("hash")) || wanted[k] {
			wanted[k] = true
			continue
		}
		wanted[k] = true
		c.op, c.Properties["rev"] = opPut, revOf(s)
		out = append(out, c)
	}
	for k, s := range known {
		if files[s.file] && !s.gone && !wanted[k] {
			o := k.objectOf(s, map[string]any{"host": host, "rev": revOf(s), "gone": true})
			out = append(out, change{Object: o, op: opGone, file: s.file})
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

func (k key) objectOf(s version, properties map[string]any) Object {
	return Object{Collection: Collections[k.collection].Name, Tenant: s.tenant.Value(), ID: k.id,
		Properties: properties}
}

// A Comparison counts the differences between the store and the last known versions.
type Comparison struct {
	Objects int // of this machine in the store
	Missing int // published entries that the store lacks or has in another version
	Extra   int // entries in the store that are not published
}

// list replaces the known versions by those that the store lists, and marks every file as
// changed. Objects that the store does not list may still be there: after a server of the
// cluster failed, a list can lack objects for some time. So the first list, and one that
// differs from the known versions, is repeated after an hour.
func (p *Publisher) list(ctx context.Context) (c Comparison, err error) {
	next := versions{known: make(map[key]version), listed: p.Now()}
	for o, err := range p.Store.List(ctx, p.Rules.Host) {
		if err != nil {
			p.Breaker.Record(p.Now(), err)
			return c, err
		}
		path := o.text("memory_id")
		path = path[:max(strings.LastIndexByte(path, '#'), 0)]
		k, s := keyOf(&o), versionOf(&o, fileHash(path))
		before, known := p.sent.known[k]
		s.rev = max(s.rev, before.rev)
		next.set(k, s)
		if !s.gone {
			c.Objects++
			if !known || before.gone {
				c.Extra++
			}
		}
	}
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	for k, s := range p.sent.known {
		there, ok := next.known[k]
		if !s.gone && s.hash != 0 && there.hash != s.hash {
			c.Missing++
		}
		if !ok && !s.gone {
			s.hash = 0
			next.set(k, s)
		}
	}
	first := p.sent.listed.IsZero()
	next.again = c.Missing+c.Extra > 0 || first && len(p.Rules.Publish) > 0
	if !first && c.Missing+c.Extra > 0 {
		p.Logger.Info("the shared store differs from the published entries and is repaired", "missing", c.Missing,
			"extra", c.Extra)
	}
	p.sent = next
	p.Changed("")
	return c, nil
}

// expireTombstones removes old tombstones from the store.
func (p *Publisher) expireTombstones(ctx context.Context) error {
	var changes []change
	before := p.Now().Add(-p.Tombstones)
	for k, s := range p.sent.known {
		if s.gone && time.UnixMilli(s.rev/1000).Before(before) {
			o := k.objectOf(s, map[string]any{"rev": s.rev + 1})
			o.Delete = true
			changes = append(changes, change{Object: o, op: opDelete, file: s.file})
		}
	}
	sortChanges(changes)
	return p.send(ctx, changes)
}
