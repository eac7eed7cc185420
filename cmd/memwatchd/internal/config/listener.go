package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/memory"
)

// A Listener is one address to listen on. A listener with a subject, a context
// or operations has a fixed scope.
type Listener struct {
	Path       string   `yaml:"path" path:"true" doc:"Path of a Unix socket. File names of sockets with a fixed scope must differ"`
	Group      string   `yaml:"group" doc:"Group whose members can connect"`
	AllowUIDs  []int    `yaml:"allow_uids" doc:"IDs of other users that can connect"`
	Address    string   `yaml:"address" doc:"Address of a TCP listener on the loopback interface, such as 127.0.0.1:7070, in place of a path"`
	TokenFile  string   `yaml:"token_file" path:"true" doc:"File with the token that TCP clients send as Authorization: Bearer"`
	Subject    string   `yaml:"subject" doc:"Fixed scope: the subject"`
	Context    string   `yaml:"context" enum:"private,public,unknown" doc:"Fixed scope: private, public or unknown"`
	Operations []string `yaml:"operations" doc:"Fixed scope: the permitted operations. If empty: all operations that a fixed scope permits"`
	Rate       float64  `yaml:"rate" default:"0" min:"0" doc:"Maximum number of requests per second. 0: no limit"`
}

// listenOn sets the path of the owner's socket: of the first one without a fixed
// scope.
func (c *Config) listenOn(path string) {
	i := slices.IndexFunc(c.IPC.Listeners, func(l Listener) bool { return l.Path != "" && !l.hasFixedScope() })
	if i < 0 {
		c.IPC.Listeners = slices.Insert(c.IPC.Listeners, 0, Listener{})
		i = 0
	}
	c.IPC.Listeners[i].Path = path
}

// hasFixedScope reports whether the callers on the listener are restricted.
func (l *Listener) hasFixedScope() bool {
	return l.Subject != "" || l.Context != "" || len(l.Operations) > 0
}

// name returns the name of the listener, by which the texts of its callers are
// recognized.
func (l *Listener) name() string {
	return strings.TrimSuffix(filepath.Base(cmp.Or(l.Path, l.Address)), ".sock")
}

// checkListener checks a listener. Those with a fixed scope need different names.
func (c *Config) checkListener(i int) error {
	l := &c.IPC.Listeners[i]
	switch {
	case (l.Path == "") == (l.Address == ""):
		return errors.New("set either path or address")
	case l.Address != "" && l.TokenFile == "":
		return fmt.Errorf("%s: a TCP listener needs a token_file", l.Address)
	case l.Subject != "" && memory.ValidSubject(l.Subject) != nil:
		return withKey("subject", memory.ValidSubject(l.Subject))
	}
	for _, other := range c.IPC.Listeners[:i] {
		if l.hasFixedScope() && other.hasFixedScope() && other.name() == l.name() {
			return fmt.Errorf("%s and %s have the same name %q, which identifies the author of a text; rename one of the sockets",
				cmp.Or(other.Path, other.Address), cmp.Or(l.Path, l.Address), l.name())
		}
	}
	return checkEach("operations", len(l.Operations), func(i int) error {
		_, err := api.LookUp(l.Operations[i])
		return err
	})
}

// Endpoint returns the listener as an [ipc.Endpoint] and reads its token file.
// The error is that of reading the token.
func (l *Listener) Endpoint() (ipc.Endpoint, error) {
	mode := fs.FileMode(0o600)
	switch { // the daemon compares the user of a connection with allow_uids
	case l.Group != "":
		mode = 0o660
	case len(l.AllowUIDs) > 0:
		mode = 0o666
	}
	e := ipc.Endpoint{
		Path: l.Path, Mode: mode, Group: l.Group, AllowUIDs: l.AllowUIDs,
		Address: l.Address, Rate: l.Rate,
	}
	if l.TokenFile != "" {
		token, err := os.ReadFile(l.TokenFile)
		if err != nil {
			return ipc.Endpoint{}, fmt.Errorf("ipc.listeners: %s: token_file: %w", l.Address, err)
		}
		e.Token = strings.TrimSpace(string(token))
	}
	if l.hasFixedScope() {
		e.Fixed = &api.Fixed{Name: l.name(), Subject: l.Subject, Context: l.Context, Operations: l.Operations}
	}
	return e, nil
}
