package client

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
)

// Visibility determines in which contexts an item may be shown. It is a word, so
// that a number from another program cannot be mistaken for one. Every value
// other than PublicOK, such as the zero value, means PrivateOnly.
type Visibility string

// The visibilities.
const (
	PrivateOnly Visibility = "private_only"
	PublicOK    Visibility = "public_ok"
)

// String returns the name of the visibility on the wire.
func (v Visibility) String() string {
	if v == PublicOK {
		return string(v)
	}
	return string(PrivateOnly)
}

// RequestContext is the context in which the answer will be shown. Every value
// other than ContextPublic and ContextPrivate, such as the zero value, means
// ContextUnknown, which is treated as public.
type RequestContext string

// The contexts.
const (
	ContextUnknown RequestContext = "unknown"
	ContextPublic  RequestContext = "public"
	ContextPrivate RequestContext = "private"
)

// String returns the name of the context on the wire.
func (c RequestContext) String() string {
	if c == ContextPublic || c == ContextPrivate {
		return string(c)
	}
	return string(ContextUnknown)
}

// A StoredItem is an [api.Item] for programs that store facts about subjects by
// key and do not use files.
type StoredItem struct {
	SubjectID  string
	Namespace  string // profile, preference, fact, project or task_state
	Key        string
	Value      string // JSON, or plain text
	Visibility Visibility
	Confidence *float64 // 0 to 1
	Source     *string
	CreatedAt  int64 // unix seconds, 0 if the item has no time
	UpdatedAt  int64
}

// ReadOptions are the options of Get and List.
type ReadOptions struct {
	Context RequestContext
	Limit   int    // of List; all items if zero
	Prefix  string // of the keys, for List
}

// PutOptions are the attributes of an item besides its value.
type PutOptions struct {
	Visibility Visibility
	Confidence *float64 // 0 to 1
	Source     *string  // such as the id of a message
}

// A Store stores items of subjects by namespace and key. It is a thin layer on
// the item operations of a daemon. The zero Store uses the daemon on the
// default socket. It is safe for concurrent use.
//
// An empty subject and disabled memory are not errors: reads return nothing and
// writes have no effect, so programs need no check. All other errors are those
// of [Call]. Writes use a private context, so the daemon's listener must
// allow that context.
type Store struct {
	Client *Client // the zero Client if nil
}

func scopeOf(subjectID string, c RequestContext) api.Scope {
	return api.Scope{Subject: &subjectID, Context: new(c.String())}
}

// Get returns the item of a key and reports whether it exists and may be shown.
// A missing item is not an error.
func (s *Store) Get(ctx context.Context, subjectID, namespace, key string, opt ReadOptions) (StoredItem, bool, error) {
	if subjectID == "" {
		return StoredItem{}, false, nil
	}
	answer, err := Call(ctx, s.Client, api.ItemGetRequest{Namespace: namespace, Key: key,
		Scope: scopeOf(subjectID, opt.Context)})
	if err != nil {
		return StoredItem{}, false, unlessMissing(err)
	}
	return convertItem(answer.Item), true, nil
}

// List returns the items of a namespace, or of all namespaces if it is empty,
// that may be shown, sorted by namespace and key. On failure it returns no
// items.
func (s *Store) List(ctx context.Context, subjectID, namespace string, opt ReadOptions) ([]StoredItem, error) {
	const page = 1000
	if subjectID == "" {
		return nil, nil
	}
	var items []StoredItem
	r := api.ItemListRequest{Namespace: namespace, Prefix: opt.Prefix, Limit: page,
		Scope: scopeOf(subjectID, opt.Context)}
	for {
		if opt.Limit > 0 {
			r.Limit = min(page, opt.Limit-len(items))
		}
		answer, err := Call(ctx, s.Client, r)
		if err != nil {
			return nil, err
		}
		for _, i := range answer.Items {
			items = append(items, convertItem(i))
		}
		r.Cursor = answer.Next
		if r.Cursor == "" || len(items) == opt.Limit {
			return items, nil
		}
	}
}

// Put stores an item in place of any item of the same key. It returns the
// stored item, or the zero StoredItem if nothing was stored. The value is text
// in UTF-8.
func (s *Store) Put(ctx context.Context, subjectID, namespace, key, value string, opt PutOptions) (StoredItem, error) {
	if subjectID == "" {
		return StoredItem{}, nil
	}
	if !utf8.ValidString(value) { // JSON cannot hold it, and an encoder would replace the bytes
		return StoredItem{}, api.Errorf(api.Invalid, "value: text is not valid UTF-8")
	}
	r := api.ItemPutRequest{
		Namespace: namespace, Key: key, Value: &value, Visibility: opt.Visibility.String(), Confidence: opt.Confidence,
		Scope: scopeOf(subjectID, ContextPrivate),
	}
	if opt.Source != nil {
		r.Source = *opt.Source
	}
	answer, err := Call(ctx, s.Client, r)
	if err != nil {
		return StoredItem{}, err
	}
	return convertItem(answer.Item), nil
}

// Delete deletes the item of a key. A missing item is not an error.
func (s *Store) Delete(ctx context.Context, subjectID, namespace, key string) error {
	if subjectID == "" {
		return nil
	}
	_, err := Call(ctx, s.Client, api.ItemDeleteRequest{Namespace: namespace, Key: key,
		Scope: scopeOf(subjectID, ContextPrivate)})
	return unlessMissing(err)
}

// DeleteNamespace deletes all items of a namespace. An empty namespace is not
// an error.
func (s *Store) DeleteNamespace(ctx context.Context, subjectID, namespace string) error {
	if subjectID == "" {
		return nil
	}
	_, err := Call(ctx, s.Client, api.ItemDeleteRequest{Namespace: namespace, All: true,
		Scope: scopeOf(subjectID, ContextPrivate)})
	return unlessMissing(err)
}

// WipeSubject deletes all memory of a subject and of the keys linked to it,
// except sessions. It needs a listener without a fixed scope. If some files
// could not be deleted, it returns an *[api.Error] with the code
// [api.Unavailable]; the call can be repeated.
func (s *Store) WipeSubject(ctx context.Context, subjectID string) error {
	if subjectID == "" {
		return nil
	}
	answer, err := Call(ctx, s.Client, api.WipeRequest{Confirm: subjectID, Scope: scopeOf(subjectID, ContextPrivate)})
	if err != nil {
		return err
	}
	if len(answer.Failed) > 0 {
		return api.Errorf(api.Unavailable, "cannot delete %d files of %s", len(answer.Failed), subjectID).
			WithHint("%s", answer.Failed[0])
	}
	return nil
}

// An Identity is the subject of an external key.
type Identity struct {
	// the key belongs to a subject and memory is on; otherwise reads return nothing and writes have no effect
	Enabled     bool
	ExternalKey string   // such as telegram:123
	SubjectID   string   // such as acct:42, or ext:telegram:123 for a key without a link
	Aliases     []string // subjects whose memory is read with that of SubjectID
}

// A Resolver resolves external keys to subjects. The zero Resolver uses the
// daemon on the default socket. It is safe for concurrent use.
type Resolver struct {
	Client *Client // the zero Client if nil
}

// Resolve returns the identity of an external key, or the zero Identity for an
// empty key and on failure. The errors are those of [Client].
func (r *Resolver) Resolve(ctx context.Context, externalKey string) (Identity, error) {
	if externalKey == "" {
		return Identity{}, nil
	}
	answer, err := Call(ctx, r.Client, api.ResolveRequest{ExternalKey: externalKey})
	if err != nil {
		return Identity{}, err
	}
	return Identity{answer.Enabled, answer.ExternalKey, answer.Subject, answer.Aliases}, nil
}

func convertItem(i *api.Item) StoredItem {
	if i == nil {
		return StoredItem{}
	}
	item := StoredItem{
		SubjectID: i.Subject, Namespace: i.Namespace, Key: i.Key, Value: i.Value,
		Visibility: Visibility(i.Visibility),
		Confidence: i.Confidence, CreatedAt: unixSeconds(i.Created), UpdatedAt: unixSeconds(i.Updated),
	}
	if i.Source != "" {
		item.Source = &i.Source
	}
	return item
}

func unixSeconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// unlessMissing returns err, or nil if err has the code [api.NotFound].
func unlessMissing(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.NotFound {
		return nil
	}
	return err
}
