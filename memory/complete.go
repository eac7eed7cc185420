package memory

import "time"

// CompleteSession gives the frontmatter of a session's file what it should have:
// what the head says, and what is missing. A value that is a list or a map, which
// nobody could read as that key, stays.
func (r *Revision) CompleteSession(h SessionHead) {
	r.complete(h.Now, h.Summary)
	r.give("session_id", h.SessionID)
	r.give("source", h.Source)
	r.give("channel", h.Channel)
	r.give("subject_id", h.SubjectID)
	r.give("contact_id", h.ContactID)
	if h.ContactID != "" {
		r.set("contact_nickname", h.ContactNickname, h.ContactNickname != "")
	}
	r.give("contact_nickname", h.ContactNickname)
	r.SetCounters()
}

// CompleteLongTerm gives the frontmatter of a subject's long-term file what it
// should have and lacks, and a summary of ours if nobody has written one.
func (r *Revision) CompleteLongTerm(subject string, now time.Time) {
	r.complete(now, "")
	r.set("subject_id", subject, false)
	r.SetCounters()
	summary, ok := r.doc.Front.Field("summary")
	r.titles = r.titles || !ok || r.doc.Titled() || summary.scalar() && r.doc.Front.Summary == ""
}

// complete gives a frontmatter what those of all sorts have.
func (r *Revision) complete(now time.Time, summary string) {
	r.set("created_at", Timestamp(now), false)
	r.set("updated_at", Timestamp(now), true)
	r.set("summary", summary, summary != "")
	for _, key := range []string{"tasks", "follow_ups"} {
		r.set(key, Progress{}.String(), false)
		r.counted = append(r.counted, key)
	}
}

// give gives a key a value unless that is empty.
func (r *Revision) give(key, value string) {
	if value != "" {
		r.set(key, value, true)
	}
}

// set gives a key a value if it is missing, or always if that can be.
func (r *Revision) set(key, value string, always bool) {
	f, ok := r.doc.Front.Field(key)
	if !ok || always && f.scalar() {
		r.SetField(key, value)
	}
}
