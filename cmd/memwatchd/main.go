// Memwatchd watches a directory of Markdown files that is somebody's memory,
// keeps an index of it fresh, and answers questions about it over a Unix socket
// and on the command line.
package main

import "github.com/memwatchd/memwatchd/cmd/memwatchd/internal/app"

func main() { app.Main() }
