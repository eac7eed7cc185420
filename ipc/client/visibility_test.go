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

// TestRequestContext checks that every value other than the constants means
// unknown, which is treated as public.
func TestRequestContext(t *testing.T) {
	for c, want := range map[RequestContext]string{
		"": "unknown", "Private": "unknown", "dm": "unknown", ContextUnknown: "unknown", ContextPublic: "public", ContextPrivate: "private",
	} {
		if got := c.String(); got != want {
			t.Errorf("%q is %s, want %s", string(c), got, want)
		}
	}
}
