//go:build !windows

// Memwatchd watches a directory of Markdown files that is the memory of an agent
// or a person, keeps an index of it fresh, and answers requests over a Unix
// socket, HTTP, MCP and on the command line.
package main

import "github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"

func main() { app.Main() }
