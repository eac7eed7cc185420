// Package service is the daemon as something that the system starts, written as
// text: units of systemd, and agents of launchd. It is pure: what a machine is
// like is for the caller to find out, and so is putting the text where it belongs.
//
// Every text says, in one line, that it is ours and what it was when it was made.
// One that somebody has changed since then can be told, and is not for us to
// replace.
package service

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Service is what has to be known of a daemon to write it down. Paths are
// absolute.
type Service struct {
	Name        string        // of the memory; its units are named after it
	Memory      string        // its directory
	Program     string        // the path of memwatchd
	Args        []string      // its flags: those that say which memory it is
	Environment []string      // NAME=value, beside what the manager sets
	Sockets     []Socket      // that the manager keeps for it
	Network     bool          // it listens on, or asks, anything but Unix sockets
	Drain       time.Duration // how long requests under way may take when it ends

	// User is the account that a system service runs as. It is empty for the
	// service of a user, which has what the user has.
	User string
	// Writable are the directories that a system service changes, beside those
	// that the manager makes for it.
	Writable []string
	// Reads are further paths that a system service has to see.
	Reads []string

	// Version is that of systemd; zero if it is not known. What an older one
	// does not understand is left out.
	Version int
}

// A Socket is one that the service manager makes, and hands to the daemon.
type Socket struct {
	Path  string
	Mode  string // octal, such as 0600
	Group string // empty: that of the user
}

// A File is a text, and its name in the directory where the manager looks.
type File struct{ Name, Text string }

// unit is what the units are named after. The memory that has no name of its own
// is memwatchd.
func (s *Service) unit() string {
	if s.Name == "memwatchd" {
		return s.Name
	}
	return "memwatchd-" + s.Name
}

// UnitName is the name of the systemd service.
func (s *Service) UnitName() string { return s.unit() + ".service" }

// OwnsUnit reports whether a name is that of one of the units, whatever sockets
// the daemon has now: other sockets are numbered.
func (s *Service) OwnsUnit(name string) bool {
	if name == s.UnitName() || name == s.unit()+".socket" {
		return true
	}
	number, ok := strings.CutPrefix(name, s.unit()+":")
	return ok && regexp.MustCompile(`^[0-9]+\.socket$`).MatchString(number)
}

// stamp is in the line that says whose a text is.
var stamp = regexp.MustCompile(`Made by memwatchd service install \(([0-9a-f]{16})\)`)

// sign fills in the line of a text that was made with an empty one.
func sign(text string) string {
	return strings.Replace(text, unsigned, "Made by memwatchd service install ("+digest(text)+")", 1)
}

const unsigned = "Made by memwatchd service install ()"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Ours reports whether a text was made by this package, and whether it is still
// what was made.
func Ours(text string) (ours, untouched bool) {
	m := stamp.FindStringSubmatchIndex(text)
	if m == nil {
		return false, false
	}
	return true, digest(text[:m[0]]+unsigned+text[m[1]:]) == text[m[2]:m[3]]
}

// check refuses what cannot be written down: the lines of a unit are text that
// ends where the line does, unless a backslash stands there.
func (s *Service) check() error {
	texts := []string{s.Name, s.Memory, s.Program, s.User}
	texts = append(append(append(append(texts, s.Args...), s.Environment...), s.Writable...), s.Reads...)
	for _, socket := range s.Sockets {
		texts = append(texts, socket.Path, socket.Mode, socket.Group)
		if name := filepath.Base(socket.Path); strings.ContainsFunc(name, func(r rune) bool { return r == ':' || r > unicode.MaxASCII }) {
			return fmt.Errorf("service %s: a socket's name is made of ASCII characters without a colon, and %q is not: rename it", s.Name, name)
		}
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) || strings.HasSuffix(text, `\`) {
			return fmt.Errorf("service %s: %q has a character that no service can have: rename it", s.Name, text)
		}
	}
	return nil
}

// program finds what a text starts.
var program = regexp.MustCompile(`(?m)^ExecStart=("(?:[^"\\]|\\.)*"|\S+)|<key>ProgramArguments</key>\s*<array>\s*<string>([^<]*)</string>`)

// ProgramOf is the path of the program that one of our texts starts; empty if it
// cannot be told.
func ProgramOf(text string) string {
	m := program.FindStringSubmatch(text)
	switch {
	case m == nil:
		return ""
	case m[1] != "":
		return strings.ReplaceAll(strings.Trim(m[1], `"`), "%%", "%")
	}
	return html.UnescapeString(m[2])
}
