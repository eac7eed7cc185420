package compactor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

func TestDutyOf(t *testing.T) {
	now := time.Date(2026, 3, 15, 1, 0, 0, 0, time.FixedZone("", 2*60*60)) // still the 14th in UTC
	for _, test := range []struct {
		name, configured, claim string
		want                    Duty
	}{
		{"nobody was first", "", "", Duty{Active: true, Host: "desk", Claim: true}},
		{"we were", "", "desk 2026-03-14", Duty{Active: true, Host: "desk"}},
		{"we were, a week ago", "", "desk 2026-03-07", Duty{Active: true, Host: "desk"}},
		{"we were, more than a week ago", "", "desk 2026-03-06", Duty{Active: true, Host: "desk", Claim: true}},
		{"another one was", "", "laptop 2026-03-01", Duty{Host: "laptop"}},
		{"another one was, 30 days ago", "", "laptop 2026-02-12", Duty{Host: "laptop"}},
		{"another one was, and is gone", "", "laptop 2026-02-11", Duty{Active: true, Host: "desk", Claim: true}},
		{"another one's clock is a bit ahead", "", "laptop 2026-04-13", Duty{Host: "laptop"}},
		{"another one's clock is wrong", "", "laptop 2026-04-14", Duty{Active: true, Host: "desk", Claim: true}},
		{"our clock was wrong", "", "desk 2036-01-01", Duty{Active: true, Host: "desk", Claim: true}},
		{"we are named", "Desk.example.org", "laptop 2026-03-14", Duty{Active: true, Host: "desk", Claim: true}},
		{"we are named, and they know", "desk", "desk 2026-03-10", Duty{Active: true, Host: "desk"}},
		{"another one is named", "laptop", "desk 2026-03-14", Duty{Host: "laptop"}},
		{"another one is named, and gone", "laptop", "laptop 2020-01-01", Duty{Host: "laptop"}},
	} {
		host, renewed, _ := strings.Cut(test.claim, " ")
		got := DutyOf(test.configured, "desk.local", Claim{host, renewed}, now)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestClaimFile(t *testing.T) {
	c := Claim{"laptop", "2026-03-14"}
	if diff := cmp.Diff(c, ParseClaim(c.Source())); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	doc := (&memory.Layout{}).Parse(ClaimPath, c.Source(), memory.Meta{})
	if len(doc.Entries) > 0 || len(doc.Problems) > 0 || doc.Unsound || doc.Excerpt() != nil || doc.Partition.Visibility != memory.PrivateOnly {
		t.Errorf("it is memory: %+v", doc)
	}
	if reason := (&memory.Layout{}).Skip(ClaimPath); reason != "" {
		t.Errorf("it is not read, and so never written: %s", reason)
	}
	crlf := strings.ReplaceAll(string(c.Source()), "\n", "\r\n")
	if diff := cmp.Diff(c, ParseClaim([]byte(crlf))); diff != "" {
		t.Errorf("with CR LF (-want +got):\n%s", diff)
	}
	for name, src := range map[string]string{
		"nothing":    "",
		"no day":     "- host: laptop\n",
		"no host":    "- renewed: 2026-03-14\n",
		"a bad day":  "- host: laptop\n- renewed: soon\n",
		"a bad host": "- host: Lap Top\n- renewed: 2026-03-14\n",
		"merged":     "<<<<<<<\n- host: laptop\n=======\n- host: desk\n>>>>>>>\n- renewed: 2026-03-14\n",
	} {
		if got := ParseClaim([]byte(src)); got != (Claim{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestHostName(t *testing.T) {
	for name, want := range map[string]string{
		"": "local", "laptop": "laptop", "Laptop.fritz.box": "laptop", "my-laptop-2": "my_laptop_2", " box\n": "box",
		"..": "local", "测试": "local", "täst": "t_st", "a/../b": "a_", "sync-conflict-20260101": "sync_conflict_20260101",
		strings.Repeat("x", 100): strings.Repeat("x", 63),
	} {
		got := HostName(name)
		if got != want || HostName(got) != got {
			t.Errorf("%q: %q, then %q, not %q", name, got, HostName(got), want)
		}
		path := "_longterms/owner/_archive/2026-02." + got + "-2.md"
		if reason := (&memory.Layout{}).Skip(path); reason != "" {
			t.Errorf("%s: %s", path, reason)
		}
	}
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
	if len(tr.writes) != 1 || tr.writes[0].Path != ClaimPath || tr.writes[0].Requested {
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
		tr.files[ClaimPath] = string(Claim{"laptop", "2026-04-14"}.Source())
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
	tr := treeOf(t, "olddays", "days")
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
