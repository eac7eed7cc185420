// Package build contains the version of the program and the licenses of the
// modules in it. ReadInfo returns the version, the commit and the toolchain,
// for all ways to obtain the sources: a checkout, a downloaded module or an
// archive.
package build

import (
	"cmp"
	_ "embed"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Info describes the build of the program. Unknown fields are empty.
type Info struct {
	Version  string    `json:"version"`          // of the module: a tag, a pseudo-version or (devel)
	Commit   string    `json:"commit,omitempty"` // hash, possibly abbreviated
	Time     time.Time `json:"time,omitzero"`    // of the commit, in UTC
	Modified bool      `json:"modified"`         // the checkout differed from the commit
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
}

// archivedCommit holds the hash and the time of the commit. Git inserts them
// when it creates an archive of the sources.
//
//go:embed commit.txt
var archivedCommit string

// pseudoVersion matches a version with the time (UTC) and the hash of a commit.
var pseudoVersion = lazyregexp.New(`[-.](\d{14})-([0-9a-f]{12})(?:\+|$)`)

// ReadInfo returns the build information that the Go toolchain recorded: the
// commit of a checkout, or the version of a downloaded module, which may
// contain a commit. Without a commit in either, ReadInfo uses the note that git
// left in an archive of the sources.
func ReadInfo() Info {
	info, _ := debug.ReadBuildInfo()
	return infoOf(cmp.Or(info, new(debug.BuildInfo)), archivedCommit)
}

// infoOf describes a build from the data of the Go toolchain. Without a commit there, that of
// the module version or of the source archive counts.
func infoOf(info *debug.BuildInfo, archived string) Info {
	b := Info{Version: cmp.Or(info.Main.Version, "(devel)"), Go: cmp.Or(info.GoVersion, runtime.Version()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if m := pseudoVersion().FindStringSubmatch(b.Version); m != nil && b.Commit == "" {
		b.Commit = m[2]
		b.Time, _ = time.Parse("20060102150405", m[1])
	}
	if hash, when, ok := strings.Cut(strings.TrimSpace(archived), " "); ok && b.Commit == "" &&
		!strings.HasPrefix(hash, "$") {
		b.Commit = hash
		b.Time, _ = time.Parse(time.RFC3339, when)
	}
	b.Time = b.Time.UTC()
	return b
}

// Version returns the version of this program.
func Version() string { return ReadInfo().Version }

// String returns the version and the known details, one per line.
func (b Info) String() string {
	s := "memwatchd " + b.Version + "\n"
	if b.Commit != "" {
		s += "commit  " + b.Commit
		if !b.Time.IsZero() {
			s += " of " + b.Time.Format(time.RFC3339)
		}
		if b.Modified {
			s += ", modified"
		}
		s += "\n"
	}
	return s + "built   with " + b.Go + " for " + b.Platform + "\n"
}

// Licenses contains the licenses and notices of all modules in the program. A
// test compares it with go.mod.
//
//go:embed licenses.txt
var Licenses string
