package service

import (
	"encoding/xml"
	"path/filepath"
	"strings"
)

// Label returns the label of the launchd agent.
func (s *Service) Label() string {
	if s.Name == "memwatchd" {
		return "io.github.memwatchd"
	}
	return "io.github.memwatchd." + s.Name
}

// LaunchdAgent returns the property list of the launchd agent for the user with
// the home directory home. launchd starts the agent at login and restarts it
// after a failure. LaunchdAgent returns an error if a name or path cannot be
// represented.
func (s *Service) LaunchdAgent(home string) (File, error) {
	if err := s.checkValues(); err != nil {
		return File{}, err
	}
	log := filepath.Join(home, "Library", "Logs", s.unitPrefix()+".log")
	text := renderTemplate("agent.tmpl", struct {
		*Service
		Log string
	}{s, log})
	return File{s.Label() + ".plist", text}, nil
}

func escapeXML(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a strings.Builder accepts every write
	return b.String()
}
