package ops

import (
	"cmp"
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A wipePlan lists the data of a subject to delete.
type wipePlan struct {
	dirs  []string        // its directories
	keys  map[string]bool // owner keys of the directories
	files []string
}

// wipeSubject deletes the directories of a subject and its aliases, the data
// derived from them, and their contents in the journal.
func (m adminOps) wipeSubject(ctx context.Context, c Call, r *api.WipeRequest) (*api.WipeAnswer, error) {
	answer := &api.WipeAnswer{Subjects: []string{}, Deleted: []string{}, Left: []string{}, Unlinked: []string{}}
	switch {
	case m.Writer == nil:
		return nil, errNoWriter
	case c.Scope.Subject == m.Owner:
		return nil, api.Errorf(api.Invalid, "wipe %s: the memory of the owner is the whole memory directory", m.Owner).
			WithHint("set `subject` to another subject, or delete the files yourself")
	case r.Confirm != c.Scope.Subject:
		return nil, api.Errorf(api.Invalid, "wipe %s: `confirm` is %q, not this subject", c.Scope.Subject, r.Confirm).
			WithHint("set `confirm` to %s", c.Scope.Subject)
	}
	m.forgetLists.eraseMu.Lock()
	defer m.forgetLists.eraseMu.Unlock()
	if err := m.waitAllIndexed(ctx, &c); err != nil {
		return nil, err
	}
	if err := m.withAliases(&c); err != nil {
		return nil, err
	}
	w, err := m.planWipe(c, r.Sessions)
	if err != nil {
		return nil, err
	}
	answer.Subjects, answer.Beyond = c.View.Subjects(), outOfReach
	if r.DryRun {
		answer.DryRun, answer.Deleted = true, append(answer.Deleted, w.files...)
		links, _ := m.Scopes.Links()
		for _, l := range links {
			if isLinkOf(l, c.Scope.Subject) {
				answer.Unlinked = append(answer.Unlinked, l.Key)
			}
		}
		return answer, nil
	}
	e := erasure{paths: w.files, find: m.findWiped(c, w),
		used:  func(path, _, _ string) bool { return m.isWiped(w, path) },
		waits: func(text string) bool { return slices.Contains(c.View.Subjects(), text) }}
	var problem error
	answer.Problem, err = m.erase(ctx, c, e, func() {
		problem = m.removeFiles(ctx, w.files)
		unlinked, err := m.unlinkAll(ctx, c.Scope.Subject)
		problem = errors.Join(problem, err)
		if err == nil {
			answer.Unlinked = append(answer.Unlinked, unlinked...)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, dir := range w.dirs {
		left, err := m.Writer.RemoveEmpty(ctx, dir)
		answer.Left, problem = append(answer.Left, left...), errors.Join(problem, err)
	}
	for _, path := range w.files {
		if slices.Contains(answer.Left, path) || m.fileExists(path) {
			answer.Failed = append(answer.Failed, path)
		} else {
			answer.Deleted = append(answer.Deleted, path)
		}
	}
	answer.Left = slices.DeleteFunc(answer.Left, func(path string) bool { return slices.Contains(w.files, path) })
	if problem != nil {
		answer.Problem = strings.Trim(answer.Problem+"; "+erasureProblem(c, problem), "; ")
	}
	return answer, nil
}

// withAliases extends a call to every key that is linked to its subject, even
// if other operations do not show the data of these keys.
func (m adminOps) withAliases(c *Call) error {
	links, _ := m.Scopes.Links() // the last valid links if the file is invalid
	c.Scope.Aliases = nil
	for _, l := range links {
		if l.Subject == c.Scope.Subject {
			c.Scope.Aliases = append(c.Scope.Aliases, memory.ExternalSubject(l.Key))
		}
	}
	return m.setView(c)
}

// planWipe finds the data of a subject and its aliases. If another subject claims
// one of the directories, planWipe returns an error and nothing is deleted.
func (m adminOps) planWipe(c Call, sessions bool) (*wipePlan, error) {
	w := &wipePlan{keys: map[string]bool{}}
	for _, subject := range c.View.Subjects() {
		for _, dir := range []string{"_longterms/" + memory.SubjectDir(subject), memory.UserDir(subject)} {
			file := dir + "/MEMORY.md" // recognizes both kinds of directory
			place := m.Layout.Place(file)
			if place.Dir == "" {
				continue // not a user directory
			}
			files := m.Index.Files(func(f *index.FileInfo) bool {
				return strings.HasPrefix(f.Path, dir+"/") && m.Layout.Place(f.Path).Owner == place.Owner
			})
			if owner := c.View.SubjectOf(memory.Partition{Owner: place.Owner}); owner != subject && owner == "" &&
				len(files) > 0 {
				return nil, api.Errorf(api.SubjectConflict, "directory %s belongs to another subject", dir).
					WithHint("rename the directory, whose files have another subject_id")
			} else if owner != subject {
				continue
			}
			w.dirs, w.keys[place.Owner] = append(w.dirs, dir), true
			for _, f := range files {
				if m.fileExists(f.Path) {
					w.files = append(w.files, f.Path)
				}
			}
		}
	}
	for doc := range m.readableFiles(c, func(f *index.FileInfo) bool {
		return f.Kind == memory.Session && sessions || memory.InInbox(f.Path)
	}) {
		if slices.Contains(c.View.Subjects(), doc.Partition.Owner) {
			w.files = append(w.files, doc.Place.Path)
		}
	}
	return w, nil
}

// linkPattern matches the subject or its key as a whole word of the file of links,
// also in a comment.
func linkPattern(subject string) *regexp.Regexp {
	name := regexp.QuoteMeta(subject)
	if key, ok := strings.CutPrefix(subject, memory.ExternalSubject("")); ok {
		name += "|" + regexp.QuoteMeta(key)
	}
	return regexp.MustCompile(`(?m)(?:^|[^\pL\pN_:-])(?:` + name + `)(?:$|[^\pL\pN_:-]|:(?:\s|$))`)
}

// findWiped returns a function that selects the lines of stored contents about the subject:
// those of its files, its links, and contents that nothing refers to.
func (m adminOps) findWiped(c Call, w *wipePlan) func(path string, content []byte) [][2]int {
	link := linkPattern(c.Scope.Subject)
	return func(path string, content []byte) [][2]int {
		switch {
		case path == memory.IdentitiesPath:
			return findLines(string(content), link.MatchString)
		case path == "", m.isWiped(w, path):
			return [][2]int{{1, math.MaxInt}}
		}
		return nil
	}
}

// unlinkAll removes all links of a subject: those to an account, or the one of
// a key. It returns the removed keys.
func (m adminOps) unlinkAll(ctx context.Context, subject string) (keys []string, err error) {
	_, err = m.Writer.Write(ctx, vault.Change{
		Path: memory.IdentitiesPath, Cause: "wipe", Requested: true, Secret: true,
		Edit: func(old *vault.File) ([]byte, error) {
			keys = nil
			if old == nil {
				return nil, nil
			}
			ids, err := memory.ParseIdentities(old.Data)
			source := old.Data
			for _, l := range ids.Links() {
				if err == nil && isLinkOf(l, subject) {
					source, err = memory.UnlinkKey(source, l.Key)
					keys = append(keys, l.Key)
				}
			}
			return source, err
		},
	})
	return keys, err
}

// isLinkOf reports whether a link has the subject as its account or as its key.
func isLinkOf(l memory.LinkedKey, subject string) bool {
	return l.Subject == subject || memory.ExternalSubject(l.Key) == subject
}

// isWiped reports whether a file in the journal belonged to the subject.
func (m adminOps) isWiped(w *wipePlan, path string) bool {
	return w.keys[m.Layout.Place(path).Owner] || slices.Contains(w.files, path)
}

// removeFiles removes whole files without recording their contents in the journal.
func (m adminOps) removeFiles(ctx context.Context, paths []string) error {
	group := ""
	var errs []error
	for _, path := range paths {
		written, err := m.Writer.Write(ctx, vault.Change{
			Path: path, Cause: "wipe", Group: group, Requested: true, Secret: true,
			Edit: func(old *vault.File) (data []byte, err error) {
				if old != nil {
					err = vault.ErrRemove
				}
				return nil, err
			},
		})
		group, errs = cmp.Or(group, written.ID), append(errs, err)
	}
	return errors.Join(errs...)
}
