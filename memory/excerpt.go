package memory

import "bytes"

// Where a file holds both text that only some may read and text that more may
// read, it is two documents: the whole, for the former, and the excerpt, for the
// others. The excerpt is read from nothing but the lines that are left when the
// private ones had never been written. So it cannot depend on them in any way:
// not by what is an entry and what introduces it, nor by ids, numbers or times.

// For is the document as a view knows it. It is nil where there is nothing for
// the view, which is the same as no file.
func (d *Document) For(v View) *Document {
	switch {
	case v.Readable(d.Partition):
		return d
	case d.excerpt == nil || !v.Readable(d.excerpt.Partition):
		return nil
	case d.Stale:
		stale := *d.excerpt
		stale.Stale = true
		return &stale
	}
	return d.excerpt
}

// Excerpt is the document as those know it who may read its public text only;
// nil if that is all of it, or nothing.
func (d *Document) Excerpt() *Document { return d.excerpt }

// excerptOf is what an excerpt does not say itself.
type excerptOf struct {
	owner string
	front bool // it begins with the frontmatter
}

// setApart decides where the document is kept, and makes its excerpt.
func (d *Document) setApart(l *Layout, meta Meta) {
	d.Partition = d.closed
	public := d.Own.Visibility == PublicOK
	for i := 0; !public && i < len(d.Entries); i++ {
		public = d.Entries[i].Partition.Visibility == PublicOK
	}
	if !public {
		return
	}
	// Who reads the public text, and nothing else.
	v := View{owners: map[string]string{d.public.Owner: ""}}
	if d.whole(v) {
		if !blank(d.Source) {
			d.Partition = d.public
		}
		return
	}
	shown := d.Shown(v)
	if shown.Empty() {
		return
	}
	var src, masked []byte
	for _, line := range shown.source {
		s := d.lines.span(line, line)
		if n := len(src) - 1; n >= 0 && src[n] == '\r' && d.Source[s.Start] == '\n' {
			src[n], masked[n] = '\n', '\n' // two ends of lines must not become one
		}
		src = append(src, d.Source[s.Start:s.End]...)
		masked = append(masked, d.masked[s.Start:s.End]...)
	}
	if bytes.Equal(src, masked) {
		masked = src
	}
	front := d.Front.Span.End > 0 && shown.Line(1) == 1
	d.excerpt = l.parse(d.Place.Path, src, masked, meta, &excerptOf{d.public.Owner, front})
	d.excerpt.Partition = d.public
	d.excerpt.Partition.Excerpt = true
}
