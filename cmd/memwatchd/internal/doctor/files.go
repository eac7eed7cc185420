package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// lookAtCheck tells what the daemon says of the files.
func lookAtCheck(_ context.Context, e *examination) []finding {
	switch {
	case e.check != nil:
		return checkOf(e.check, e.flags.Command)
	case e.status == nil:
		return nil
	}
	return []finding{{Mark: warning, Text: "files and index were not compared: " + e.checkErr.Error(), Advice: "ask for that alone, which may take its time", Command: e.flags.Command("check")}}
}

// checkOf sums up a comparison.
func checkOf(a *api.CheckAnswer, command func(string) string) (list []finding) {
	if n := len(a.Differing); n > 0 {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("the index holds %s otherwise: %s", term.Plural(n, "file"), placesOf(a.Differing)),
			Advice: "if they are not just being written", Command: command("check --fix")})
	}
	for _, c := range a.Conflicts {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%s is claimed by more than one subject, and opened to none: %s", c.Dir, strings.Join(c.Subjects, ", ")),
			Advice: "correct subject_id in the files that name the wrong one", Command: command("check " + term.QuoteWord(c.Dir))})
	}
	list = append(list, problemsOf(a.Problems, command)...)
	byReason := map[string]*counted{}
	for _, s := range a.Skipped {
		if isConflict(s.Reason) {
			continue // told of all of them, with what to do
		}
		c := cmp.Or(byReason[s.Reason], &counted{})
		c.add(s.Path)
		byReason[s.Reason] = c
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("not read (%s): %s", reason, byReason[reason])})
	}
	if list == nil {
		return well("%s compared", term.Plural(a.Files, "file"))
	}
	return list
}

// problemsOf sums up problems of files. What is told of them are their places, and
// what sort of problem it is: a message may quote the text.
func problemsOf(problems []api.FileProblem, command func(string) string) (list []finding) {
	grave := map[string]finding{
		"counter_wrong":     {Mark: note, Text: "counters that do not agree with the boxes", Advice: "they are put right by night, or now", Command: command("check --fix")},
		"secret":            {Mark: warning, Text: "live credentials", Advice: "revoke them, and take them out of the files", Command: command("check")},
		"identities_broken": {Mark: warning, Text: "who is who cannot be read", Advice: "the last links that were read hold; correct the file", Command: command("check")},
		"unreadable":        {Mark: warning, Text: "files that cannot be read", Advice: "what was read of them last stays", Command: command("check")},
	}
	places := map[string]*counted{}
	for _, p := range problems {
		if p.Path == "" || p.Code == "subject_conflict" {
			continue // told with the daemon's health, and with the directories
		}
		c := cmp.Or(places[p.Code], &counted{})
		if places[p.Code] = c; p.Line > 0 {
			p.Path += fmt.Sprintf(":%d", p.Line)
		}
		c.add(p.Path)
	}
	var format []string
	for _, code := range slices.Sorted(maps.Keys(places)) {
		f, ok := grave[code]
		if !ok {
			format = append(format, fmt.Sprintf("%s (%s)", code, places[code]))
			continue
		}
		f.Text += ": " + places[code].String()
		list = append(list, f)
	}
	if format != nil {
		list = append(list, finding{Mark: note, Text: "problems of format: " + strings.Join(format, "; "), Advice: "each is explained by", Command: command("check")})
	}
	return list
}

func placesOf(list []api.Skipped) *counted {
	var c counted
	for _, s := range list {
		c.add(s.Path)
	}
	return &c
}

// lookAtOwners tells which files are never changed because of what they are.
func lookAtOwners(_ context.Context, e *examination) (list []finding) {
	if e.tree == nil {
		return nil
	}
	root := e.config.Memory.Dir
	if c := &e.tree.foreign; c.n > 0 {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%s of other users, never changed: %s", term.Plural(c.n, "file"), c), Command: c.command("sudo chown $(id -u)", "! -user $(id -u)", root)})
	}
	if c := &e.tree.readOnly; c.n > 0 {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("%s read-only, never changed: %s", term.Plural(c.n, "file"), c), Command: c.command("chmod u+w", "! -perm -u+w", root)})
	}
	if c := &e.tree.named; c.n > 0 {
		list = append(list, finding{Mark: note, Text: fmt.Sprintf("%s with several names (hard links), never changed: %s", term.Plural(c.n, "file"), c)})
	}
	if list == nil {
		return well("every file is ours to change")
	}
	return list
}

// lookAtConflicts tells where a sync tool has left it to a person.
func lookAtConflicts(_ context.Context, e *examination) []finding {
	if e.tree == nil || e.tree.conflicts.n == 0 {
		return nil
	}
	return []finding{{Mark: warning, Text: fmt.Sprintf("copies that a sync tool made of a conflict, which are not read: %s", &e.tree.conflicts),
		Advice: "take over what is missing in the file itself, then remove the copy"}}
}

// lookAtKept tells where the daemon has left it to a person.
func lookAtKept(_ context.Context, e *examination) (list []finding) {
	if e.tree == nil {
		return nil
	}
	for _, path := range e.tree.kept.first {
		whole := filepath.Join(e.config.Memory.Dir, filepath.FromSlash(path))
		list = append(list, finding{Mark: warning, Text: path + " is what somebody saved when something newer was saved too", Advice: "compare the two, then remove it",
			Command: "diff " + term.QuoteWord(keptName.ReplaceAllString(whole, "")) + " " + term.QuoteWord(whole)})
	}
	if more := e.tree.kept.n - len(e.tree.kept.first); more > 0 {
		list = append(list, finding{Mark: warning, Text: term.Plural(more, "more version") + " like this"})
	}
	return list
}

// lookAtLeftovers tells which temporary files nobody has removed.
func lookAtLeftovers(_ context.Context, e *examination) (list []finding) {
	if e.tree == nil {
		return nil
	}
	if c := &e.tree.temps; c.n > 0 {
		f := finding{Mark: note, Text: "temporary files of a daemon: " + c.String(), Advice: "the next daemon that starts settles them; leave them where they are until then"}
		if e.status != nil {
			f.Advice = "if they stay, restart the daemon, which settles them; do not remove them before"
		}
		list = append(list, f)
	}
	if c := &e.tree.leftovers; c.n > 0 {
		list = append(list, finding{Mark: note, Text: "left behind by editors, as it seems: " + c.String(),
			Advice: "they may hold what was not saved: have the editor recover it (vim -r), then remove them", Command: c.command("ls -l", "", e.config.Memory.Dir)})
	}
	return list
}

// lookAtWriting tells which files cannot be changed.
func lookAtWriting(_ context.Context, e *examination) (list []finding) {
	if e.status == nil {
		return nil
	}
	w := &e.status.Write
	for _, h := range w.Refused {
		list = append(list, finding{Mark: warning, Text: h.Path + " is not changed: " + h.Reason})
	}
	for _, h := range w.Waiting {
		list = append(list, finding{Mark: note, Text: h.Path + " waits to be changed: " + h.Reason})
	}
	if list == nil {
		return well("%s made, nothing waits", term.Plural(w.Applied, "change"))
	}
	return list
}

// lookAtRoom tells how full long-term files are, and who tidies up.
func lookAtRoom(_ context.Context, e *examination) (list []finding) {
	if e.status == nil || e.status.Compactor == nil {
		return nil
	}
	c := e.status.Compactor
	if c.Problem != "" {
		list = append(list, finding{Mark: warning, Text: "the last time it was tidied up: " + c.Problem, Command: e.flags.Command("compact --dry-run")})
	}
	if c.Passive {
		list = append(list, finding{Mark: note, Text: "another machine tidies up: " + c.Host, Advice: "if there is no such machine any more, name this one in compactor.host"})
	}
	for _, f := range c.NearLimit {
		m := note
		if f.Share > 1 {
			m = warning
		}
		list = append(list, finding{Mark: m, Text: f.Path + ": " + f.Hint, Command: e.flags.Command("compact --dry-run " + term.QuoteWord(f.Path))})
	}
	if list == nil {
		return well("no long-term file is nearly full")
	}
	return list
}

// lookAtTasks tells whether tasks are kept in step.
func lookAtTasks(_ context.Context, e *examination) (list []finding) {
	if e.status == nil || e.status.Todosync == nil {
		return nil
	}
	t := e.status.Todosync
	if t.Problem != "" {
		list = append(list, finding{Mark: warning, Text: "tasks are not kept in step: " + t.Problem})
	}
	for _, w := range t.Waiting {
		list = append(list, finding{Mark: note, Text: w.Path + " waits for a box to be ticked: " + w.Reason})
	}
	if t.Unclear > 0 {
		list = append(list, finding{Mark: note, Text: term.Plural(t.Unclear, "task") + " not ticked, because another of the same file fits as well", Command: e.flags.Command("todo plan")})
	}
	if list == nil {
		return well("kept in step")
	}
	return list
}

// lookAtJournal tells how much is kept of what was changed.
func lookAtJournal(_ context.Context, e *examination) []finding {
	size, n, err := sizeOf(filepath.Join(e.config.State.Dir, "journal"))
	if err != nil {
		return nil // nothing was ever written
	}
	return journalOf(size, n, config.ShortDuration(e.config.Journal.Keep))
}

// largeJournal is a size, in bytes, that a journal of one person's memory has
// only if something writes again and again.
const largeJournal = 512 << 20

func journalOf(size int64, files int, keep string) []finding {
	if size < largeJournal {
		return well("%s of what can be undone, kept for %s", term.Bytes(size), keep)
	}
	return []finding{{Mark: warning, Text: fmt.Sprintf("the journal has %s in %s", term.Bytes(size), term.Plural(files, "file")),
		Advice: "see what is written so much (memwatchd journal); journal.keep, " + keep + " now, says how long it is kept"}}
}
