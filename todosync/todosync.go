// Package todosync keeps the copies of one task in step: when a task is seen to
// become done in one file, its open copies in other files are ticked.
//
// It remembers what every box was when it was last seen ([Catalogue]). What
// became done since is a completion, and acts once: it is compared with all that
// is known, and what it completes elsewhere becomes a wish ([Resolve]), which
// waits until its file may be written. Only boxes change, from open to done, and
// only where exactly one box of a file can be meant. Whatever a person does
// meanwhile, or afterwards, holds.
//
// All of that is pure: files in, wishes out. The [Syncer] is the part that lives
// in time.
//
// Whether a task is private does not divide its copies: the audience does. What
// is written to a public file because of a private one is a tick in a box, in
// front of words that stand there already; neither words nor ids nor places are
// carried from one file to another. The private text of a subject has that
// subject, so that what one subject keeps to itself ticks nothing of another's.
package todosync
