// Package ipc serves the operations of package api to other processes: as HTTP
// on Unix sockets and loopback addresses, and over the Model Context Protocol
// at /mcp.
//
// A connection passes from listener.go through limitlistener.go and handler.go to a
// [Backend], which executes the operation. The process at the other end of a
// connection is identified once, when the connection is accepted.
package ipc
