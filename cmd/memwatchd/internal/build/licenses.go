package build

import _ "embed"

// Licenses contains the licenses and notices of all modules in the program. A
// test compares it with go.mod.
//
//go:embed licenses.txt
var Licenses string
