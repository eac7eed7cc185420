//go:build unix && !linux && !darwin

package watcher

// Remote is not known here.
func Remote(string) string { return "" }
