// Package service renders the daemon as a service of the operating system: as
// systemd units and as a launchd agent. It accesses neither files nor the
// environment; the caller collects the facts and writes the files.
//
// Each unit contains a digest of its own text, so that the caller can recognize
// units that a person has edited.
package service

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Service describes one daemon. All paths are absolute.
type Service struct {
	Name        string   // name of the memory; the unit names derive from it
	Memory      string   // memory directory
	Program     string   // path of memwatchd
	Args        []string // flags that select the memory
	Environment []string // NAME=value, in addition to the manager's own variables
	Sockets     []Socket // sockets that the manager opens for the daemon
	Network     bool     // the daemon listens or connects beyond Unix sockets

	// User is the account of a system service. It is empty for a user's service.
	User string
	// Writable lists the directories that a system service writes to, in
	// addition to the state and cache directories that systemd creates.
	Writable []string
	// Reads lists further paths that a system service reads.
	Reads []string

	// Version is the version of systemd, or zero if unknown. Units omits settings
	// that this version does not support.
	Version int
}

// A Socket is a listening socket that systemd opens and passes to the daemon.
type Socket struct {
	Path  string
	Mode  string // octal, such as 0600
	Group string // empty: the primary group of the user
}

// A File is a rendered file and its name in the directory of the service manager.
type File struct{ Name, Text string }

// unitPrefix returns the common prefix of the unit names.
func (s *Service) unitPrefix() string {
	if s.Name == "memwatchd" {
		return s.Name
	}
	return "memwatchd-" + s.Name
}

// UnitName returns the name of the systemd service unit.
func (s *Service) UnitName() string { return s.unitPrefix() + ".service" }

// OwnsUnit reports whether name is the name of a unit of this service,
// including socket units of earlier configurations.
func (s *Service) OwnsUnit(name string) bool {
	suffix, ok := strings.CutPrefix(name, s.unitPrefix())
	return ok && unitSuffix().MatchString(suffix)
}

var unitSuffix = lazyregexp.New(`^(\.service|(:[0-9]+)?\.socket)$`)

const emptySignature = "Made by memwatchd service install ()"

var signaturePattern = lazyregexp.New(`Made by memwatchd service install \(([0-9a-f]{16})\)`)

// signUnit inserts the digest of text into its line for the digest.
func signUnit(text string) string {
	return strings.Replace(text, emptySignature, strings.TrimSuffix(emptySignature, ")")+unitDigest(text)+")", 1)
}

func unitDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Unmodified reports whether text is a unit that [Service.Units] returned,
// possibly of another version, without changes. It returns false for any other
// text.
func Unmodified(text string) bool {
	m := signaturePattern().FindStringSubmatchIndex(text)
	return m != nil && unitDigest(text[:m[0]]+emptySignature+text[m[1]:]) == text[m[2]:m[3]]
}

// checkValues rejects names and paths that a unit file cannot represent. A setting ends
// at the line break, unless a backslash precedes the line break.
func (s *Service) checkValues() error {
	texts := slices.Concat([]string{s.Name, s.Memory, s.Program, s.User}, s.Args, s.Environment, s.Writable, s.Reads)
	for _, socket := range s.Sockets {
		texts = append(texts, socket.Path, socket.Mode, socket.Group)
		name := filepath.Base(socket.Path)
		if strings.ContainsFunc(name, func(r rune) bool { return r == ':' || r > unicode.MaxASCII }) {
			return fmt.Errorf("service %s: socket name %q contains a colon or a character outside ASCII: rename "+
				"the socket",
				s.Name, name)
		}
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) || strings.HasSuffix(text, `\`) {
			return fmt.Errorf("service %s: %q contains a control character or invalid UTF-8, "+
				"or ends with a backslash: rename it", s.Name, text)
		}
	}
	return nil
}

//go:embed *.tmpl
var templateFiles embed.FS

// templates parses the templates at the first use, not at the start of each command.
var templates = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{
		"base":     filepath.Base,
		"below":    isBelow,
		"escape":   escapeSpecifiers,
		"needs":    (*Service).needsPath,
		"quote":    quoteWord,
		"split":    func(pair string) []string { return strings.SplitN(pair, "=", 2) },
		"text":     escapeXML,
		"unsigned": func() string { return emptySignature },
		"variable": func(word string) string { return strings.ReplaceAll(word, "$", "$$") },
		"writable": (*Service).readWritePaths,
	}
	return template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "*.tmpl"))
})

// renderTemplate executes a template. The templates of this package cannot fail.
func renderTemplate(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}
