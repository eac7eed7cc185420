package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestModes checks that everything that the daemon and its hooks create is
// accessible to the daemon's user only, whatever the umask, even in a memory
// that others can write. Existing files keep their mode when they change.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"0000", "0777"} {
		t.Run(umask, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			l := newLive(t, root, "")
			l.limits = "umask " + umask
			l.write("MEMORY.md", "# Facts\n\n- tea is green\n- [ ] buy milk\n")
			l.write("notes/plan.md", "- [ ] buy milk\n")
			testkit.Must(t, os.Chmod(filepath.Join(root, "notes"), 0o2775))
			testkit.Must(t, os.Chmod(root, 0o775))
			testkit.Must(t, os.Chmod(l.path("MEMORY.md"), 0o664))
			modes := func() map[string]fs.FileMode {
				list := map[string]fs.FileMode{}
				for _, dir := range []string{root, filepath.Dir(l.config)} {
					testkit.Must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
						if err != nil {
							return err
						}
						info, err := e.Info()
						if err == nil {
							list[path] = info.Mode()
						}
						return err
					}))
				}
				return list
			}
			before := modes()
			l.start()
			for _, r := range []struct {
				op  string
				req fields
			}{
				{"note", fields{"text": "the demo is on Friday"}}, {"remember", fields{"title": "Tea", "text": "green", "explicit": true}},
				{"capture", fields{"bullets": []string{"the pump is loud"}, "session": "s1"}},
				{"session", fields{"session": "s1", "draft": fields{"summary": "a day"}}},
				{"write", fields{"path": "notes/deep/er/a.md", "text": "- a\n"}},
				{"edit", fields{"path": "MEMORY.md", "old_text": "tea is green", "new_text": "tea is hot"}},
				{"todo", fields{"text": "buy milk", "state": "done"}},
				{"item_put", fields{"subject": "acct:42", "namespace": "fact", "key": "k", "value": "v"}},
				{"link", fields{"external_key": "telegram:1", "subject": "acct:42"}},
			} {
				l.must(r.op, owner.with(r.req), new(any))
			}
			l.told("session-start", "SessionStart", fields{"source": "startup"})
			l.sync()
			testkit.Must(t, l.stop()) // writes the state
			made := 0
			for path, mode := range modes() {
				old, existed := before[path]
				switch {
				case existed && mode != old:
					t.Errorf("the mode of %s is %v and was %v", path, mode, old)
				case !existed && (mode.Perm()&0o077 != 0 || mode.IsDir() && mode.Perm() != 0o700 || mode.IsRegular() && mode.Perm() != 0o600):
					t.Errorf("the mode of %s is %v", path, mode)
				case !existed:
					made++
				}
			}
			if made < 20 {
				t.Errorf("only %d files and directories were made", made)
			}
			testkit.WriteFile(t, l.path("again.md"), "- a\n") // the root can still be written
		})
	}
}
