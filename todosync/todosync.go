// Package todosync keeps the copies of one task in step: when a task becomes
// done in one file, its open copies in other files are ticked.
//
// A [Catalogue] holds the last seen state of every box. A box that has become
// done since is a completion and acts once. [Catalogue.Resolve] compares the
// completion with all known boxes and returns requests for the matching copies,
// which wait until their files may be written. Only boxes change, from open to
// done, and only if exactly one box of a file matches. Manual changes always
// take precedence.
//
// These parts are pure: they turn files into requests. The [Syncer] adds timing,
// reading and writing.
//
// A private completion never ticks a public box, because the tick would
// disclose the completion to other readers. A public completion may tick a
// private box.
package todosync
