// Package clock provides the current time for answers and files.
package clock

import "time"

// Now returns the current time. Tests replace it before anything else runs.
var Now = time.Now
