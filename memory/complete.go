package memory

import (
	"slices"
	"time"
)

// CompleteSession completes the frontmatter of a session's file: it sets the
// values of the head and adds missing keys. A value that is a list or a map,
// which is invalid for these keys, stays.
func (r *Revision) CompleteSession(h SessionHead) {
	r.setCommonFields(h.Now, h.Summary)
	for _, f := range h.fields() {
		text, isText := f.value.(string)
		if isText {
			r.ensureField(f.key, text, text != "")
		}
	}
	r.addTags(h.Tags)
	r.SetCounters()
}

// addTags adds tags to those of the frontmatter. If the key has a value that
// cannot be replaced, the tags stay as they are.
func (r *Revision) addTags(tags []string) {
	front := &r.doc.Front
	field, ok := front.Field("tags")
	all := tagList(slices.Concat(front.Tags, tags))
	if len(all) > len(tagList(front.Tags)) && (!ok || field.Span.End > 0) {
		r.setValue("tags", all)
	}
}

// KeepSummary records that the summary stays although items change: the key
// summary_at contains the time of the summary from then on.
func (r *Revision) KeepSummary() {
	front := &r.doc.Front
	if _, ok := front.Field("summary_at"); !ok && front.Summary != "" && !front.Updated.IsZero() {
		r.SetField("summary_at", Timestamp(front.Updated))
	}
}

// CompleteLongTerm adds the missing keys of the frontmatter of a subject's
// long-term file, and a generated summary if the file has none.
func (r *Revision) CompleteLongTerm(subject string, now time.Time) {
	r.setCommonFields(now, "")
	r.ensureField("subject_id", subject, false)
	r.SetCounters()
	summary, ok := r.doc.Front.Field("summary")
	r.titles = r.titles || !ok || r.doc.HasGeneratedSummary() || summary.isScalar() && r.doc.Front.Summary == ""
}

// setCommonFields sets the keys that every kind of frontmatter has.
func (r *Revision) setCommonFields(now time.Time, summary string) {
	r.ensureField("created_at", Timestamp(now), false)
	r.ensureField("updated_at", Timestamp(now), true)
	r.ensureField("summary", summary, summary != "")
	if _, ok := r.doc.Front.Field("summary_at"); ok && summary != "" {
		r.SetField("summary_at", Timestamp(now))
	}
	for _, key := range []string{"tasks", "follow_ups"} {
		r.ensureField(key, Progress{}.String(), false)
		r.counted = append(r.counted, key)
	}
}

// ensureField sets a key if it is missing or, if always is true, also if it has a
// scalar value.
func (r *Revision) ensureField(key, value string, always bool) {
	f, ok := r.doc.Front.Field(key)
	if !ok || always && f.isScalar() {
		r.SetField(key, value)
	}
}
