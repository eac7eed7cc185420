package vault

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadObsidian(t *testing.T) {
	v := newVault(t, map[string]string{
		dailyNotesFile: `{"folder": "Journal", "format": "YYYY/DD-MM-YYYY", "template": "x", "autorun": true}`,
		templatesFile:  `{"folder": "Te[m]plates #1/"}`, templaterFile: `{"templates_folder": "more/T", "x": [1]}`,
	})
	o := v.ReadObsidian()
	if day, ok := o.Days.Day("Journal/2026/05-02-2026"); !ok || day != "2026-02-05" || len(o.Problems) > 0 {
		t.Errorf("day %q; %+v", day, o)
	}
	if want := []string{"Te[m]plates #1", "more/T"}; !slices.Equal(o.Templates, want) {
		t.Errorf("templates %q, want %q", o.Templates, want)
	}
	v.Ignore = o.Ignore
	for path, ignored := range map[string]bool{
		"Te[m]plates #1/a.md": true, "Te[m]plates #1/b/a.md": true, "more/T/a.md": true,
		"Templates #1/a.md": false, "more/a.md": false, "a/more/T/a.md": false, "T/a.md": false,
	} {
		if reason := v.Skips(path, false); (reason != "") != ignored {
			t.Errorf("%s: %q", path, reason)
		}
	}

	if o := newVault(t, nil).ReadObsidian(); o.Days != nil || o.Ignore != nil || o.Problems != nil || o.Text != "" {
		t.Errorf("without settings: %+v", o)
	}

	// Settings from elsewhere, or that would hide memory, have no effect.
	v = newVault(t, map[string]string{
		dailyNotesFile: `{"format": "HH:mm"}`, templatesFile: `{"folder": "memory/../_longterms/x"}`, templaterFile: `{`,
	})
	o = v.ReadObsidian()
	if o.Days != nil || o.Ignore != nil || len(o.Problems) != 3 || !strings.Contains(strings.Join(o.Problems, "\n"), "contains memory") {
		t.Errorf("%+v", o)
	}
	for _, folder := range []string{"", "/", "../..", "."} {
		must(t, os.WriteFile(filepath.Join(v.Dir, templatesFile), []byte(`{"folder": "`+folder+`"}`), 0o600))
		if o := v.ReadObsidian(); o.Ignore != nil {
			t.Errorf("%q: %q", folder, o.Ignore)
		}
	}
	must(t, os.Remove(filepath.Join(v.Dir, dailyNotesFile)))
	must(t, os.Symlink("/dev/null", filepath.Join(v.Dir, dailyNotesFile)))
	if o := v.ReadObsidian(); o.Days != nil || !slices.Contains(o.Problems, dailyNotesFile+": read "+dailyNotesFile+": symbolic link") {
		t.Errorf("%+v", o)
	}
}
