// Package ipc is what a program can ask of a memory, and the wires it may ask
// over.
//
// There is one table of operations ([Operations]). Each is a typed Go function,
// registered once with its name, its request and its answer; HTTP on Unix
// sockets and the command line are both made from the table, by reflection over
// the request, so that they cannot differ.
//
// The rules of the surface:
//
//   - An operation is POST /v1/<name> with one JSON object. A field that is not
//     known is an error which names it and the nearest that is. GET serves
//     /v1/status, /v1/events, /metrics and /healthz.
//   - Every request has a scope: who is asking, and where the answer will be
//     shown. One that says nothing is nobody, in an unknown context.
//   - What a scope may not read does not exist for it. An unreadable file and a
//     file that is not there are answered with the same bytes.
//   - A listener with a fixed scope can be narrowed by a request, never widened,
//     and administration is not reachable through it.
//   - Who is at the other end of a connection is decided once, when it is
//     accepted.
package ipc
