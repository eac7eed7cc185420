package ops

import (
	"context"
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// An addition is an entry that an operation writes, and where it stands afterwards.
type addition struct {
	memory.Put
	same   bool          // there was the same entry
	before string        // path of another file with the same entry, in which case it is not written
	stands *memory.Entry // in the caller's view; nil for none
}

// line returns the line of the entry in the caller's view, or 0.
func (p *addition) line() int {
	if p.stands == nil {
		return 0
	}
	return p.stands.Line
}

// A putEdit is a list of entries that an operation puts into a file in one change.
type putEdit struct {
	cause string // the operation
	group string // see fileEdit
	name  string // of an edit that others of the same caller can join; see editTogether
	puts  []*addition

	// same reports whether an entry is the one to put. The first such entry of the file stays,
	// or with replace, is replaced. One in another file is not written.
	same    func(*memory.Entry, *addition) bool
	replace bool
	others  []*memory.Document

	// unread finds entries that the caller cannot read, too, of which it must not learn.
	unread bool

	// check rejects a file or completes the entries for it, insert adds the new entries to it, and
	// finish makes further changes if it changes. Only insert must be set.
	check  func(*writeTarget, *memory.Document) error
	insert func(*writeTarget, *memory.Document, *memory.Revision, []*memory.Put)
	finish func(*memory.Document, *memory.Revision)

	written vault.Written // the change
}

// put puts entries into the first target that takes them, and sets where they stand. It returns
// the file after the change, or nil if other files contain all entries.
func (m writeOps) put(ctx context.Context, c Call, targets []writeTarget, e *putEdit) (after *memory.Document,
	err error) {
	err = eachTarget(targets, func(t writeTarget) (err error) {
		if err := m.fitPuts(c, t.path, e); err != nil {
			return err
		}
		if !slices.ContainsFunc(e.puts, func(p *addition) bool { return !p.same }) {
			return nil
		}
		after, e.written, err = m.editTogether(ctx, c, e.name, fileEdit{writeTarget: t, cause: e.cause, group: e.group,
			change: func(doc *memory.Document, r *memory.Revision) (err error) {
				if e.check != nil {
					err = e.check(&t, doc)
				}
				if err == nil {
					m.revisePuts(c, e, &t, doc, r)
				}
				return err
			}})
		return err
	})
	if err != nil || after == nil {
		return nil, err
	}
	if known := after.For(c.View); known != nil {
		for _, p := range e.puts {
			p.stands = e.standing(known, p)
		}
	}
	return after, nil
}

// fitPuts finds the forms of the entries for a file, and those in other files.
func (m writeOps) fitPuts(c Call, path string, e *putEdit) error {
	for _, p := range e.puts {
		if err := m.Layout.Fit(path, &p.Put); err != nil {
			return api.Errorf(api.Invalid, "text would be parsed as the structure of the file").
				WithHint("remove Markdown markup")
		}
		p.before = ""
		for _, doc := range e.others {
			if e.find(c, doc, p) >= 0 {
				p.before = doc.Place.Path
			}
		}
		p.same = p.before != ""
	}
	return nil
}

// find returns the index of the first readable entry of a file that is the one to put, or -1.
func (e *putEdit) find(c Call, doc *memory.Document, p *addition) int {
	return slices.IndexFunc(doc.Entries,
		func(f memory.Entry) bool { return (e.unread || f.Readable(c.View)) && e.same(&f, p) })
}

// revisePuts adds the changes of a file to a revision.
func (m writeOps) revisePuts(c Call, e *putEdit, t *writeTarget, doc *memory.Document, r *memory.Revision) {
	var fresh []*memory.Put
	for i, p := range e.puts {
		at := e.find(c, doc, p)
		p.same = at >= 0 || p.before != "" ||
			slices.ContainsFunc(e.puts[:i], func(q *addition) bool { return q.Entry().Norm == p.Entry().Norm })
		switch {
		case !p.same:
			fresh = append(fresh, &p.Put)
		case at >= 0 && e.replace:
			r.Replace(at, &p.Put, m.Now())
		case at >= 0 && p.Attributes["supersedes"] != "":
			r.SetAttribute(at, "supersedes", p.Attributes["supersedes"])
		}
	}
	if len(fresh) > 0 {
		e.insert(t, doc, r, fresh)
	}
	if e.finish != nil && !r.Empty() {
		e.finish(doc, r)
	}
}

// standing returns the last entry of a file with the text of the one to put, or without it, the
// same one.
func (e *putEdit) standing(known *memory.Document, p *addition) *memory.Entry {
	for i := range slices.Backward(known.Entries) {
		f := &known.Entries[i]
		if p.before == "" && (f.Norm == p.Entry().Norm || !e.replace && e.same(f, p)) {
			return f
		}
	}
	return nil
}
