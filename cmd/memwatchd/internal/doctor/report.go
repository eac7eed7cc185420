package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A remedy describes a problem that the daemon reports, and its solution.
type remedy struct {
	severity severity
	format   string // of the text; its verb is the detail
	advice   string
	command  string // arguments of memwatchd
}

// remedies maps codes to remedies. The codes of problems in files are those of
// [api.Problem]; the other codes stand for fields of [api.Status] and
// [api.CheckAnswer].
var remedies = map[string]remedy{
	"root_missing": {problem, "The memory directory %s is missing.",
		"If it is on a disk, mount the disk. The daemon continues by itself.", ""},
	"root_holding": {problem, "Many files of %s disappeared at once. The daemon keeps their entries for now.",
		"If you removed the files, wait for the next scan. If they are on a disk, mount the disk.", ""},
	"root_state": {problem, "The memory directory is not watched: its state is %s.", "", "status"},
	"index": {problem, "The index has a problem: %s.",
		"Until then, the daemon reads the files to answer. If the problem stays, build the index again.", "rebuild"},
	"index_building": {note, "The index is being built: %s.", "Until then, the daemon reads the files to answer.", ""},
	"no_journal": {problem, "The daemon cannot write to any file: %s.",
		"The state directory must be yours and writable. Restart the daemon after that.", ""},
	"write": {warning, "The daemon cannot write to files now: %s.", "", "status"},
	"watch": {warning, "The watcher has a problem: %s.",
		"The daemon polls directories that it cannot watch. If there are too many, raise fs.inotify.max_user_watches.", ""},
	"overflow": {note, "Events of files were lost %s since the start. The daemon scanned all files each time.",
		"If that happens often, raise fs.inotify.max_queued_events.", ""},
	"refused": {warning, "The daemon does not change these files: %s.", "", "status --verbose"},
	"waiting": {note, "The daemon waits before it changes these files: %s.", "", "status --verbose"},
	"kept": {warning, "Files contain versions from the moment of a crash: %s.",
		"Compare each with the file that it belongs to, then remove it.", ""},
	"todosync":      {warning, "Tasks are not synchronized: %s.", "", "status"},
	"todos_waiting": {note, "Boxes of tasks are not ticked yet: %s.", "", "status --verbose"},
	"todos_unclear": {note, "%s are not ticked, because another task of the same file matches equally well.",
		"", "todo plan"},
	"compactor": {warning, "The last maintenance of long-term files failed: %s.", "", "compact --dry-run"},
	"passive": {note, "Another machine maintains the long-term files: %s.",
		"If that machine is gone, set compactor.host to the name of this machine.", ""},
	"near_limit": {note, "Long-term files are nearly full: %s.", "", "compact --dry-run"},
	"over_limit": {warning, "Long-term files are over their limits: %s.", "", "compact --dry-run"},
	"model":      {warning, "Requests to the model fail: %s.", "The daemon uses its rules instead.", ""},
	"embed": {warning, "Texts are not found by meaning: %s.",
		"Searches compare words meanwhile. See docs/search.md for the settings of common services.", ""},
	"rejected": {note, "The model of embed.model returns no vectors of %s.", "These texts are found by words only.", ""},
	"topic": {warning, "The daemon receives no messages of the topic: %s.",
		"The daemon tries again, and then receives the messages that it missed.", ""},
	"share":     {warning, "The shared store: %s.", "Entries stay on this machine until that is corrected.", "share status"},
	"unhealthy": {problem, "The daemon at %s is not healthy.", "", "status"},

	"differs": {warning, "The index differs from the files in %s.",
		"A file that is being written differs only briefly.", "check --fix"},
	"counter_wrong": {note, "Counters in the frontmatter are wrong in %s.",
		"The maintenance at night corrects them, and so does this command.", "check --fix"},
	"overwritten": {warning, "Another program removed text that the daemon wrote to %s.",
		"check names the changes, and the command that makes them again.", "check"},
	"secret": {warning, "Files contain live credentials in %s.",
		"Revoke the credentials and remove them from the files.", "check"},
	"subject_conflict": {warning, "More than one subject claims a directory in %s. No subject can read it.",
		"Correct subject_id in the files that name the wrong subject.", "check"},
	"identities_broken": {warning, "The links between identities cannot be read in %s.",
		"The last links that were read stay in use. Correct the file.", "check"},
	"unreadable": {warning, "The daemon cannot read files in %s.", "The entries that it read last stay in use.",
		"check"},
	"format":  {note, "Files have problems of format in %s.", "", "check"},
	"skipped": {note, "The daemon skips files in %s.", "", "check"},
}

// addProblem adds the finding for a problem with a code of remedies; any other code is a
// warning.
func (l *findings) addProblem(code, detail string, command func(string) string) {
	r, ok := remedies[code]
	if !ok {
		r = remedy{warning, "%s", "", ""}
	}
	if r.command != "" {
		r.command = command(r.command)
	}
	l.add(r.severity, r.advice, r.command, r.format, detail)
}

// inspectStatus shows the problems that the daemon reports of itself.
func inspectStatus(e *examination) findings {
	if e.status == nil {
		return nil
	}
	return statusFindings(e.status, e.flags.Command)
}

// statusFindings returns a finding for each problem in s, except problems in
// files, which check reports.
func statusFindings(s *api.Status, command func(string) string) (list findings) {
	seen := map[string]bool{"": true}
	add := func(code, detail string) {
		if !seen[detail] {
			list.addProblem(code, detail, command)
		}
		seen[detail] = true
	}
	addFiles := func(code string, files []api.Skipped) {
		var paths pathSample
		for _, f := range files {
			paths.add(f.Path + " (" + f.Reason + ")")
		}
		add(code, paths.String())
	}
	switch s.RootState {
	case "watched", "starting":
	case api.RootMissing, api.RootHolding:
		add("root_"+s.RootState, s.Root)
		seen[s.Watch.Problem] = true // the index repeats it
	default:
		add("root_state", s.RootState)
	}
	add("index", s.Index.Problem)
	if s.Index.Degraded && s.Index.Problem == "" {
		add("index_building", fmt.Sprintf("%d of %s", s.Index.Done, term.Plural(s.Index.Total, "file")))
	}
	if !s.Healthy && len(list) == 0 {
		add("no_journal", s.Write.Problem)
	}
	add("write", s.Write.Problem)
	add("watch", s.Watch.Problem)
	if s.Watch.Overflows > 0 {
		add("overflow", term.Plural(s.Watch.Overflows, "time"))
	}
	addFiles("refused", s.Write.Refused)
	addFiles("waiting", s.Write.Waiting)
	var found pathSample
	for _, path := range s.Write.ConflictCopies {
		if !savedCopyName().MatchString(path) { // inspectSync shows these
			found.add(path)
		}
	}
	add("kept", found.String())
	if t := s.Todosync; t != nil {
		add("todosync", t.Problem)
		addFiles("todos_waiting", t.Waiting)
		if t.Unclear > 0 {
			add("todos_unclear", term.Plural(t.Unclear, "task"))
		}
	}
	if c := s.Compactor; c != nil {
		add("compactor", c.Problem)
		if c.Passive {
			add("passive", c.Host)
		}
		var near, over pathSample
		for _, f := range c.NearLimit {
			paths := &near
			if f.Share > 1 {
				paths = &over
			}
			paths.add(fmt.Sprintf("%s (%.0f %%)", f.Path, 100*f.Share))
		}
		add("over_limit", over.String())
		add("near_limit", near.String())
	}
	if m := s.LLM; m != nil && m.Failure != "" {
		add("model", fmt.Sprintf("%d of %d, the last with: %s", m.Failed, m.Requests, m.Failure))
	}
	if m := s.Embed; m != nil {
		add("embed", m.LastError)
		if m.LastError == "" && m.Dimensions == 0 {
			add("embed", "no response of "+m.Endpoint+" yet")
		}
		if m.Rejected > 0 {
			add("rejected", term.Plural(m.Rejected, "text"))
		}
	}
	if s.Topic != nil && !s.Topic.Connected {
		add("topic", cmp.Or(s.Topic.Problem, "no connection to "+s.Topic.Server))
	} else if s.Topic != nil {
		add("topic", s.Topic.Problem)
	}
	if h := s.Share; h != nil {
		add("share", cmp.Or(h.Problem, h.LastError))
		if h.Refused > 0 {
			add("share", "it refuses "+term.Plural(h.Refused, "entry"))
		}
	}
	for _, p := range s.Problems {
		if p.Path == "" {
			add(p.Code, p.Message)
		}
	}
	if !s.Healthy && !slices.ContainsFunc(list, func(f finding) bool { return f.Severity == problem }) {
		add("unhealthy", s.Root)
	}
	return list.orPassed("The daemon is %s: %s, %s, index at revision %d.", s.State,
		term.Plural(s.Files, "file"), term.Plural(s.Entries, "entry"), s.Index.Revision)
}

// inspectCheck shows the result of the daemon's comparison of files and index.
func inspectCheck(e *examination) (list findings) {
	switch {
	case e.check != nil:
		return checkFindings(e.check, e.flags.Command)
	case e.status != nil:
		list.add(warning, "Run the comparison alone, without a time limit.", e.flags.Command("check"),
			"The daemon did not compare files and index: %v.", e.checkErr)
	}
	return list
}

// checkFindings returns a finding with counts and places for each kind of problem
// in a. It does not include messages, since a message may quote a file.
func checkFindings(a *api.CheckAnswer, command func(string) string) (list findings) {
	kinds := map[string]*pathSample{}
	add := func(code, place string) {
		kinds[code] = cmp.Or(kinds[code], &pathSample{})
		kinds[code].add(place)
	}
	for _, d := range a.Differing {
		add("differs", d.Path)
	}
	for _, p := range a.Problems {
		if p.Path == "" || p.Code == "conflict_copy" || p.Code == "conflict_copies" {
			continue // shown by statusFindings and inspectSync
		}
		if p.Line > 0 {
			p.Path += fmt.Sprintf(":%d", p.Line)
		}
		if _, ok := remedies[p.Code]; !ok {
			p.Code = "format"
		}
		add(p.Code, p.Path)
	}
	for _, s := range a.Skipped {
		add("skipped", s.Path)
	}
	for _, code := range slices.Sorted(maps.Keys(kinds)) {
		c := kinds[code]
		list.addProblem(code, fmt.Sprintf("%s: %s", term.Plural(c.n, "place"), c), command)
	}
	return list.orPassed("The index agrees with %s.", term.Plural(a.Files, "file"))
}
