package memory

import "path"

// A Place is what a path means, before the file has been read.
type Place struct {
	Path       string // relative to the root, with slashes, compared byte for byte
	Kind       Kind
	Owner      string     // owner key (see [Partition]) unless the frontmatter says otherwise; empty for sessions
	Dir        string     // the directory that stands for a subject ("acct_42"), or empty
	Day        string     // YYYY-MM-DD for session, daily and archived days
	Session    string     // base name without .md, for sessions
	Namespace  string     // for items
	Visibility Visibility // default of the entries
}

// daily reports whether the file is an archived daily note: it keeps the name of
// its day. Everything else in an archived day was a session.
func (p Place) daily() bool { return p.Kind == Archive && p.Day != "" && p.Session == p.Day }

// Archived is where a session or a daily note lies when its day is in the
// archive: below the subject that its frontmatter names, else the owner. It is
// read there as it was read before, by the same people. It is empty for other
// files, and for a session that would be taken for the note of its day.
func (l *Layout) Archived(p Place, subject string) string {
	switch {
	case p.Kind == Session && p.Session != p.Day, p.Kind == Daily && p.Dir == "":
	default:
		return ""
	}
	if ValidSubject(subject) != nil {
		subject = l.owner()
	}
	return archivedDay(SubjectDir(subject), p.Day, path.Base(p.Path))
}

// archivedDay is the path of a file of an archived day.
func archivedDay(dir, day, name string) string {
	return longtermsDir + "/" + dir + "/" + archiveDir + "/" + day + "/" + name
}
