package console

import "testing"

// TestEditorAddress checks the addresses that open files in an editor: as given, of a
// known program, and of the user's editor.
func TestEditorAddress(t *testing.T) {
	t.Setenv("VISUAL", "/usr/bin/code --wait")
	t.Setenv("EDITOR", "vi")
	for name, want := range map[string]string{
		"":                 "vscode://file{path}:{line}",
		"zed":              "zed://file{path}:{line}",
		"my://open?{path}": "my://open?{path}",
		"vi":               "",
	} {
		if got := editorAddress(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
