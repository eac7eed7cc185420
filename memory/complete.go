package memory

// CompleteSession gives the frontmatter of a session's file what it should have:
// what the head says, and what is missing. A value that is a list or a map, which
// nobody could read as that key, stays.
func (r *Revision) CompleteSession(h SessionHead) {
	set := func(key, value string, always bool) {
		f, ok := r.doc.Front.Field(key)
		if !ok || always && f.scalar() {
			r.SetField(key, value)
		}
	}
	given := func(key, value string) {
		if value != "" {
			set(key, value, true)
		}
	}
	set("created_at", Timestamp(h.Now), false)
	set("updated_at", Timestamp(h.Now), true)
	set("summary", h.Summary, h.Summary != "")
	for _, key := range []string{"tasks", "follow_ups"} {
		set(key, Progress{}.String(), false)
		r.counted = append(r.counted, key)
	}
	given("session_id", h.SessionID)
	given("source", h.Source)
	given("channel", h.Channel)
	given("subject_id", h.SubjectID)
	given("contact_id", h.ContactID)
	if h.ContactID != "" {
		set("contact_nickname", h.ContactNickname, h.ContactNickname != "")
	}
	given("contact_nickname", h.ContactNickname)
	r.SetCounters()
}
