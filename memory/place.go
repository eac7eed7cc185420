package memory

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
