//go:build unix && !linux && !darwin

package watcher

// Remote returns "", because this system has no detection of remote file
// systems.
func Remote(string) string { return "" }
