package build

import (
	"cmp"
	_ "embed"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// A build is what is known of how the program was built. What is not known is
// empty.
type Info struct {
	Version  string    `json:"version"`          // of the module: a tag, one that names a commit, or (devel)
	Commit   string    `json:"commit,omitempty"` // as much of its hash as is known
	Time     time.Time `json:"time,omitzero"`    // of the commit, in UTC
	Modified bool      `json:"modified"`         // there was more than the commit
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
}

// archivedCommit is the hash and the time of the commit, put there by git when it makes
// an archive of the sources.
//
//go:embed commit.txt
var archivedCommit string

// pseudoVersion is a version that names a commit and when it was made, in UTC.
var pseudoVersion = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(?:\+|$)`)

// Current is what the Go toolchain has noted of this program: in a checkout the
// commit; of a module that was downloaded its version, which may name one. Of
// sources without either there is the note that git has left in them.
func Current() Info {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		info = new(debug.BuildInfo)
	}
	return buildOf(info, archivedCommit)
}

func buildOf(info *debug.BuildInfo, archived string) Info {
	b := Info{Version: cmp.Or(info.Main.Version, "(devel)"), Go: cmp.Or(info.GoVersion, runtime.Version()), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
	if m := pseudoVersion.FindStringSubmatch(b.Version); m != nil && b.Commit == "" {
		b.Commit = m[2]
		b.Time, _ = time.Parse("20060102150405", m[1])
	}
	if hash, when, ok := strings.Cut(strings.TrimSpace(archived), " "); ok && b.Commit == "" && !strings.HasPrefix(hash, "$") {
		b.Commit = hash
		b.Time, _ = time.Parse(time.RFC3339, when)
	}
	b.Time = b.Time.UTC()
	return b
}

// Version is what this program calls itself.
func Version() string { return Current().Version }

// String is what a person is told: a line for the version, and what else is known.
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
