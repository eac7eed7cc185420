// Package ipc serves the operations that package api describes to other
// processes: as HTTP on Unix sockets and loopback addresses, and by the Model
// Context Protocol at /mcp.
//
// A connection goes from listener.go over gate.go and handler.go to a [Backend],
// which does the operation. The process at the other end of a connection is
// identified once, when the connection is accepted.
package ipc
