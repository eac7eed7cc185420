package ops

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// MemoryStore is the interface that programs expect of a store.
type MemoryStore interface {
	Get(ctx context.Context, subjectID, namespace, key string, opt client.ReadOptions) (client.StoredItem, bool, error)
	List(ctx context.Context, subjectID, namespace string, opt client.ReadOptions) ([]client.StoredItem, error)
	Put(ctx context.Context, subjectID, namespace, key, value string, opt client.PutOptions) (client.StoredItem, error)
	Delete(ctx context.Context, subjectID, namespace, key string) error
	DeleteNamespace(ctx context.Context, subjectID, namespace string) error
	WipeSubject(ctx context.Context, subjectID string) error
}

// An IdentityResolver resolves the subject of items for such programs.
type IdentityResolver interface {
	Resolve(ctx context.Context, externalKey string) (client.Identity, error)
}

var (
	_ MemoryStore      = (*client.Store)(nil)
	_ IdentityResolver = (*client.Resolver)(nil)
)

// storeOn returns a store on a memory with the files of an archive.
func storeOn(t *testing.T, archive string) *client.Store {
	t.Helper()
	d := openArchive(t, archive)
	return &client.Store{Client: &client.Client{Socket: serveOps(t, d.memory)}}
}

func TestStore(t *testing.T) {
	const who, now = "ext:telegram:1", 1770292800
	ctx, s := t.Context(), storeOn(t, "now: 2026-02-05T12:00:00Z\n")
	private := client.ReadOptions{Context: client.ContextPrivate}
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	put := func(namespace, key, value string, opt client.PutOptions) client.StoredItem {
		t.Helper()
		got, err := s.Put(ctx, who, namespace, key, value, opt)
		checkError(t, err)
		return got
	}
	keys := func(what, namespace string, opt client.ReadOptions, want ...string) {
		t.Helper()
		items, err := s.List(ctx, who, namespace, opt)
		checkError(t, err)
		same(what, convertEach(items, func(i client.StoredItem) string { return i.Key + "=" + i.Value }), want)
	}
	item := client.StoredItem{SubjectID: who, Namespace: "profile", Key: "timezone", Value: "Asia/Shanghai", Visibility: client.PrivateOnly,
		Confidence: new(0.9), Source: new("msg:42"), CreatedAt: now, UpdatedAt: now}
	same("put", put("profile", "timezone", "Asia/Shanghai", client.PutOptions{Confidence: new(0.9), Source: new("msg:42")}), item)
	for _, c := range []struct {
		subject string
		context client.RequestContext
		want    client.StoredItem
	}{{who, client.ContextPrivate, item}, {who, client.ContextPublic, client.StoredItem{}}, {who, client.ContextUnknown, client.StoredItem{}},
		{"ext:telegram:2", client.ContextPrivate, client.StoredItem{}}} {
		got, ok, err := s.Get(ctx, c.subject, "profile", "timezone", client.ReadOptions{Context: c.context})
		same("get of "+c.subject, []any{got, ok, err}, []any{c.want, c.want != client.StoredItem{}, error(nil)})
	}
	const style = `style={"brevity":"concise","lang":"zh"}`
	put("profile", "timezone", "Europe/Berlin", client.PutOptions{})
	put("preference", "style", strings.TrimPrefix(style, "style="), client.PutOptions{Visibility: client.PublicOK})
	put("preference", "stove", "gas", client.PutOptions{})
	put("preference", "tea", "green", client.PutOptions{})
	keys("all", "", private, "timezone=Europe/Berlin", "stove=gas", style, "tea=green")
	keys("in public", "", client.ReadOptions{}, style)
	keys("with a prefix", "preference", client.ReadOptions{Context: client.ContextPrivate, Prefix: "st"}, "stove=gas", style)
	keys("two", "", client.ReadOptions{Context: client.ContextPrivate, Limit: 2}, "timezone=Europe/Berlin", "stove=gas")
	for range 2 { // deleting a deleted item succeeds
		checkError(t, s.Delete(ctx, who, "preference", "stove"))
	}
	keys("one deleted", "preference", private, style, "tea=green")
	for range 2 {
		checkError(t, s.DeleteNamespace(ctx, who, "preference"))
	}
	keys("a namespace deleted", "", private, "timezone=Europe/Berlin")
	_, err := s.Put(ctx, who, "profil", "a", "b", client.PutOptions{})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Invalid {
		t.Errorf("an unknown namespace: %v", err)
	}
}

// TestStoreOfMany checks that lists longer than one page of the daemon are
// complete, and that a wipe deletes all items.
func TestStoreOfMany(t *testing.T) {
	const all = 1100
	var b strings.Builder
	for i := range all {
		fmt.Fprintf(&b, "- **k%04d**: v\n", i)
	}
	s := storeOn(t, "-- _longterms/acct_42/fact.md --\n---\nsubject_id: acct:42\n---\n"+b.String())
	check := func(limit, want int) {
		t.Helper()
		items, err := s.List(t.Context(), "acct:42", "fact", client.ReadOptions{Context: client.ContextPrivate, Limit: limit})
		if err != nil || len(items) != want || want > 0 && items[want-1].Key != fmt.Sprintf("k%04d", want-1) {
			t.Errorf("limit %d: %d items, %v", limit, len(items), err)
		}
	}
	for limit, want := range map[int]int{0: all, 1000: 1000, 1050: 1050, 2000: all} {
		check(limit, want)
	}
	checkError(t, s.WipeSubject(t.Context(), "acct:42"))
	check(0, 0)
}

// TestStoreOfNobody checks that an anonymous store has no items and stores
// none, without calling the daemon.
func TestStoreOfNobody(t *testing.T) {
	ctx, s := t.Context(), &client.Store{Client: &client.Client{Socket: filepath.Join(t.TempDir(), "none")}}
	private := client.ReadOptions{Context: client.ContextPrivate}
	item, ok, err := s.Get(ctx, "", "fact", "a", private)
	items, failed := s.List(ctx, "", "", private)
	stored, refused := s.Put(ctx, "", "fact", "a", "c", client.PutOptions{Visibility: client.PublicOK})
	err = errors.Join(err, failed, refused, s.Delete(ctx, "", "fact", "a"), s.DeleteNamespace(ctx, "", "fact"), s.WipeSubject(ctx, ""))
	if none := (client.StoredItem{}); err != nil || ok || item != none || stored != none || len(items) > 0 {
		t.Errorf("%+v, %+v, %+v, %v", item, items, stored, err)
	}
	if _, _, err := s.Get(ctx, "a", "fact", "b", client.ReadOptions{}); !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("a subject, without a daemon: %v", err)
	}
}

func TestResolver(t *testing.T) {
	const links = "-- _longterms/_identities.yaml --\nlinks:\n  slack:T1:U7: acct:42\n  telegram:1: acct:42\n"
	on, off := storeOn(t, links).Client, storeOn(t, "enabled: false\n"+links).Client
	none := &client.Client{Socket: filepath.Join(t.TempDir(), "none")}
	for want, c := range map[*client.Identity]*client.Client{
		{Enabled: true, ExternalKey: "telegram:1", SubjectID: "acct:42", Aliases: []string{"ext:slack:T1:U7", "ext:telegram:1"}}: on,
		{Enabled: true, ExternalKey: "telegram:2", SubjectID: "ext:telegram:2", Aliases: []string{}}:                             on,
		{Enabled: false, ExternalKey: "telegram:2", SubjectID: "ext:telegram:2", Aliases: []string{}}:                            off,
		{}: none,
	} {
		got, err := (&client.Resolver{Client: c}).Resolve(t.Context(), want.ExternalKey)
		if diff := cmp.Diff(*want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", want.ExternalKey, err, diff)
		}
	}
	_, err := (&client.Resolver{Client: on}).Resolve(t.Context(), "telegram")
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Invalid {
		t.Errorf("an invalid key: %v", err)
	}
}
