package service

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reloads is the version of systemd that knows of services which say when they
// have reloaded.
const reloads = 253

// Units are the units of systemd: the service, and one for each of its sockets.
// The first socket is named as the service is, the others are numbered.
func (s *Service) Units() ([]File, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if strings.ContainsAny(s.Program, `"'\`) {
		return nil, fmt.Errorf("service %s: systemd runs no program whose path has quotes or backslashes, as %q has: install it elsewhere", s.Name, s.Program)
	}
	files := []File{{s.UnitName(), ""}}
	for i, socket := range s.Sockets {
		name := s.unit() + ".socket"
		if i > 0 {
			name = fmt.Sprintf("%s:%d.socket", s.unit(), i+1)
		}
		files = append(files, File{name, sign(s.socket(socket))})
	}
	files[0].Text = sign(s.service(files[1:]))
	return files, nil
}

// A section is a part of a unit.
type section strings.Builder

func (b *section) put(key, value string) {
	fmt.Fprintf((*strings.Builder)(b), "%s=%s\n", key, value)
}

func (b *section) line(text string) { (*strings.Builder)(b).WriteString(text + "\n") }

func (b *section) String() string { return (*strings.Builder)(b).String() }

func (s *Service) service(sockets []File) string {
	var names []string
	for _, f := range sockets {
		names = append(names, f.Name)
	}
	units := strings.Join(names, " ")
	b := new(section)
	b.line("# " + unsigned)
	b.line("# Change it with `systemctl edit`, which keeps your changes apart from this file.")
	b.line("[Unit]")
	b.put("Description", "memwatchd on "+specifiers(s.Memory))
	b.put("Documentation", "https://github.com/memwatchd/memwatchd")
	if units != "" {
		b.put("Requires", units)
		b.put("After", units)
	}
	b.line("# A daemon that fails again and again needs somebody to look at it.")
	b.put("StartLimitIntervalSec", "5min")
	b.put("StartLimitBurst", "10")

	b.line("\n[Service]")
	if s.Version >= reloads {
		b.put("Type", "notify-reload")
	} else {
		b.put("Type", "notify")
		b.put("ExecReload", "/bin/kill -HUP $MAINPID")
	}
	b.put("ExecStart", s.command())
	for _, pair := range s.Environment {
		b.put("Environment", quoted(pair))
	}
	if units != "" {
		b.put("Sockets", units)
	}
	b.put("Restart", "on-failure")
	b.put("RestartSec", "1s")
	b.line("# The daemon asks its own socket, and shows a sign of life when it is answered.")
	b.put("WatchdogSec", seconds(30*time.Second+2*s.Drain))
	b.put("TimeoutAbortSec", "10s")
	b.put("TimeoutStopSec", seconds(30*time.Second+2*s.Drain))
	b.put("LimitNOFILE", "65536")
	b.line("\n# What the daemon has no use for, it may not do.")
	if s.User == "" {
		s.confineUser(b)
		b.line("\n[Install]")
		b.put("WantedBy", "default.target")
	} else {
		s.confineSystem(b)
		b.line("\n[Install]")
		b.put("WantedBy", "multi-user.target")
	}
	return b.String()
}

func (s *Service) command() string {
	words := []string{quoted(s.Program)} // in which no variables are filled in
	for _, arg := range append(slices.Clone(s.Args), "serve") {
		words = append(words, strings.ReplaceAll(quoted(arg), "$", "$$"))
	}
	return strings.Join(words, " ")
}

func (s *Service) socket(socket Socket) string {
	b := new(section)
	b.line("# " + unsigned)
	b.line("[Unit]")
	b.put("Description", "memwatchd's socket "+specifiers(socket.Path))
	b.put("Documentation", "https://github.com/memwatchd/memwatchd")
	b.line("\n[Socket]")
	b.put("ListenStream", specifiers(socket.Path))
	b.line("# The daemon knows the socket by its path, and by this: the name of its file.")
	b.put("FileDescriptorName", specifiers(filepath.Base(socket.Path)))
	b.put("Service", s.UnitName())
	b.put("DirectoryMode", s.directoryMode())
	b.put("SocketMode", socket.Mode)
	if s.User != "" {
		b.put("SocketUser", s.User)
	}
	if socket.Group != "" {
		b.put("SocketGroup", socket.Group)
	}
	b.put("RemoveOnStop", "yes")
	b.line("\n[Install]")
	b.put("WantedBy", "sockets.target")
	return b.String()
}

// directoryMode is that of a socket's directory if it has to be made. The system's
// are for everybody to look into; who may connect is said by the socket's mode.
func (s *Service) directoryMode() string {
	if s.User == "" {
		return "0700"
	}
	return "0755"
}

// confine is what every service can do without, whoever runs it: the kernel
// filters its calls, and no privilege is needed for that.
func (s *Service) confine(b *section) {
	b.put("UMask", "0077")
	b.put("NoNewPrivileges", "yes")
	b.put("LockPersonality", "yes")
	b.put("MemoryDenyWriteExecute", "yes")
	b.put("RestrictNamespaces", "yes")
	b.put("RestrictRealtime", "yes")
	families := "AF_UNIX"
	if s.Network {
		families += " AF_INET AF_INET6"
	} else {
		b.line("# Nothing in the configuration is for the network. When something is, install again.")
	}
	b.put("RestrictAddressFamilies", families)
	b.put("SystemCallArchitectures", "native")
	b.put("SystemCallFilter", "@system-service")
	b.put("SystemCallFilter", "~@privileged @resources")
	// A file that is replaced keeps its owner, and a directory in one that a group
	// shares gets that group: so changing the group's bit (RestrictSUIDSGID) is
	// not forbidden either.
	b.put("SystemCallFilter", "@chown")
	b.put("SystemCallErrorNumber", "EPERM")
}

// confineUser is for the service of a user. What takes a mount namespace is left
// out: many systems do not let users have one.
func (s *Service) confineUser(b *section) { s.confine(b) }

// confineSystem is for a service of the system: it sees what it needs.
func (s *Service) confineSystem(b *section) {
	b.put("User", s.User)
	state, writable := "memwatchd", []string{}
	if below(s.Memory, "/var/lib/morph") {
		state += " morph morph/memory"
	}
	for _, path := range s.Writable {
		if !below(path, "/var/lib/memwatchd", "/var/cache/memwatchd", "/var/lib/morph") {
			writable = append(writable, quoted(path))
		}
	}
	b.put("StateDirectory", state)
	b.put("StateDirectoryMode", "0700")
	b.put("CacheDirectory", "memwatchd")
	b.put("CacheDirectoryMode", "0700")
	s.confine(b)
	b.put("CapabilityBoundingSet", "")
	b.put("AmbientCapabilities", "")
	b.put("ProtectSystem", "strict")
	if len(writable) > 0 {
		b.put("ReadWritePaths", strings.Join(writable, " "))
	}
	b.put("ProtectHome", s.home())
	if !s.needs("/tmp", "/var/tmp") {
		b.put("PrivateTmp", "yes")
	}
	b.put("PrivateDevices", "yes")
	b.put("DevicePolicy", "closed")
	if !s.Network {
		b.put("PrivateNetwork", "yes")
		b.put("IPAddressDeny", "any")
	}
	b.put("ProtectClock", "yes")
	b.put("ProtectControlGroups", "yes")
	b.put("ProtectHostname", "yes")
	b.put("ProtectKernelLogs", "yes")
	b.put("ProtectKernelModules", "yes")
	b.put("ProtectKernelTunables", "yes")
	b.put("ProtectProc", "invisible")
	b.put("KeyringMode", "private")
	b.put("RemoveIPC", "yes")
}

// home is how much of people's homes a service of the system sees.
func (s *Service) home() string {
	if s.needs("/home", "/root", "/run/user") {
		return "read-only"
	}
	return "yes"
}

// needs reports whether something of the service lies below one of the
// directories.
func (s *Service) needs(dirs ...string) bool {
	paths := append([]string{s.Program, s.Memory}, append(slices.Clone(s.Writable), s.Reads...)...)
	for _, socket := range s.Sockets {
		paths = append(paths, socket.Path)
	}
	return slices.ContainsFunc(paths, func(path string) bool { return below(path, dirs...) })
}

// below reports whether a path is one of the directories, or in one.
func below(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds())) }

// specifiers keeps systemd from seeing its own in a text.
func specifiers(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// quoted is one word of a list, as systemd reads it.
func quoted(word string) string {
	word = specifiers(word)
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

func special(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-=:+@,%", r)
}
