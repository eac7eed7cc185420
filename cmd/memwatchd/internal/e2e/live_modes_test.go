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
			base := filepath.Dir(l.config)
			before := map[string]fs.FileMode{}
			walk := func(see func(path string, info fs.FileInfo)) {
				for _, dir := range []string{root, base} {
					err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
						if err != nil {
							return err
						}
						info, err := e.Info()
						if err == nil {
							see(path, info)
						}
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			walk(func(path string, info fs.FileInfo) { before[path] = info.Mode() })
			l.start()
			var answer any
			l.must("note", owner.with(fields{"text": "the demo is on Friday"}), &answer)
			l.must("remember", owner.with(fields{"title": "Tea", "text": "green", "explicit": true}), &answer)
			l.must("capture", owner.with(fields{"bullets": []string{"the pump is loud"}, "session": "s1"}), &answer)
			l.must("session", owner.with(fields{"session": "s1", "draft": fields{"summary": "a day"}}), &answer)
			l.must("write", owner.with(fields{"path": "notes/deep/er/a.md", "text": "- a\n"}), &answer)
			l.must("edit", owner.with(fields{"path": "MEMORY.md", "old_text": "tea is green", "new_text": "tea is hot"}), &answer)
			l.must("todo", owner.with(fields{"text": "buy milk", "state": "done"}), &answer)
			l.must("item_put", fields{"subject": "acct:42", "context": "private", "namespace": "fact", "key": "k", "value": "v"}, &answer)
			l.must("link", fields{"external_key": "telegram:1", "subject": "acct:42"}, &answer)
			l.told("session-start", "SessionStart", fields{"source": "startup"})
			l.sync()
			if err := l.stop(); err != nil { // writes the state
				t.Fatal(err)
			}
			made := 0
			walk(func(path string, info fs.FileInfo) {
				old, existed := before[path]
				switch {
				case existed && info.Mode() != old:
					t.Errorf("the mode of %s is %v and was %v", path, info.Mode(), old)
				case !existed && info.Mode().Perm()&0o077 != 0:
					t.Errorf("the mode of %s is %v", path, info.Mode())
				case !existed && info.IsDir() && info.Mode().Perm() != 0o700, !existed && info.Mode().IsRegular() && info.Mode().Perm() != 0o600:
					t.Errorf("the mode of %s is %v", path, info.Mode())
				case !existed:
					made++
				}
			})
			if made < 20 {
				t.Errorf("only %d files and directories were made", made)
			}
			testkit.WriteFile(t, l.path("again.md"), "- a\n") // the root can still be written
		})
	}
}
