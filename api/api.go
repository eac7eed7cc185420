// Package api describes the operations of a memory: their requests, answers,
// errors and parameters.
//
// [Operations] is the table of all operations. HTTP, the Model Context Protocol,
// the command line, its help and the documentation are made from the table by
// reflection over the requests, so they cannot differ. The functions that do the
// operations are elsewhere.
//
// The rules of the surface:
//
//   - An operation is POST /v1/<name> with one JSON object. An unknown field is an
//     error that names the field and the nearest known one. GET serves /v1/status,
//     /v1/events, /metrics and /healthz. POST /mcp is for models.
//   - Every request has a [Scope]: the caller, and where the answer will be shown.
//     An empty scope is an anonymous caller in an unknown context.
//   - Entries that a scope may not read do not exist for it. A hidden file and a
//     missing file are answered with the same bytes.
//   - A request can narrow the fixed scope of a listener, never widen it, and no
//     administration is reachable through such a listener.
package api
