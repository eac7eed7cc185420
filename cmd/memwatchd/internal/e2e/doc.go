// Package e2e tests the whole program: the test binary runs as memwatchd, and
// the tests use the daemon as its users do, on the command line, with editors,
// over sockets and through agents.
//
// The directory testdata/script contains testscript files. Tests that begin
// with live need a running daemon. Other tests compare the documentation, the
// generated files and the messages with the program; the flag -update rewrites
// their golden files.
package e2e
