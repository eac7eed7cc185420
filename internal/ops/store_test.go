package ops

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

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
	d := readOpsCase(t, txtar.Parse([]byte(archive))).disk(t)
	return &client.Store{Client: &client.Client{Socket: serveOps(t, d.memory)}}
}

func TestStore(t *testing.T) {
	ctx, s := t.Context(), storeOn(t, "now: 2026-02-05T12:00:00Z\n")
	const now = 1770292800
	const who = "ext:telegram:1"
	item := client.StoredItem{
		SubjectID: who, Namespace: "profile", Key: "timezone", Value: "Asia/Shanghai", Visibility: client.PrivateOnly,
		Confidence: new(0.9), Source: new("msg:42"), CreatedAt: now, UpdatedAt: now,
	}
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
	keys := func(namespace string, opt client.ReadOptions) (keys []string) {
		t.Helper()
		items, err := s.List(ctx, who, namespace, opt)
		checkError(t, err)
		for _, i := range items {
			keys = append(keys, i.Key+"="+i.Value)
		}
		return keys
	}
	same("what is put", put("profile", "timezone", "Asia/Shanghai", client.PutOptions{Confidence: new(0.9), Source: new("msg:42")}), item)
	got, ok, err := s.Get(ctx, who, "profile", "timezone", client.ReadOptions{Context: client.ContextPrivate})
	same("what is got", []any{got, ok, err}, []any{item, true, error(nil)})
	for _, c := range []client.RequestContext{client.ContextPublic, client.ContextUnknown} {
		got, ok, err = s.Get(ctx, who, "profile", "timezone", client.ReadOptions{Context: c})
		same("in "+c.String(), []any{got, ok, err}, []any{client.StoredItem{}, false, error(nil)})
	}
	got, ok, err = s.Get(ctx, "ext:telegram:2", "profile", "timezone", client.ReadOptions{Context: client.ContextPrivate})
	same("somebody else's", []any{got, ok, err}, []any{client.StoredItem{}, false, error(nil)})

	put("profile", "timezone", "Europe/Berlin", client.PutOptions{})
	put("preference", "style", `{"brevity":"concise","lang":"zh"}`, client.PutOptions{Visibility: client.PublicOK})
	put("preference", "stove", "gas", client.PutOptions{})
	put("preference", "tea", "green", client.PutOptions{})
	private := client.ReadOptions{Context: client.ContextPrivate}
	same("all", keys("", private), []string{"timezone=Europe/Berlin", "stove=gas", `style={"brevity":"concise","lang":"zh"}`, "tea=green"})
	same("in public", keys("", client.ReadOptions{}), []string{`style={"brevity":"concise","lang":"zh"}`})
	same("with a prefix", keys("preference", client.ReadOptions{Context: client.ContextPrivate, Prefix: "st"}), []string{"stove=gas", `style={"brevity":"concise","lang":"zh"}`})
	same("two", keys("", client.ReadOptions{Context: client.ContextPrivate, Limit: 2}), []string{"timezone=Europe/Berlin", "stove=gas"})

	for range 2 { // deleting a deleted item succeeds
		if err := s.Delete(ctx, who, "preference", "stove"); err != nil {
			t.Error(err)
		}
	}
	same("deleted", keys("preference", private), []string{`style={"brevity":"concise","lang":"zh"}`, "tea=green"})
	for range 2 {
		if err := s.DeleteNamespace(ctx, who, "preference"); err != nil {
			t.Error(err)
		}
	}
	same("deleted", keys("", private), []string{"timezone=Europe/Berlin"})

	_, err = s.Put(ctx, who, "profil", "a", "b", client.PutOptions{})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Invalid {
		t.Errorf("a namespace that there is not: %v", err)
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
	for limit, want := range map[int]int{0: all, 1000: 1000, 1050: 1050, 2000: all} {
		items, err := s.List(t.Context(), "acct:42", "fact", client.ReadOptions{Context: client.ContextPrivate, Limit: limit})
		if err != nil || len(items) != want || items[want-1].Key != fmt.Sprintf("k%04d", want-1) {
			t.Errorf("limit %d: %d items, %v", limit, len(items), err)
		}
	}
	if err := s.WipeSubject(t.Context(), "acct:42"); err != nil {
		t.Error(err)
	}
	if items, err := s.List(t.Context(), "acct:42", "", client.ReadOptions{Context: client.ContextPrivate}); len(items) > 0 || err != nil {
		t.Errorf("wiped: %d items, %v", len(items), err)
	}
}

// TestStoreOfNobody checks that an anonymous store has no items and stores
// none, without calling the daemon.
func TestStoreOfNobody(t *testing.T) {
	noop(t, &client.Store{Client: &client.Client{Socket: filepath.Join(t.TempDir(), "none")}}, "")
	if _, _, err := new(client.Store{Client: &client.Client{Socket: filepath.Join(t.TempDir(), "none")}}).Get(t.Context(), "a", "fact", "b", client.ReadOptions{}); !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("somebody, without a daemon: %v", err)
	}
}

func noop(t *testing.T, s *client.Store, subject string) {
	t.Helper()
	ctx := t.Context()
	item, ok, err := s.Get(ctx, subject, "fact", "a", client.ReadOptions{Context: client.ContextPrivate})
	if ok || err != nil || item != (client.StoredItem{}) {
		t.Errorf("get: %+v, %t, %v", item, ok, err)
	}
	if items, err := s.List(ctx, subject, "", client.ReadOptions{Context: client.ContextPrivate}); len(items) > 0 || err != nil {
		t.Errorf("list: %+v, %v", items, err)
	}
	if item, err := s.Put(ctx, subject, "fact", "a", "c", client.PutOptions{Visibility: client.PublicOK}); err != nil || item != (client.StoredItem{}) {
		t.Errorf("put: %+v, %v", item, err)
	}
	if err := errors.Join(s.Delete(ctx, subject, "fact", "a"), s.DeleteNamespace(ctx, subject, "fact"), s.WipeSubject(ctx, subject)); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func TestResolver(t *testing.T) {
	const links = "-- _longterms/_identities.yaml --\nlinks:\n  slack:T1:U7: acct:42\n  telegram:1: acct:42\n"
	on, off := storeOn(t, links).Client, storeOn(t, "enabled: false\n"+links).Client
	for _, c := range []struct {
		client *client.Client
		key    string
		want   client.Identity
	}{
		{on, "telegram:1", client.Identity{Enabled: true, ExternalKey: "telegram:1", SubjectID: "acct:42", Aliases: []string{"ext:slack:T1:U7", "ext:telegram:1"}}},
		{on, "telegram:2", client.Identity{Enabled: true, ExternalKey: "telegram:2", SubjectID: "ext:telegram:2", Aliases: []string{}}},
		{off, "telegram:2", client.Identity{Enabled: false, ExternalKey: "telegram:2", SubjectID: "ext:telegram:2", Aliases: []string{}}},
		{&client.Client{Socket: filepath.Join(t.TempDir(), "none")}, "", client.Identity{}},
	} {
		got, err := (&client.Resolver{Client: c.client}).Resolve(t.Context(), c.key)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", c.key, err, diff)
		}
	}
	_, err := (&client.Resolver{Client: on}).Resolve(t.Context(), "telegram")
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Invalid {
		t.Errorf("a key that is none: %v", err)
	}
}
