package ops

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// resolve returns the subject of an external key. On a listener with a fixed
// scope it accepts only keys of that scope's subject.
func (m readOps) resolve(_ context.Context, c Call, r *api.ResolveRequest) (*api.IdentityAnswer, error) {
	if r.ExternalKey == "" {
		return &api.IdentityAnswer{Aliases: []string{}}, nil
	}
	if err := memory.ValidExternalKey(r.ExternalKey); err != nil {
		return nil, api.Errorf(api.Invalid, "%v", err)
	}
	if c.Fixed != nil && m.Scopes.Resolve(r.ExternalKey) != c.Scope.Subject {
		return nil, errFixedScope
	}
	return m.identityOf(c, r.ExternalKey), nil
}

// identityOf returns the current subject and aliases of an external key.
func (m readOps) identityOf(c Call, key string) *api.IdentityAnswer {
	subject := m.Scopes.Resolve(key)
	aliases := m.Scopes.Scope(subject, c.Scope.Context).Aliases
	return &api.IdentityAnswer{Enabled: !m.Disabled, ExternalKey: key, Subject: subject,
		Aliases: append([]string{}, aliases...)}
}

func (m readOps) links(context.Context, Call, *api.LinksRequest) (*api.LinksAnswer, error) {
	list, problem := m.Scopes.Links()
	answer := &api.LinksAnswer{Links: []api.Link{}}
	for _, l := range list {
		answer.Links = append(answer.Links, api.Link{ExternalKey: l.Key, Subject: l.Subject})
	}
	if problem != nil {
		answer.Problem = problem.Error()
	}
	return answer, nil
}

// link adds a link. The next request already uses it.
func (m writeOps) link(ctx context.Context, c Call, r *api.LinkRequest) (*api.IdentityAnswer, error) {
	if err := cmp.Or(memory.ValidExternalKey(r.ExternalKey), memory.ValidSubject(r.Subject)); err != nil {
		return nil, api.Errorf(api.Invalid, "%v", err)
	}
	if strings.HasPrefix(r.Subject, memory.ExternalSubject("")) {
		return nil, api.Errorf(api.Invalid, "subject: %s belongs to an external key, not to an account", r.Subject).
			WithHint("link both keys to one subject, such as acct:42")
	}
	return m.changeLinks(ctx, c, r.ExternalKey, func(src []byte, linked string) ([]byte, error) {
		switch linked {
		case r.Subject:
			return src, nil
		case "":
			return memory.LinkKey(src, r.ExternalKey, r.Subject)
		}
		return nil, api.Errorf(api.Conflict, "%s is linked to %s", r.ExternalKey, linked).
			WithHint("unlink the key first")
	})
}

// unlink removes a link. The data of the subject stays with the subject.
func (m writeOps) unlink(ctx context.Context, c Call, r *api.UnlinkRequest) (*api.IdentityAnswer, error) {
	if err := memory.ValidExternalKey(r.ExternalKey); err != nil {
		return nil, api.Errorf(api.Invalid, "%v", err)
	}
	return m.changeLinks(ctx, c, r.ExternalKey, func(src []byte, linked string) ([]byte, error) {
		if linked == "" {
			return nil, notFound("link for", r.ExternalKey)
		}
		return memory.UnlinkKey(src, r.ExternalKey)
	})
}

// changeLinks changes the file of links. change receives its content and the
// subject that the key is linked to. An invalid file is not changed; a person
// must repair it.
func (m writeOps) changeLinks(ctx context.Context, c Call, key string,
	change func(src []byte, linked string) ([]byte, error)) (*api.IdentityAnswer, error) {
	if m.Writer == nil {
		return nil, errNoWriter
	}
	unsound := func(err error) error {
		return api.Errorf(api.Conflict, "%v", err).WithHint("fix the links file, then retry")
	}
	if _, err := m.Scopes.Links(); err != nil {
		return nil, unsound(err)
	}
	written, err := m.Writer.Write(ctx, vault.Change{
		Path: memory.IdentitiesPath, Cause: "link", Requested: true,
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
			if _, ours := errors.AsType[*api.Error](err); err != nil && !ours {
				err = unsound(err)
			}
			return next, err
		},
	})
	if err != nil {
		return nil, writeError(err)
	}
	answer := m.identityOf(c, key)
	if written.Changed {
		answer.Path = memory.IdentitiesPath
	}
	return answer, nil
}
