// Package api describes the operations of a memory: their requests, answers,
// errors and parameters.
//
// [Operations] is the table of all operations. HTTP, the Model Context
// Protocol, the command line, its help and the documentation are generated from
// the table by reflection over the requests, so they cannot differ. Other
// packages implement the operations.
//
// The rules of the interface:
//
//   - An operation is POST /v1/<name> with one JSON object. An unknown field is
//     an error that names the field and the nearest known one. GET serves
//     /v1/status, /v1/events, /metrics and /healthz. POST /mcp serves models.
//   - Every request has a [Scope]: the caller and the context in which the
//     answer will be shown. An empty scope is an anonymous caller in an unknown
//     context.
//   - Entries that a scope may not read do not exist for that scope. A hidden
//     file and a missing file are answered with the same bytes.
//   - A request can narrow the fixed scope of a listener, never widen it.
//     Administrative operations are not reachable through such a listener.
package api
