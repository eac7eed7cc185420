// Package clock has the time that answers and files are made with.
package clock

import "time"

// Now returns the current time. Tests replace it before anything else runs.
var Now = time.Now
