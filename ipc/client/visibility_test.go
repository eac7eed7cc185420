package client

import (
	"fmt"
	"testing"
)

// TestUnknownValues checks that every value other than the constants is the strictest one,
// such as a number of a program in which 0 means public.
func TestUnknownValues(t *testing.T) {
	for v, want := range map[fmt.Stringer]string{
		Visibility(""): "private_only", Visibility("0"): "private_only", Visibility("public"): "private_only", Visibility("PUBLIC_OK"): "private_only",
		Visibility(rune(0)): "private_only", Visibility(rune(1)): "private_only", PrivateOnly: "private_only", PublicOK: "public_ok",
		RequestContext(""): "unknown", RequestContext("Private"): "unknown", RequestContext("dm"): "unknown",
		ContextUnknown: "unknown", ContextPublic: "public", ContextPrivate: "private",
	} {
		if got := v.String(); got != want {
			t.Errorf("%#v is %s, want %s", v, got, want)
		}
	}
}
