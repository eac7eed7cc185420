//go:build race

package memory

const raceFactor = 20 // slowdown by the race detector
