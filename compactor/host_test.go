package compactor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

func TestDutyOf(t *testing.T) {
	now := time.Date(2026, 3, 15, 1, 0, 0, 0, time.FixedZone("", 2*60*60)) // still the 14th in UTC
	golden.Table(t, "duties", func(_ *testing.T, in []string) string {
		host, renewed, _ := strings.Cut(in[2], " ")
		h := &Host{Name: "desk.local", Configured: in[1], Now: func() time.Time { return now }}
		return fmt.Sprintf("%+v", h.dutyFor(Claim{host, renewed}.source()))
	})
}

func TestClaimFile(t *testing.T) {
	c := Claim{"laptop", "2026-03-14"}
	if diff := cmp.Diff(c, parseClaim(c.source())); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	doc := (&memory.Layout{}).Parse(claimPath, c.source(), memory.Meta{})
	if len(doc.Entries) > 0 || len(doc.Problems) > 0 || doc.Unsound || doc.Partition.Visibility != memory.PrivateOnly {
		t.Errorf("it is memory: %+v", doc)
	}
	if reason := (&memory.Layout{}).Skip(claimPath); reason != "" {
		t.Errorf("it is not read, and so never written: %s", reason)
	}
	golden.Table(t, "claims", func(_ *testing.T, in []string) string { return fmt.Sprintf("%+v", parseClaim([]byte(in[0]))) })
}

func TestHostName(t *testing.T) {
	golden.Table(t, "hosts", func(t *testing.T, in []string) string {
		name := HostName(in[0])
		path := "_longterms/owner/_archive/2026-02." + name + "-2.md"
		if reason := new(memory.Layout).Skip(path); reason != "" || HostName(name) != name {
			t.Errorf("%s: %s, then %s", path, reason, HostName(name))
		}
		return name
	})
}

// brokenDisk fails to read.
type brokenDisk struct{ err error }

func (d brokenDisk) Read(string) (vault.File, error) { return vault.File{}, d.err }

func TestHostClaims(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	tr := newTree(nil)
	machine := func(name string) *Host {
		return &Host{Name: name, Disk: tr, Writer: tr, Now: func() time.Time { return now }}
	}
	passive := func(err error) string {
		if e, ok := errors.AsType[*PassiveError](err); ok {
			return e.Host
		}
		return fmt.Sprint(err)
	}
	desk, laptop := machine("desk"), machine("laptop")
	if d, err := desk.Duty(); err != nil || !d.Active || len(tr.files) > 0 {
		t.Fatalf("before anybody has anything to do: %+v, %v; %s", d, err, tr)
	}
	for range 3 {
		if err := desk.Claim(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	if len(tr.writes) != 1 || tr.writes[0].Path != claimPath || tr.writes[0].Requested {
		t.Errorf("changes: %+v", tr.writes)
	}
	if got := passive(laptop.Claim(t.Context(), true)); got != "desk" {
		t.Errorf("the other one: %s", got)
	}
	now = now.AddDate(0, 0, 31)
	if err := laptop.Claim(t.Context(), true); err != nil {
		t.Errorf("when the first is gone: %v", err)
	}
	if got := passive(desk.Claim(t.Context(), false)); got != "laptop" {
		t.Errorf("when it comes back: %s", got)
	}

	tr.files, tr.writes = map[string]string{}, nil
	tr.before = func(vault.Change) error {
		tr.files[claimPath] = string(Claim{"laptop", "2026-04-14"}.source())
		return nil
	}
	if got := passive(desk.Claim(t.Context(), false)); got != "laptop" || len(tr.writes) > 0 {
		t.Errorf("when another one is quicker: %s, %+v", got, tr.writes)
	}
	desk.Disk = brokenDisk{vault.ErrRoot}
	if err := desk.Claim(t.Context(), false); !errors.Is(err, vault.ErrRoot) {
		t.Errorf("when it cannot be known: %v", err)
	}
}

// TestRunsClaim checks that a run with changes calls Claim first and that a run
// without changes does not call it.
func TestRunsClaim(t *testing.T) {
	passive := &PassiveError{"laptop"}
	asked := 0
	claim := func(context.Context, bool) error { asked++; return passive }
	tr := treeOf(t, "compress", "days")
	c := newCompress(tr)
	c.Claim = claim
	if r, err := c.Run(t.Context(), 0, false); err != passive || len(r.Plan.Files) == 0 {
		t.Errorf("compress: %+v, %v", r, err)
	}
	if len(tr.writes) > 0 || asked != 1 {
		t.Errorf("%d writes, asked %d times", len(tr.writes), asked)
	}
	tr.files = map[string]string{"2026-02-04/new.md": "- new\n"}
	if _, err := c.Run(t.Context(), 0, false); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}
