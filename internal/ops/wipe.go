package ops

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// wipeSubject deletes the directories of a subject and its aliases, the data
// derived from them, and their contents in the journal.
func (m adminOps) wipeSubject(ctx context.Context, c Call, r *api.WipeRequest) (*api.WipeAnswer, error) {
	answer := &api.WipeAnswer{Subjects: []string{}, Deleted: []string{}, Left: []string{}, Unlinked: []string{}}
	switch {
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
	subjects, dirs, files := c.View.Subjects(), m.ownDirs(c), m.filesToWipe(c, r.Sessions)
	answer.Subjects, answer.Beyond = subjects, outOfReach
	if r.DryRun {
		answer.DryRun, answer.Deleted = true, append(answer.Deleted, files...)
		links, _ := m.Scopes.Links()
		for _, l := range links {
			if isLinkOf(l, c.Scope.Subject) {
				answer.Unlinked = append(answer.Unlinked, l.Key)
			}
		}
		return answer, nil
	}
	wiped := func(path string) bool { return m.isOwn(c, path) || slices.Contains(files, path) }
	e := erasure{paths: files,
		holds: func(path string, _ []byte) bool { return path == memory.IdentitiesPath || wiped(path) },
		used:  func(path, _, _ string) bool { return wiped(path) },
		waits: func(text string) bool { return slices.Contains(subjects, text) }}
	var problem, err error
	answer.Problem, err = m.erase(ctx, c, e, func() {
		problem = m.removeFiles(ctx, files)
		unlinked, err := m.unlinkAll(ctx, c.Scope.Subject)
		problem = errors.Join(problem, err)
		if err == nil {
			answer.Unlinked = append(answer.Unlinked, unlinked...)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		left, err := m.Writer.RemoveEmpty(ctx, dir)
		answer.Left, problem = append(answer.Left, left...), errors.Join(problem, err)
	}
	for _, path := range files {
		if m.fileExists(path) {
			answer.Failed = append(answer.Failed, path)
		} else {
			answer.Deleted = append(answer.Deleted, path)
		}
	}
	answer.Left = slices.DeleteFunc(answer.Left, func(path string) bool { return slices.Contains(files, path) })
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

// isOwn reports whether the path of a file is that of a subject of the call.
func (m adminOps) isOwn(c Call, path string) bool {
	return slices.Contains(c.View.Subjects(), c.View.SubjectOf(memory.Partition{Owner: m.Layout.Place(path).Owner}))
}

// ownDirs returns the directories of the subjects of the call.
func (m adminOps) ownDirs(c Call) (dirs []string) {
	for _, subject := range c.View.Subjects() {
		dirs = append(dirs, "_longterms/"+memory.SubjectDir(subject), memory.UserDir(subject))
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !m.isOwn(c, dir+"/MEMORY.md") })
}

// filesToWipe returns the files of the subjects of the call.
func (m adminOps) filesToWipe(c Call, sessions bool) (files []string) {
	for doc := range m.readableFiles(c, func(f *index.FileInfo) bool {
		return m.isOwn(c, f.Path) || f.Kind == memory.Session && sessions || memory.InboxOf(f.Path) != ""
	}) {
		if m.isOwn(c, doc.Place.Path) || slices.Contains(c.View.Subjects(), doc.Partition.Owner) {
			files = append(files, doc.Place.Path)
		}
	}
	return files
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
