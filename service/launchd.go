package service

import (
	"encoding/xml"
	"path/filepath"
	"strings"
)

// Label is the name of the launchd agent.
func (s *Service) Label() string {
	if s.Name == "memwatchd" {
		return "io.github.memwatchd"
	}
	return "io.github.memwatchd." + s.Name
}

// Agent is the agent of launchd for a user with that home: it is started when the
// user logs in, and again whenever it ends by itself. What it logs is in the
// user's Library.
func (s *Service) Agent(home string) (File, error) {
	if err := s.check(); err != nil {
		return File{}, err
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + unsigned + ` -->
<plist version="1.0">
<dict>
`)
	key := func(name, value string) {
		b.WriteString("\t<key>" + name + "</key>\n\t" + value + "\n")
	}
	list := func(tag, items string) string { return "<" + tag + ">\n" + items + "\t</" + tag + ">" }
	args := "\t\t" + text(s.Program) + "\n"
	for _, arg := range s.Args {
		args += "\t\t" + text(arg) + "\n"
	}
	args += "\t\t" + text("serve") + "\n"
	log := text(filepath.Join(home, "Library", "Logs", s.unit()+".log"))
	key("Label", text(s.Label()))
	key("ProgramArguments", list("array", args))
	if len(s.Environment) > 0 {
		vars := ""
		for _, pair := range s.Environment {
			name, value, _ := strings.Cut(pair, "=")
			vars += "\t\t<key>" + escaped(name) + "</key>\n\t\t" + text(value) + "\n"
		}
		key("EnvironmentVariables", list("dict", vars))
	}
	key("RunAtLoad", "<true/>")
	// Not when it was asked to end.
	key("KeepAlive", list("dict", "\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n"))
	key("ProcessType", text("Standard"))
	key("Umask", "<integer>63</integer>") // 077
	key("SoftResourceLimits", list("dict", "\t\t<key>NumberOfFiles</key>\n\t\t<integer>65536</integer>\n"))
	key("StandardOutPath", log)
	key("StandardErrorPath", log)
	b.WriteString("</dict>\n</plist>\n")
	return File{s.Label() + ".plist", sign(b.String())}, nil
}

func text(s string) string { return "<string>" + escaped(s) + "</string>" }

func escaped(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
