package client

import "testing"

// TestVisibility checks that every value other than PublicOK is private, such as
// a number of a program in which 0 means public.
func TestVisibility(t *testing.T) {
	for v, want := range map[Visibility]string{
		"": "private_only", "0": "private_only", "1": "private_only", "public": "private_only", "PUBLIC_OK": "private_only",
		Visibility(rune(0)): "private_only", Visibility(rune(1)): "private_only", PrivateOnly: "private_only", PublicOK: "public_ok",
	} {
		if got := v.String(); got != want {
			t.Errorf("%q is %s, want %s", string(v), got, want)
		}
	}
}
