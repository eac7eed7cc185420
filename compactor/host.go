package compactor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Several machines may share a memory through a sync tool. If two of them ran
// maintenance at the same time, both would change the same files and cause
// conflicts. Therefore only one machine runs maintenance: the configured one,
// or else the first that had maintenance to do.

// claimPath is the file in which the machine that runs maintenance announces
// itself to the others. It is created before the first maintenance. It is not
// memory and contains no entries.
const claimPath = "_longterms/_host.md"

// A Claim is the content of the claim file. The zero value is no claim.
type Claim struct {
	Host    string // in the form of [HostName]
	Renewed string // day of the last renewal, YYYY-MM-DD in UTC
}

const (
	// renewAfter is the number of days after which a claim is renewed. A file
	// that changes every day would clutter the history of changes.
	renewAfter = 7
	// staleAfter is the number of days after which another machine may take
	// over. It exceeds most holidays.
	staleAfter = 30
)

// claimRE matches a line of a claim file.
var claimRE = lazyregexp.New(`(?m)^- (host|renewed): (.*?)\s*$`)

// source returns the content of the claim file, for users and other machines.
func (c Claim) source() []byte {
	return fmt.Appendf(nil, `%s
One machine runs maintenance for all machines that share this memory:

- host: %s
- renewed: %s

If it does not renew this claim for %d days, another machine takes over. To
choose a machine, set compactor.host in the configuration of all machines.
%s
`, memory.GeneratedOpen, c.Host, c.Renewed, staleAfter, memory.GeneratedClose)
}

// parseClaim parses a claim file. If a field is missing, or duplicated by a
// merge, parseClaim returns the zero Claim.
func parseClaim(src []byte) Claim {
	fields := claimRE().FindAllStringSubmatch(string(src), -1)
	if len(fields) != 2 || fields[0][1] != "host" || fields[1][1] != "renewed" {
		return Claim{}
	}
	c := Claim{fields[0][2], fields[1][2]}
	if c.Host == "" || c.Host != HostName(c.Host) || !memory.IsDay(c.Renewed) {
		return Claim{}
	}
	return c
}

// A Duty describes which machine runs maintenance.
type Duty struct {
	Active bool   // this machine runs maintenance
	Host   string // the machine that runs maintenance
	Claim  bool   // this machine must write its claim before any other change
}

// dutyFor decides which machine runs maintenance, given the claim file: the configured
// one, or else the one whose claim was renewed within 30 days, or else this one. It
// ignores a claim more than 30 days in the future, which comes from a wrong clock.
func (h *Host) dutyFor(source []byte) Duty {
	c, self, configured := parseClaim(source), HostName(h.Name), h.Configured
	age := staleAfter + 1
	if day, err := time.Parse(time.DateOnly, c.Renewed); err == nil {
		age = int(h.Now().UTC().Truncate(24*time.Hour).Sub(day) / (24 * time.Hour))
	}
	fresh := func(days int) bool { return -days <= age && age <= days }
	switch {
	case configured != "" && HostName(configured) != self:
		return Duty{Host: HostName(configured)}
	case configured == "" && c.Host != self && fresh(staleAfter):
		return Duty{Host: c.Host}
	}
	return Duty{Active: true, Host: self, Claim: c.Host != self || !fresh(renewAfter)}
}

// HostName normalises a machine name for claims and names of archives: the
// first label in lower case, with only letters, digits and underscores. A dash
// or a dot would look like a continued archive or a conflict copy.
func HostName(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), ".")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	name = name[:min(len(name), 63)]
	if strings.Trim(name, "_") == "" {
		return "local"
	}
	return name
}

// A PassiveError reports that another machine runs maintenance.
type PassiveError struct{ Host string }

func (e *PassiveError) Error() string {
	return fmt.Sprintf("%s maintains this memory; to choose this machine, set compactor.host on both machines", e.Host)
}

// A Host determines whether this machine runs maintenance. Its fields must not
// change while it is in use; its methods are safe for concurrent use.
type Host struct {
	Name       string // of this machine
	Configured string // the machine to run maintenance; empty selects the first
	Disk       Disk
	Writer     Writer
	Now        func() time.Time
}

// Duty returns which machine runs maintenance, according to the claim file on
// this machine. A missing file is no claim. If the file cannot be read, Duty
// returns the zero Duty, which is not active, and an error.
func (h *Host) Duty() (Duty, error) {
	file, err := h.Disk.Read(claimPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Duty{}, fmt.Errorf("read the maintenance host: %w", err)
	}
	return h.dutyFor(file.Data), nil
}

// Claim checks that this machine runs maintenance and writes the claim file if
// necessary. It must be called before any change, and only if there is a change
// to make. It returns a [*PassiveError] if another machine runs maintenance.
func (h *Host) Claim(ctx context.Context, asked bool) error {
	d, err := h.Duty()
	if err != nil {
		return err
	}
	if !d.Active {
		return &PassiveError{d.Host}
	}
	if !d.Claim {
		return nil
	}
	_, err = h.Writer.Write(ctx, vault.Change{
		Path: claimPath, Cause: "host", Reason: "record " + d.Host + " as the maintenance host", Requested: asked,
		Edit: func(old *vault.File) ([]byte, error) {
			var source []byte
			if old != nil {
				source = old.Data
			}
			switch d := h.dutyFor(source); {
			case !d.Active:
				return nil, &PassiveError{d.Host}
			case !d.Claim:
				return nil, nil
			default:
				return Claim{d.Host, h.Now().UTC().Format(time.DateOnly)}.source(), nil
			}
		},
	})
	return err
}
