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

// A bot serves two people and a group for a week, and people edit its files in
// between. The archive is the story of it: scenes, each at a time, that are
// sessions of a shell as a terminal shows them, and after them every file of the
// memory, as it is at the end.
//
// Commands have a dollar, and a bracket on further lines of theirs; all other
// lines are what they print. Each takes a minute. In a scene that is a night the
// daemon is off, and starts again when it is time for what it does every night.
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

// byHand writes the same files with an editor, for a daemon that knows nothing of
// the week, and asks both the same: they give the same answers.
func (w *week) byHand() {
	t := w.t
	typed := newWeek(t)
	for path, text := range filesBelow(t, w.root) {
		testkit.Put(t, typed.path(path), text)
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
			if slices.ContainsFunc(op.Params, func(p *api.Param) bool { return p.Name == "count" }) {
				req["count"] = false // or the first to be asked counts for the next question
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

// A weekQuestion is what anybody may ask.
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

// A week is a daemon that lives through one.
type week struct {
	*live
	zone  *time.Location
	clock string // the file with the time
	now   time.Time
}

func newWeek(t *testing.T) *week {
	t.Helper()
	needs(t, "sh", "sed", "grep")
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	l := newLive(t, t.TempDir(), "write: {quiet: 0s}\ncompactor: {limits: [{path: '_longterms/*/_index.md', items: 4}]}\n")
	// The name of a machine is in that of an archive.
	testkit.Put(t, filepath.Join(filepath.Dir(l.config), "state", "memwatchd", "memwatchd", "host"), "desk")
	w := &week{live: l, zone: zone, clock: filepath.Join(filepath.Dir(l.config), "clock")}
	l.env = append(l.env, stopped+"="+w.clock, "MEMWATCHD_MEMORY_TIMEZONE="+zone.String(), "CONFIG="+l.config)
	return w
}

// set sets the clock.
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

// night is what the name of a scene has if the daemon was off before it.
const night = "the night: "

// scene plays a scene, and returns it with what commands have printed.
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
		// Nobody else has its turn before that is done; and here is nothing to do.
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

// A shellCommand is a command as it was typed at a terminal, and what it is.
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

// weekPrelude is what the shell knows beside the usual: who speaks, an editor
// that saves as most do, and to wait for what happens by itself.
const weekPrelude = `
memwatchd() { command memwatchd --config "$CONFIG" "$@"; }
alice() { memwatchd "$@" --external-key telegram:1; }
lilei() { memwatchd "$@" --external-key telegram:2; }
edit() { sed "$1" "$2" >"$2.new" && mv "$2.new" "$2"; }
soon() { for i in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; echo "not soon: $*"; return 1; }
`

// tells is what a shell prints that differs from run to run.
var tells = regexp.MustCompile(`(token|journal|undone)[: ]+[0-9a-z]{8,}`)

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
