// Package ipc does the operations that package api describes, and serves them to
// other processes: as HTTP on Unix sockets and loopback addresses, and by the
// Model Context Protocol.
//
// A connection goes from listener.go over gate.go and handler.go to an operation,
// which is in a file of its name; bind.go attaches functions to the table.
// client.go is the other end. What a model is given of the table is in tool*.go,
// and how it asks in mcp*.go: of a socket (mcphttp.go), or of a program that it
// starts (mcpstdio.go), which asks as any client does.
//
// The process at the other end of a connection is identified once, when the
// connection is accepted.
package ipc
