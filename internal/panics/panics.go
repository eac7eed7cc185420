// Package panics describes recovered panics for the log.
package panics

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Describe describes the value of a panic. It omits all values but those of the runtime,
// because they may contain text of files.
func Describe(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic with a %T", v)
}

// maxFunctions bounds the functions that Stack returns.
const maxFunctions = 64

// Stack returns the names of the functions that panicked, the innermost first, and of their
// callers. Only a deferred function may call it.
func Stack() (functions []string) {
	var counters [maxFunctions]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == "runtime.gopanic" || f.Function == "runtime.sigpanic" {
			functions = functions[:0] // the functions that recover
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			functions = append(functions, f.Function)
		}
	}
	return functions
}

// Short returns the first functions of a stack, without the paths of their packages.
func Short(stack []string) string {
	var names []string
	for _, f := range stack[:min(len(stack), 8)] {
		names = append(names, path.Base(f))
	}
	return strings.Join(names, " < ")
}
