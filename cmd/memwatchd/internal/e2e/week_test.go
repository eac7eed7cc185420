package e2e

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestWeek runs a bot that serves two people and a group for a week, while
// people edit its files. The archive consists of scenes, each at a time, which
// are shell sessions as shown on a terminal, and of every file of the memory at
// the end.
//
// Commands start with a dollar sign, their further lines with a bracket; all
// other lines are output. Each command takes a minute. In a night scene the
// daemon is off and starts again at the time of its nightly run.
func TestWeek(t *testing.T) {
	t.Parallel()
	const name = "testdata/week.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w := newWeek(t)
	var files []txtar.File
	for i := range archive.Files {
		f := &archive.Files[i]
		when, _, ok := strings.Cut(f.Name, " ")
		at, err := time.ParseInLocation("2006-01-02T15:04", when, w.zone)
		if !ok || err != nil {
			files = append(files, *f)
			continue
		}
		got := w.scene(at, f.Name, string(f.Data))
		if *update {
			f.Data = []byte(got)
		} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	is := filesBelow(t, w.root)
	if *update {
		archive.Files = archive.Files[:len(archive.Files)-len(files)]
		for _, path := range slices.Sorted(maps.Keys(is)) {
			archive.Files = append(archive.Files, txtar.File{Name: strings.TrimPrefix(path, "/"), Data: []byte(is[path])})
		}
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	} else {
		want := map[string]string{}
		for _, f := range files {
			want["/"+f.Name] = string(f.Data)
		}
		if diff := cmp.Diff(want, is); diff != "" {
			t.Errorf("the files at the end (-want +got):\n%s", diff)
		}
	}
	w.byHand()
}

// byHand writes the same files with an editor for a daemon without the history
// of the week, and checks that both daemons answer all requests alike.
func (w *week) byHand() {
	t := w.t
	typed := newWeek(t)
	for path, text := range filesBelow(t, w.root) {
		testkit.WriteFile(t, typed.path(path), text)
		info, err := os.Stat(w.path(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(typed.path(path), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	typed.set(w.now)
	typed.start()
	w.until("all that is to be ticked has been", func() bool { return w.mustStatus().Todosync.Planned == 0 })
	asked := 0
	for _, who := range []fields{
		{"external_key": "telegram:1", "context": "private"}, {"external_key": "telegram:1", "context": "public"},
		{"subject": "ext:telegram:1", "context": "private"}, {"external_key": "telegram:2", "context": "private"},
		{"external_key": "telegram:2", "context": "unknown"}, owner, owner.with(public), public,
	} {
		for _, q := range weekQuestions(slices.Sorted(maps.Keys(filesBelow(t, w.root)))) {
			op, req := operationNamed(q.op), who.with(q.fields)
			if slices.ContainsFunc(op.Params(), func(p *api.Param) bool { return p.Name == "count" }) {
				req["count"] = false // or the count of the first daemon affects the next request
			}
			a, b := w.post(op, req), typed.post(op, req)
			a.answer, b.answer = varies.ReplaceAllString(a.answer, ""), varies.ReplaceAllString(b.answer, "")
			if diff := cmp.Diff(a, b, cmp.AllowUnexported(said{})); diff != "" {
				t.Errorf("%s %v (-with the API +by hand):\n%s", q.op, req, diff)
			}
			if a.failure == "" {
				asked++
			}
		}
	}
	if asked < 100 {
		t.Errorf("only %d questions were answered", asked)
	}
	if diff := cmp.Diff(filesBelow(t, w.root), filesBelow(t, typed.root)); diff != "" {
		t.Errorf("the files (-with the API +by hand):\n%s", diff)
	}
}

// A weekQuestion is a request that any caller may send.
type weekQuestion struct {
	op string
	fields
}

func weekQuestions(paths []string) (list []weekQuestion) {
	ask := func(op string, f fields) { list = append(list, weekQuestion{op, f}) }
	for _, query := range []string{"move", "movers boxes", "面试", "复习", "hike sunrise", "occupation", "translator", "Suzhou", "find a flat", "peanuts", "豆豆", "主人", "#project:move", `"Blue Van"`} {
		ask("search", fields{"query": query, "limit": 50})
		ask("search", fields{"query": query, "mode": "overlap", "limit": 50, "include_archived": true, "explain": true})
		ask("context", fields{"format": "relevant", "query": query})
	}
	ask("recent", fields{"hours": 24 * 7, "limit": 100})
	ask("recent", fields{"hours": 24 * 400, "limit": 100, "tags": []string{"project:move"}})
	ask("todos", fields{})
	ask("todos", fields{"state": "done"})
	for _, format := range []string{"summary", "boot", "full", "items"} {
		for _, lang := range []string{"en", "zh"} {
			ask("context", fields{"format": format, "lang": lang, "session": "telegram_1"})
		}
	}
	for _, session := range []string{"telegram_1", "telegram_2", "telegram_group"} {
		ask("load", fields{"session": session, "day": "2026-02-04"})
		ask("load", fields{"session": session})
	}
	ask("item_list", fields{})
	for _, namespace := range []string{"profile", "preference"} {
		ask("item_list", fields{"namespace": namespace})
		for _, key := range []string{"occupation", "nickname", "reply_style", "城市", "none"} {
			ask("item_get", fields{"namespace": namespace, "key": key})
		}
	}
	for _, path := range paths {
		ask("get", fields{"path": strings.TrimPrefix(path, "/")})
		ask("related", fields{"path": strings.TrimPrefix(path, "/")})
	}
	return list
}

// A week is a daemon during the week.
type week struct {
	*live
	zone  *time.Location
	clock string // file with the time
	now   time.Time
}

func newWeek(t *testing.T) *week {
	t.Helper()
	needs(t, "sh", "sed", "grep")
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	l := newLive(t, t.TempDir(), "visibility: {daily: private_only, sessions: private_only}\nwrite: {quiet: 0s}\ncompactor: {limits: [{path: '_longterms/*/_index.md', items: 4}]}\n")
	// The name of an archive contains the name of the machine.
	testkit.WriteFile(t, filepath.Join(filepath.Dir(l.config), "state", "memwatchd", "memwatchd", "host"), "desk")
	w := &week{live: l, zone: zone, clock: filepath.Join(filepath.Dir(l.config), "clock")}
	l.env = append(l.env, stopped+"="+w.clock, "MEMWATCHD_MEMORY_TIMEZONE="+zone.String(), "CONFIG="+l.config)
	return w
}

func (w *week) set(now time.Time) {
	w.t.Helper()
	w.now = now
	if err := os.WriteFile(w.clock+".new", []byte(now.UTC().Format(time.RFC3339)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(w.clock+".new", w.clock); err != nil {
		w.t.Fatal(err)
	}
}

// night marks the name of a scene that starts with the daemon off.
const night = "the night: "

// scene runs a scene and returns it with the output of its commands.
func (w *week) scene(at time.Time, name, text string) string {
	w.t.Helper()
	if w.now.IsZero() {
		w.set(at)
		w.start()
	}
	if strings.Contains(name, night) {
		if err := w.stop(); err != nil {
			w.t.Fatal(err)
		}
		w.set(at)
		w.start()
		w.until("the night is over", func() bool {
			s := w.mustStatus()
			return s.Compactor != nil && s.Compactor.LastRun.Equal(at)
		})
		// LastRun is set when the run starts. This request waits for the semaphore,
		// which the run holds, and fails because SOUL.md has no limit.
		if err := w.ask("compact", owner.with(fields{"path": "SOUL.md"}), nil); err == nil {
			w.t.Fatal("there is room to be made in SOUL.md")
		}
	}
	w.set(at)
	var out strings.Builder
	for _, command := range transcriptOf(text) {
		out.WriteString(command.typed + w.shell(command.line))
		w.sync()
		w.set(w.now.Add(time.Minute))
	}
	return out.String()
}

// A shellCommand is a command as typed on a terminal, with and without its
// prompts.
type shellCommand struct{ typed, line string }

func transcriptOf(text string) (list []shellCommand) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, shellCommand{line, rest})
		} else if rest, ok := strings.CutPrefix(line, ">"); ok && len(list) > 0 {
			last := &list[len(list)-1]
			last.typed, last.line = last.typed+line, last.line+strings.TrimPrefix(rest, " ")
		}
	}
	return list
}

// weekPrelude defines shell functions: for each speaker, for an editor that
// saves like most editors, and for waiting until the daemon has acted.
const weekPrelude = `
memwatchd() { command memwatchd --config "$CONFIG" "$@"; }
alice() { memwatchd "$@" --external-key telegram:1; }
lilei() { memwatchd "$@" --external-key telegram:2; }
edit() { sed "$1" "$2" >"$2.new" && mv "$2.new" "$2"; }
soon() { for i in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; echo "not soon: $*"; return 1; }
`

// tells matches shell output that differs between runs.
var tells = regexp.MustCompile(`(token|journal|undone|--config)[:= ]+(?:[0-9a-z]{8,}|/\S+)`)

func (w *week) shell(line string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", weekPrelude+line)
	cmd.Dir, cmd.Env = w.root, w.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		io.WriteString(&out, "("+err.Error()+")\n")
	}
	return tells.ReplaceAllString(out.String(), "$1 …")
}
