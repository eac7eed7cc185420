// Package delaygc delays the first garbage collection of the process. Programs
// import it for this effect only.
//
// Without it, the collector would run while the packages are initialized, although
// most commands end before they need it. Go initializes a package that imports
// little before those that import much.
package delaygc

import (
	"os"
	"runtime/debug"
	"time"
)

// delayed is a percentage that the daemon does not use.
const delayed = 401

// init sets the percentage. After a second, garbage is collected as usual, unless the
// daemon has set its own limit.
func init() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(delayed)
	time.AfterFunc(time.Second, func() {
		now := debug.SetGCPercent(usual)
		if now != delayed {
			debug.SetGCPercent(now)
		}
	})
}
