package ipc

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// ResolveRequest asks whose memory it is that belongs to an external key.
type ResolveRequest struct {
	ExternalKey string `json:"external_key" arg:"1" complete:"external_key" doc:"what a channel calls a user, as <channel>:<id>"`
	Scope
}

// LinkRequest asks to make an external key one of a subject's: from then on its
// memory is the subject's, and what was kept for the key alone is read with it.
// No file is moved.
type LinkRequest struct {
	ExternalKey string `json:"external_key" arg:"1" complete:"external_key" doc:"what a channel calls a user, as <channel>:<id>"`
	Subject     string `json:"subject" arg:"2" complete:"subject" doc:"the subject that the key is linked to, such as acct:42"`
	Scope
}

// UnlinkRequest asks to take a link away.
type UnlinkRequest struct {
	ExternalKey string `json:"external_key" arg:"1" complete:"external_key" doc:"what a channel calls a user, as <channel>:<id>"`
	Scope
}

// LinksRequest asks for all links.
type LinksRequest struct{ Scope }

// IdentityAnswer is who an external key is.
type IdentityAnswer struct {
	Enabled     bool     `json:"enabled"` // the key is somebody's, and memory is on
	ExternalKey string   `json:"external_key"`
	Subject     string   `json:"subject"`
	Aliases     []string `json:"aliases"`        // whose memory is read with the subject's
	Path        string   `json:"path,omitempty"` // of the file that was changed
	Disabled    bool     `json:"disabled,omitempty"`
}

// LinksAnswer is all links, in the order of keys.
type LinksAnswer struct {
	Links   []Link `json:"links"`
	Problem string `json:"problem,omitempty"` // why the file as it is now does not hold: these are what it said before
}

// A Link makes an external key one of a subject's.
type Link struct {
	ExternalKey string `json:"external_key"`
	Subject     string `json:"subject"`
}

// resolve tells who an external key is. A listener with a fixed scope tells it
// of that scope's own keys only.
func (m *Memory) resolve(_ context.Context, c Call, r *ResolveRequest) (*IdentityAnswer, error) {
	if r.ExternalKey == "" {
		return &IdentityAnswer{Aliases: []string{}}, nil
	}
	if err := memory.ValidExternalKey(r.ExternalKey); err != nil {
		return nil, Errorf(Invalid, "%v", err)
	}
	if c.Fixed != nil && m.Scopes.Resolve(r.ExternalKey) != c.Scope.Subject {
		return nil, errFixed
	}
	return m.identityOf(c, r.ExternalKey), nil
}

// identityOf is who an external key is now.
func (m *Memory) identityOf(c Call, key string) *IdentityAnswer {
	subject := m.Scopes.Resolve(key)
	aliases := m.Scopes.Scope(subject, c.Scope.Context).Aliases
	return &IdentityAnswer{Enabled: !m.Disabled, ExternalKey: key, Subject: subject, Aliases: append([]string{}, aliases...)}
}

// links lists all links.
func (m *Memory) links(context.Context, Call, *LinksRequest) (*LinksAnswer, error) {
	list, problem := m.Scopes.Links()
	answer := &LinksAnswer{Links: []Link{}}
	for _, l := range list {
		answer.Links = append(answer.Links, Link{ExternalKey: l.Key, Subject: l.Subject})
	}
	if problem != nil {
		answer.Problem = problem.Error()
	}
	return answer, nil
}

// link adds a link. It holds for the next request.
func (m *Memory) link(ctx context.Context, c Call, r *LinkRequest) (*IdentityAnswer, error) {
	if err := cmp.Or(memory.ValidExternalKey(r.ExternalKey), memory.ValidSubject(r.Subject)); err != nil {
		return nil, Errorf(Invalid, "%v", err)
	}
	if strings.HasPrefix(r.Subject, memory.ExternalSubject("")) {
		return nil, Errorf(Invalid, "subject: %s is another key's, not an account", r.Subject).hint("link both keys to one subject, such as acct:42")
	}
	return m.changeLinks(ctx, c, r.ExternalKey, func(src []byte, linked string) ([]byte, error) {
		switch linked {
		case r.Subject:
			return src, nil
		case "":
			return memory.LinkKey(src, r.ExternalKey, r.Subject)
		}
		return nil, Errorf(Conflict, "%s is linked to %s", r.ExternalKey, linked).hint("unlink it first")
	})
}

// unlink takes a link away. What was kept for the subject stays the subject's.
func (m *Memory) unlink(ctx context.Context, c Call, r *UnlinkRequest) (*IdentityAnswer, error) {
	if err := memory.ValidExternalKey(r.ExternalKey); err != nil {
		return nil, Errorf(Invalid, "%v", err)
	}
	return m.changeLinks(ctx, c, r.ExternalKey, func(src []byte, linked string) ([]byte, error) {
		if linked == "" {
			return nil, notFound("link of", r.ExternalKey)
		}
		return memory.UnlinkKey(src, r.ExternalKey)
	})
}

// changeLinks changes the file of links, given it and what the key is linked to
// in it. A file that does not hold as it is is left to whoever has to mend it.
func (m *Memory) changeLinks(ctx context.Context, c Call, key string, change func(src []byte, linked string) ([]byte, error)) (*IdentityAnswer, error) {
	if m.Disabled {
		return &IdentityAnswer{ExternalKey: key, Aliases: []string{}, Disabled: true}, nil
	}
	if m.Writer == nil {
		return nil, Errorf(Unavailable, "nothing can be written").hint("status says why")
	}
	unsound := func(err error) error {
		return Errorf(Conflict, "%v", err).hint("mend the file of links, then try again")
	}
	if _, err := m.Scopes.Links(); err != nil {
		return nil, unsound(err)
	}
	written, err := m.Writer.Write(ctx, vault.Change{
		Path: memory.IdentitiesPath, Cause: "link", Asked: true,
		Edit: func(old *vault.File) ([]byte, error) {
			var src []byte
			if old != nil {
				src = old.Data
			}
			ids, err := memory.ParseIdentities(src)
			if err != nil {
				return nil, unsound(err)
			}
			next, err := change(src, ids.Linked(key))
			if _, ours := errors.AsType[*Error](err); err != nil && !ours {
				err = unsound(err)
			}
			return next, err
		},
	})
	if err != nil {
		return nil, writeError(err, true)
	}
	answer := m.identityOf(c, key)
	if written.Changed {
		answer.Path = memory.IdentitiesPath
	}
	return answer, nil
}
