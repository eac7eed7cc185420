package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/memory"
)

// A Listener is one address to listen on. A listener with a subject, a context
// or operations has a fixed scope.
type Listener struct {
	Path       string   `yaml:"path" path:"true" doc:"Path of a Unix socket. File names of sockets with a fixed scope must differ"`
	Mode       string   `yaml:"mode" default:"0600" doc:"Permissions of the socket, in octal"`
	Group      string   `yaml:"group" doc:"Group of the socket. If set, the permissions alone decide who can connect"`
	AllowUIDs  []int    `yaml:"allow_uids" doc:"IDs of other users that can connect, if the mode permits it"`
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
		c.IPC.Listeners = slices.Insert(c.IPC.Listeners, 0, Listener{Mode: "0600"})
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

func (l *Listener) completeListener() (err error) {
	if (l.Path == "") == (l.Address == "") {
		return fmt.Errorf("set either path or address")
	}
	if l.Path != "" {
		l.Path, err = AbsolutePath(l.Path)
		if err != nil {
			return err
		}
	}
	if l.Address != "" && l.TokenFile == "" {
		return fmt.Errorf("%s: a TCP listener needs a token_file", l.Address)
	}
	if _, err := strconv.ParseUint(l.Mode, 8, 9); err != nil {
		return fmt.Errorf("mode: %q is not a file mode such as 0660", l.Mode)
	}
	if l.Subject != "" {
		if err := memory.ValidSubject(l.Subject); err != nil {
			return fmt.Errorf("subject: %w", err)
		}
	}
	var names []string
	for _, op := range api.Operations {
		names = append(names, op.Name)
	}
	for _, op := range l.Operations {
		if err := CheckOneOf(op, names); err != nil {
			return fmt.Errorf("operations: %w", err)
		}
	}
	return nil
}

// Endpoint returns the listener as an [ipc.Endpoint] and reads its token file.
// The error is that of reading the token.
func (l *Listener) Endpoint() (ipc.Endpoint, error) {
	mode, _ := strconv.ParseUint(l.Mode, 8, 9) // finish has checked it
	e := ipc.Endpoint{
		Path: l.Path, Mode: fs.FileMode(mode), Group: l.Group, AllowUIDs: l.AllowUIDs,
		Address: l.Address, Rate: l.Rate,
	}
	if l.TokenFile != "" {
		path, err := AbsolutePath(l.TokenFile)
		if err != nil {
			return ipc.Endpoint{}, err
		}
		token, err := os.ReadFile(path)
		if err != nil {
			return ipc.Endpoint{}, fmt.Errorf("token of %s: %w", l.Address, err)
		}
		e.Token = strings.TrimSpace(string(token))
	}
	if l.hasFixedScope() {
		e.Fixed = &api.Fixed{Name: l.name(), Subject: l.Subject, Context: l.Context, Operations: l.Operations}
	}
	return e, nil
}
