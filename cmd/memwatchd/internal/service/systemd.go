package service

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Units returns the systemd units: the service, followed by one unit per
// socket. The first socket unit has the name of the service; the others are
// numbered. Units returns an error if a name or path cannot be represented in a
// unit.
func (s *Service) Units() ([]File, error) {
	if err := s.checkValues(); err != nil {
		return nil, err
	}
	if strings.ContainsAny(s.Program, `"'\`) {
		return nil, fmt.Errorf("service %s: systemd cannot run %q: a quote or a backslash is in the path: "+
			"install memwatchd elsewhere", s.Name, s.Program)
	}
	files := []File{{Name: s.UnitName()}}
	var names []string
	for i, socket := range s.Sockets {
		name := s.unitPrefix() + ".socket"
		if i > 0 {
			name = fmt.Sprintf("%s:%d.socket", s.unitPrefix(), i+1)
		}
		names = append(names, name)
		files = append(files, File{name, signUnit(renderTemplate("socket.tmpl", struct {
			*Service
			Socket
		}{s, socket}))})
	}
	files[0].Text = signUnit(renderTemplate("service.tmpl", struct {
		*Service
		Units string
	}{s, strings.Join(names, " ")}))
	return files, nil
}

// readWritePaths returns the quoted directories that the service writes to and
// that systemd does not create.
func (s *Service) readWritePaths() string {
	var paths []string
	for _, path := range s.Writable {
		if !isBelow(path, "/var/lib/memwatchd", "/var/cache/memwatchd", "/var/lib/morph") {
			paths = append(paths, quoteWord(path))
		}
	}
	return strings.Join(paths, " ")
}

// needsPath reports whether the service accesses a path in one of the directories.
func (s *Service) needsPath(dirs ...string) bool {
	paths := slices.Concat([]string{s.Program, s.Memory}, s.Writable, s.Reads)
	for _, socket := range s.Sockets {
		paths = append(paths, socket.Path)
	}
	return slices.ContainsFunc(paths, func(path string) bool { return isBelow(path, dirs...) })
}

// isBelow reports whether path is one of the directories or is in one of them.
func isBelow(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}

// escapeSpecifiers escapes the character that begins a specifier of systemd.
func escapeSpecifiers(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// quoteWord returns word as one word of a list in a unit.
func quoteWord(word string) string {
	word = escapeSpecifiers(word)
	if plainWord().MatchString(word) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

var plainWord = lazyregexp.New(`^[a-zA-Z0-9/._=:+@,%-]+$`)
