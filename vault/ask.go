package vault

import (
	"errors"
	"runtime/debug"
)

// What is wrong with a program that wishes for a change: it is refused, and
// everything else goes on.
var (
	errPanic   = errors.New("there is a mistake in memwatchd, which its log describes; please report it")
	errMeddled = errors.New("there is a mistake in memwatchd: the change altered what it was given; please report it")
)

// ask asks a change what the file is to be; old is nil if there is none. Nobody
// but the writer is there to notice a mistake in it: the file is read and
// changed on a goroutine of its own, where a panic would end the daemon, and do
// so again whenever it meets the same file.
func (w *Writer) ask(c *Change, old *source) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.logger().Error("panic in a change", "path", c.Path, "cause", c.Cause, "err", v, "stack", string(debug.Stack()))
			data, err = nil, errPanic
		}
	}()
	w.Vault.steps.end(w.step) // however long it thinks, the disk is not to blame
	defer func() { w.step = w.Vault.steps.again() }()
	if old == nil {
		return c.Edit(nil)
	}
	data, err = c.Edit(&old.File)
	if hashOf(old.Data) != old.hash {
		return nil, errMeddled
	}
	return data, err
}
