package memory

import "strings"

// What the attribute source of an entry begins with if it was not written by,
// or for, the subject: a text from a public context, and one from a topic that
// whoever knows its name can write to.
const (
	PublicSource = "public:"
	TopicSource  = "ntfy:"
)

// Untrusted reports whether the entry was written by others than its subject.
func (e *Entry) Untrusted() bool { return FromOthers(e.Source) }

// Untrusted reports whether the summary was written by others than the subject
// of the file.
func (f *Front) Untrusted() bool { return FromOthers(f.Source) }

// FromOthers reports whether a source is none of the subject's.
func FromOthers(source string) bool {
	return strings.HasPrefix(source, PublicSource) || strings.HasPrefix(source, TopicSource)
}
