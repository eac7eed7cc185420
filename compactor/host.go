package compactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Several machines may share a memory, through a tool that copies what changes.
// If two of them tidied up at the same time, that tool would find that both have
// changed the same files. So one of them does, and the others leave it to that
// one: the machine that is named to them, or else the one that was first to have
// something to do.

// ClaimPath is the file in which the machine that tidies up says so to the
// others. It is made when there is something to tidy up for the first time.
// What stands in it is not memory: it has no entries.
const ClaimPath = "_longterms/_host.md"

// A Claim is what that file says. The zero value is no claim.
type Claim struct {
	Host    string // as [HostName] makes it
	Renewed string // the day when it last said so, YYYY-MM-DD in UTC
}

const (
	// renewAfter is how many days a claim is left as it is: a file that changes
	// every day is a nuisance to whoever looks at what changes.
	renewAfter = 7
	// staleAfter is after how many days another machine may take over. It is
	// longer than most holidays.
	staleAfter = 30
)

const (
	claimHost    = "- host: "
	claimRenewed = "- renewed: "
)

// Source is the file that says so, to people and to other machines.
func (c Claim) Source() []byte {
	return fmt.Appendf(nil, `%s
One machine tidies up this memory for all that share it:

%s%s
%s%s

If it has not said so for %d days, another one may. To choose one, set
compactor.host in the configuration of each.
%s
`, memory.GeneratedOpen, claimHost, c.Host, claimRenewed, c.Renewed, staleAfter, memory.GeneratedClose)
}

// ParseClaim reads such a file. One that does not say both things, or that a
// tool has merged so that it says one of them twice, is no claim.
func ParseClaim(src []byte) Claim {
	var c Claim
	for line := range bytes.Lines(src) {
		text := strings.TrimSpace(string(line))
		for _, f := range []struct {
			key   string
			value *string
		}{{claimHost, &c.Host}, {claimRenewed, &c.Renewed}} {
			if value, ok := strings.CutPrefix(text, f.key); ok {
				if *f.value != "" {
					return Claim{}
				}
				*f.value = value
			}
		}
	}
	if c.Host == "" || c.Host != HostName(c.Host) || !memory.IsDay(c.Renewed) {
		return Claim{}
	}
	return c
}

// A Duty says which machine tidies up.
type Duty struct {
	Ours  bool   // this one does
	Host  string // the one that does
	Claim bool   // it is ours, and has to be written into the file before anything else
}

// DutyOf decides which machine tidies up: the configured one; else the one whose
// claim was renewed within 30 days; else this one. Neither name needs to be as
// [HostName] makes it. A claim from more than 30 days in the future is one of a
// wrong clock, and does not count either.
func DutyOf(configured, self string, c Claim, now time.Time) Duty {
	self = HostName(self)
	age := staleAfter + 1
	if day, err := time.Parse(time.DateOnly, c.Renewed); err == nil {
		age = int(now.UTC().Truncate(24*time.Hour).Sub(day) / (24 * time.Hour))
	}
	fresh := func(days int) bool { return -days <= age && age <= days }
	switch {
	case configured != "" && HostName(configured) != self:
		return Duty{Host: HostName(configured)}
	case configured == "" && c.Host != self && fresh(staleAfter):
		return Duty{Host: c.Host}
	}
	return Duty{Ours: true, Host: self, Claim: c.Host != self || !fresh(renewAfter)}
}

// HostName is a machine's name as it stands in claims and in the names of
// archives: the first label, in lower case, of letters, digits and underscores.
// A dash or a dot would look like a continued archive, or a conflict copy.
func HostName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), ".")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if name = name[:min(len(name), 63)]; strings.Trim(name, "_") == "" {
		return "local"
	}
	return name
}

// A PassiveError says that another machine tidies up.
type PassiveError struct{ Host string }

func (e *PassiveError) Error() string {
	return fmt.Sprintf("%s tidies up this memory; to choose this machine, set compactor.host here and there", e.Host)
}

// A Host knows whether this machine is the one that tidies up. Its fields must
// not change while it is in use; its methods are safe for concurrent use.
type Host struct {
	Name       string // of this machine
	Configured string // the machine that does it; empty: the first
	Disk       Disk
	Writer     Writer
	Now        func() time.Time // time.Now if nil
}

// Duty says which machine tidies up, as far as is known here.
func (h *Host) Duty() (Duty, error) {
	file, err := h.Disk.Read(ClaimPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Duty{}, fmt.Errorf("which machine tidies up is not known: %w", err)
	}
	return h.duty(file.Data), nil
}

func (h *Host) duty(source []byte) Duty {
	return DutyOf(h.Configured, h.Name, ParseClaim(source), h.now())
}

func (h *Host) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}

// Claim makes sure that it is this machine, and says so to the others where they
// do not know. It is called before anything is changed, when there is something
// to change. The error is a [*PassiveError] if it is another one.
func (h *Host) Claim(ctx context.Context, asked bool) error {
	d, err := h.Duty()
	if err != nil {
		return err
	}
	if !d.Ours {
		return &PassiveError{d.Host}
	}
	if !d.Claim {
		return nil
	}
	_, err = h.Writer.Write(ctx, vault.Change{
		Path: ClaimPath, Cause: "host", Reason: "say to other machines that " + d.Host + " tidies up", Asked: asked,
		Edit: func(old *vault.File) ([]byte, error) {
			var source []byte
			if old != nil {
				source = old.Data
			}
			switch d := h.duty(source); {
			case !d.Ours:
				return nil, &PassiveError{d.Host}
			case !d.Claim:
				return nil, nil
			default:
				return Claim{d.Host, h.now().UTC().Format(time.DateOnly)}.Source(), nil
			}
		},
	})
	return err
}
