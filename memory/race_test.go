//go:build race

package memory

const raceFactor = 20 // how much slower the race detector makes things
