// Package share publishes entries of this machine to a store that several
// machines use, and searches the entries that other machines published there.
//
// The files remain the only truth of a machine. The store contains copies of the
// entries that the configuration publishes, in one tenant per partition, so that
// the entries of a partition never influence the answers about another one.
package share

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Store is a database and search engine that several machines share.
// [Object.ID] is unique in a collection and tenant, and writing an object again
// replaces it, so every call can be repeated.
type Store interface {
	// Init creates the missing collections. It fails if one has another schema.
	Init(ctx context.Context) error
	// Ready returns an error if the store does not accept requests.
	Ready(ctx context.Context) error
	// Put writes a batch of objects of one tenant, tombstones first. It returns the
	// objects that the store refused by themselves, which are never tombstones. An
	// error means that nothing is known to be written.
	Put(ctx context.Context, batch []Object) ([]Refusal, error)
	// Search returns the matching objects of each collection and tenant, best
	// first, at most q.Limit each.
	Search(ctx context.Context, q Query) ([]Object, error)
	// Get returns an object, or [ErrNotFound].
	Get(ctx context.Context, collection, tenant, id string) (Object, error)
	// List returns all objects of a host, tombstones included, with the properties
	// memory_id, host, hash, rev and gone at least. An error is the last element.
	List(ctx context.Context, host string) iter.Seq2[Object, error]
}

// ErrNotFound is returned by [Store.Get] if there is no such object, collection
// or tenant.
var ErrNotFound = errors.New("not found in the store")

// An Error is a failed request to a store, with its consequences for later ones.
type Error struct {
	Err        error         // with a remedy, without text of the request
	Permanent  bool          // requests fail until the configuration or the store changes, as with a wrong key
	RetryAfter time.Duration // the store requests this pause; zero if it requests none
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// An Object is an entry in the store.
type Object struct {
	Collection string
	Tenant     string
	ID         string // UUID
	Delete     bool   // in Put: remove the object
	// Properties are those that [Collections] lists for the collection, as
	// encoding/json decodes them. A tombstone has host, rev, hash and gone only.
	Properties map[string]any
}

// Gone reports whether the object is a tombstone: its entry was removed or is no
// longer published.
func (o *Object) Gone() bool { gone, _ := o.Properties["gone"].(bool); return gone }

// A Refusal is an object that the store does not accept, and why.
type Refusal struct {
	ID     string
	Reason string // without text of the object
}

// A Query selects objects that are not tombstones.
type Query struct {
	Tenants []string
	NotHost string    // no objects of this host
	Terms   string    // analysed terms, separated by spaces; if empty, the newest objects come first
	Types   []string  // one of them
	Tags    []string  // all of them, or any with AnyTag
	AnyTag  bool      //
	Since   time.Time // of the property updated; zero for no limit
	Until   time.Time
	Limit   int // objects of a collection and tenant
}

// A Collection is the schema of a kind of objects. A store creates collections
// without a vectorizer and without stop words, with a tenant per partition, which
// it creates automatically.
type Collection struct {
	Name       string
	Properties []Property
}

// A Property is a field of the objects of a collection.
type Property struct {
	Name       string
	Type       string // text, text[], number, int, boolean or date
	Filterable bool   // conditions of a query can name it
	Searchable bool   // words separated by white space, for full-text search
}

// Collections are the collections of a store, named after the record types of the
// JSON lines.
var Collections = []Collection{
	{"MemoryItem", append([]Property{{"evidence", "text[]", false, false}}, common...)},
	{"UserProfile", append([]Property{{"evidence_ids", "text[]", false, false}, {"name", "text", true, false}},
		common...)},
	{"ProjectMemory", append([]Property{{"evidence_ids", "text[]", false, false}, {"project", "text", true, false}},
		common...)},
}

var common = []Property{
	{"memory_id", "text", true, false}, {"host", "text", true, false}, {"path", "text", true, false},
	{"line", "int", false, false}, {"section", "text[]", false, false}, {"kind", "text", true, false},
	{"type", "text", true, false}, {"content", "text", false, false}, {"title", "text", false, false},
	{"tags", "text[]", true, false}, {"task", "text", true, false}, {"importance", "number", false, false},
	{"confidence", "number", false, false}, {"source", "text", true, false}, {"session", "text", true, false},
	{"day", "text", true, false}, {"created", "date", true, false}, {"updated", "date", true, false},
	{"hash", "text", false, false}, {"rev", "number", true, false}, {"gone", "boolean", true, false},
	{"terms", "text", false, true}, {"title_terms", "text", false, true}, {"analysis", "int", true, false},
}
