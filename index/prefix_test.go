package index

import "testing"

func TestHasShortPrefix(t *testing.T) {
	for text, want := range map[string]bool{
		"ce*": true, "renew ce* now": true, "é*": true,
		"cer*": false, "ce": false, "*": false, "*ce*": false, "**": false, "证*": false, "": false,
	} {
		if got := HasShortPrefix(text); got != want {
			t.Errorf("HasShortPrefix(%q) = %t", text, got)
		}
	}
}
