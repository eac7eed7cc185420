package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// lookAtConfig tells whether the configuration makes sense, and who may change
// it.
func lookAtConfig(_ context.Context, e *examination) []finding {
	if e.config == nil {
		f := finding{Mark: problem, Text: e.configErr.Error(), Advice: "correct it; what depends on it was not looked at. Each key is in config.example.yaml"}
		if strings.Contains(e.configErr.Error(), "memory.timezone") {
			f.Advice = "if there is such a time zone, this machine lacks its data (the package is mostly called tzdata)"
		}
		return []finding{f}
	}
	file := e.config.File
	if file == "" {
		return []finding{{Mark: note, Text: "there is no configuration, and the defaults hold", Command: e.flags.Command("init")}}
	}
	info, err := os.Stat(file)
	if err != nil {
		return []finding{{Mark: warning, Text: err.Error()}}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return []finding{{Mark: warning, Text: fmt.Sprintf("%s can be written by others (mode %04o), who so decide what is shown to whom", file, info.Mode().Perm()),
			Command: "chmod go-w " + term.QuoteWord(file)}}
	}
	return well("%s", file)
}

// lookAtEnvironment tells what comes from the environment, of which a service
// does not know.
func lookAtEnvironment(_ context.Context, e *examination) []finding {
	var names []string
	for _, pair := range e.environ {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, config.EnvPrefix) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return []finding{{Mark: note, Text: "some keys are set in the environment: " + strings.Join(names, ", "),
		Advice: "a daemon that is started elsewhere, as a service is, does not have them; write into the configuration what is to stay"}}
}

// lookAtEffect tells whether the daemon does what the configuration says.
func lookAtEffect(_ context.Context, e *examination) (list []finding) {
	c := e.config
	if !c.Memory.Enabled {
		list = append(list, finding{Mark: note, Text: "memory.enabled is false: nothing is shown to agents, and what they write has no effect"})
	}
	if !c.Write.Enabled {
		list = append(list, finding{Mark: note, Text: "write.enabled is false: no file is changed that nobody asked to change"})
	}
	if e.status == nil {
		return list
	}
	hup := fmt.Sprintf("kill -HUP %d", e.status.PID)
	if e.status.Root != c.Memory.Dir {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("the daemon serves %s, and the configuration says %s", e.status.Root, c.Memory.Dir),
			Advice: "have it read the configuration again", Command: hup})
	}
	if info, err := os.Stat(c.File); err == nil && info.ModTime().After(e.status.Started.Add(time.Second)) {
		list = append(list, finding{Mark: note, Text: c.File + " was changed after the daemon had read it", Advice: "have it read the configuration again", Command: hup})
	}
	if list == nil {
		return well("the daemon serves %s", c.Memory.Dir)
	}
	return list
}

// lookAtKeyFiles tells whether the keys of services can be read, and only by
// whom they belong to. What is in them is not told.
func lookAtKeyFiles(_ context.Context, e *examination) (list []finding) {
	type keyFile struct{ key, path string }
	files := []keyFile{{"llm.key_file", e.config.LLM.KeyFile}, {"capture.ntfy.token_file", e.config.Capture.Ntfy.TokenFile}}
	if e.config.LLM.Endpoint == "" {
		files[0].path = ""
	}
	if e.config.Capture.Ntfy.Topic == "" {
		files[1].path = ""
	}
	for i := range e.config.IPC.Listeners {
		files = append(files, keyFile{"ipc.listeners: token_file", e.config.IPC.Listeners[i].TokenFile})
	}
	for _, k := range files {
		if k.path == "" {
			continue
		}
		path, err := config.Absolute(k.path)
		if err == nil {
			_, err = config.ReadKey(path)
		}
		if err == nil {
			list = append(list, finding{Mark: fine, Text: fmt.Sprintf("%s: %s", k.key, path)})
			continue
		}
		f := finding{Mark: problem, Text: fmt.Sprintf("%s: %v", k.key, err), Advice: "put the key there, as one line"}
		if info, e := os.Stat(path); e == nil && info.Mode().Perm()&0o077 != 0 {
			f.Advice, f.Command = "others may have read it: get a new key where it matters, and close the file", "chmod 600 "+term.QuoteWord(path)
		} else if errors.Is(err, fs.ErrPermission) {
			f.Advice = "it belongs to somebody else"
		}
		list = append(list, f)
	}
	return list
}

// lookAtModel tells how asking the model goes.
func lookAtModel(_ context.Context, e *examination) (list []finding) {
	l := &e.config.LLM
	if l.Endpoint == "" {
		return nil
	}
	if u, err := url.Parse(l.Endpoint); err == nil && u.Scheme == "http" && !config.Loopback(u.Hostname()) {
		list = append(list, finding{Mark: warning, Text: "what the model is asked crosses the network to " + u.Host + " unencrypted", Advice: "use https in llm.endpoint"})
	}
	if list == nil {
		return well("%s at %s", l.Model, l.Endpoint)
	}
	return list
}
