package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
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
	"index": {problem, "The index has a problem: %s.",
		"Until then, answers are incomplete. If the problem stays, build the index again.", "rebuild"},
	"index_building": {note, "The index is being built: %s.", "Until then, answers are incomplete.", ""},
	"no_journal": {problem, "The daemon cannot write to any file: %s.",
		"The state directory must be yours and writable. Restart the daemon after that.", ""},
	"write": {warning, "The daemon cannot write to files now: %s.", "", "status"},
	"watch": {warning, "The watcher has a problem: %s.",
		"The daemon polls directories that it cannot watch. If there are too many, raise fs.inotify.max_user_watches.", ""},
	"refused":   {warning, "The daemon does not change %s.", "", "status"},
	"todosync":  {warning, "Tasks are not synchronized: %s.", "", "status"},
	"compactor": {warning, "The last maintenance of long-term files failed: %s.", "", "compact --dry-run"},
	"model":     {warning, "Requests to the model fail: %s.", "The daemon uses its rules instead.", ""},
	"embed": {warning, "Texts are not found by meaning: %s.",
		"Searches compare words meanwhile. See docs/search.md for the settings of common services.", ""},
	"topic": {warning, "The daemon receives no messages of the topic: %s.",
		"The daemon tries again, and then receives the messages that it missed.", ""},
	"share": {warning, "The shared store: %s.", "Entries stay on this machine until that is corrected.",
		"share status"},
	"unhealthy": {problem, "The daemon at %s is not healthy.", "", "status"},

	"differs": {warning, "The index differs from the files in %s.",
		"A file that is being written differs only briefly.", "check --fix"},
	"counter_wrong": {note, "Counters in the frontmatter are wrong in %s.",
		"The maintenance at night corrects them, and so does this command.", "check --fix"},
	"private_mark": {warning, "A private text makes all of its public file private in %s.",
		"The command moves the text to a private file beside it.", "check --fix"},
	"public_mark": {warning, "A public text in a private file is private in %s.",
		"The command moves the text to a public file beside it.", "check --fix"},
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
	"conflict_copy": {warning, "A sync tool left conflict copies in %s.",
		"Merge each conflict copy into its file. If machines write to the same daily notes, set memory.host to a " +
			"different name on each.", "conflicts merge"},
	"conflict_copies": {problem, "Files have many conflict copies in %s.",
		"Merge them now, and set maxConflicts of the folder to -1: Syncthing keeps 10 by default, and deletes the oldest " +
			"with its text.", "conflicts merge"},
	"format":  {note, "Files have problems of format in %s.", "", "check"},
	"skipped": {note, "The daemon skips files in %s.", "", "check"},
}

// A report collects findings for what the daemon reports.
type report struct {
	list    findings
	seen    map[string]bool // details that the list contains
	command func(string) string
}

// add adds the finding for a code of remedies, unless the detail is empty or was
// added; any other code is a warning.
func (r *report) add(code, detail string) {
	if detail == "" || r.seen[detail] {
		return
	}
	r.seen[detail] = true
	m, ok := remedies[code]
	if !ok {
		m = remedy{warning, "%s", "", ""}
	}
	if m.command != "" {
		m.command = r.command(m.command)
	}
	r.list.add(m.severity, m.advice, m.command, m.format, detail)
}

// maxListed is the number of paths that a finding lists.
const maxListed = 3

// listPaths returns the first paths and the number of the others.
func listPaths(paths []string) string {
	s := strings.Join(paths[:min(len(paths), maxListed)], ", ")
	if more := len(paths) - maxListed; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// inspectStatus shows the problems that the daemon reports of itself.
func inspectStatus(e *examination) findings {
	if e.status == nil {
		return nil
	}
	return statusFindings(e.status, e.flags.Command)
}

// statusFindings returns a finding for each problem in s that needs the user,
// except problems in files, which check reports.
func statusFindings(s *api.Status, command func(string) string) findings {
	r := report{seen: map[string]bool{}, command: command}
	if s.RootState == api.RootMissing || s.RootState == api.RootHolding {
		r.add("root_"+s.RootState, s.Root)
		r.seen[s.Watch.Problem] = true // the index repeats it
	}
	r.add("index", s.Index.Problem)
	if s.Index.Degraded && s.Index.Problem == "" {
		r.add("index_building", fmt.Sprintf("%d of %s", s.Index.Done, api.Plural(s.Index.Total, "file")))
	}
	if !s.Healthy && len(r.list) == 0 {
		r.add("no_journal", s.Write.Problem)
	}
	r.add("write", s.Write.Problem)
	r.add("watch", s.Watch.Problem)
	if n := len(s.Write.Refused); n > 0 {
		r.add("refused", api.Plural(n, "file"))
	}
	r.add("todosync", cmp.Or(s.Todosync, &api.TodosyncStatus{}).Problem)
	r.add("compactor", cmp.Or(s.Compactor, &api.CompactorStatus{}).Problem)
	r.add("model", cmp.Or(s.LLM, &api.ModelStatus{}).Failure)
	r.add("embed", cmp.Or(s.Embed, &api.EmbedStatus{}).LastError)
	if t := s.Topic; t != nil {
		r.add("topic", cmp.Or(t.Problem, api.TextIf(!t.Connected, "no connection to "+t.Server)))
	}
	if h := s.Share; h != nil {
		r.add("share", cmp.Or(h.Problem, h.LastError,
			api.TextIf(h.Refused > 0, "it refuses "+api.Plural(h.Refused, "entry"))))
	}
	for _, p := range s.Problems {
		if p.Path == "" {
			r.add(p.Code, p.Message)
		}
	}
	if !s.Healthy && !slices.ContainsFunc(r.list, func(f finding) bool { return f.Severity == problem }) {
		r.add("unhealthy", s.Root)
	}
	return r.list.orPassed("The daemon is %s: %s, %s, index at revision %d.", s.State,
		api.Plural(s.Files, "file"), api.Plural(s.Entries, "entry"), s.Index.Revision)
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
func checkFindings(a *api.CheckAnswer, command func(string) string) findings {
	places := map[string][]string{}
	for _, d := range a.Differing {
		places["differs"] = append(places["differs"], d.Path)
	}
	for _, p := range a.Problems {
		if p.Path == "" {
			continue // shown by statusFindings
		}
		if p.Line > 0 {
			p.Path += fmt.Sprintf(":%d", p.Line)
		}
		if _, ok := remedies[p.Code]; !ok {
			p.Code = "format"
		}
		places[p.Code] = append(places[p.Code], p.Path)
	}
	for _, s := range a.Skipped {
		places["skipped"] = append(places["skipped"], s.Path)
	}
	r := report{seen: map[string]bool{}, command: command}
	for _, code := range slices.Sorted(maps.Keys(places)) {
		clear(r.seen) // a file may have several problems
		r.add(code, fmt.Sprintf("%s: %s", api.Plural(len(places[code]), "place"), listPaths(places[code])))
	}
	return r.list.orPassed("The index agrees with %s.", api.Plural(a.Files, "file"))
}
