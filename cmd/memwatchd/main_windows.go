package main

import (
	"fmt"
	"os"
)

// The program requires identities, locks and exchanges of files of Unix.
func main() {
	fmt.Fprintln(os.Stderr, "memwatchd does not run on Windows itself: install it in WSL, "+
		"and run it there, or from Windows as `wsl memwatchd`")
	os.Exit(1)
}
