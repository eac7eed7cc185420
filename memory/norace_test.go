//go:build !race

package memory

const raceFactor = 1
