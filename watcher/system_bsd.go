//go:build unix && !linux && !darwin

package watcher

// remote is not known here.
func remote(string) string { return "" }
