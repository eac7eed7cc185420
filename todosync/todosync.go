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
// What is private ticks nothing that is public: a tick that appears would tell
// those who may not read it that it is done. The other way round there is nothing
// to tell.
package todosync
