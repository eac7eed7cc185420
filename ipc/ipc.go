// Package ipc is what a program can ask of a memory, and the wires it may ask
// over.
//
// There is one table of operations ([Operations]). Each is a typed Go function,
// registered once with its name, its request and its answer; HTTP on Unix
// sockets, the Model Context Protocol and the command line are made from the
// table, by reflection over the request, so that they cannot differ.
//
// Where things are: table.go has the table, and operation.go and param.go what a
// row and a parameter are; each operation is in a file of its name. A connection
// goes from listener.go over gate.go and handler.go to an operation; client.go is
// the other end. What a model is given of the table is in tool*.go, and how it
// asks in mcp*.go: of a socket (mcphttp.go), or of a program that it starts
// (mcpstdio.go), which asks as any client does.
//
// The rules of the surface:
//
//   - An operation is POST /v1/<name> with one JSON object. A field that is not
//     known is an error which names it and the nearest that is. GET serves
//     /v1/status, /v1/events, /metrics and /healthz. POST /mcp is for models.
//   - Every request has a scope: who is asking, and where the answer will be
//     shown. One that says nothing is nobody, in an unknown context.
//   - What a scope may not read does not exist for it. An unreadable file and a
//     file that is not there are answered with the same bytes.
//   - A listener with a fixed scope can be narrowed by a request, never widened,
//     and administration is not reachable through it.
//   - Who is at the other end of a connection is decided once, when it is
//     accepted.
package ipc
