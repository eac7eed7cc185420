package panics

import (
	"errors"
	"strings"
	"testing"
)

const secret = "the door code"

func failText()  { panic(secret) }
func failError() { panic(errors.New(secret)) }
func failIndex() { _ = []byte(secret)[len(strings.Repeat(secret, 2))] }
func failNil()   { _ = *(*int)(nil) }
func failAgain() {
	defer func() { panic(recover()) }()
	failText()
}

// TestDescribe checks that a description of a panic names its place and does not contain
// its value.
func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		fail        func()
		what, where string
	}{
		{failText, "panic with a string", "panics.failText < panics.TestDescribe"},
		{failError, "panic with a *errors.errorString", "panics.failError < "},
		{failAgain, "panic with a string", "panics.failText < panics.failAgain < panics.TestDescribe"},
		{failIndex, "runtime error: index out of range", "panics.failIndex < "},
		{failNil, "runtime error: invalid memory address", "panics.failNil < "},
	} {
		t.Run(c.where, func(t *testing.T) {
			defer func() {
				if got := Describe(recover()); !strings.HasPrefix(got, c.what) || strings.Contains(got, secret) {
					t.Errorf("described as %q", got)
				}
				if got := Short(Stack()); !strings.HasPrefix(got, c.where) {
					t.Errorf("stack %q", got)
				}
			}()
			c.fail()
		})
	}
}
