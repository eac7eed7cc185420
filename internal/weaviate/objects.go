package weaviate

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/share"
)

// consistency is the number of replicas that confirm a read or write of an object.
const consistency = "consistency_level=QUORUM"

// object is the form of an object in requests and responses.
type object struct {
	Class      string         `json:"class"`
	Tenant     string         `json:"tenant"`
	ID         string         `json:"id"`
	Properties map[string]any `json:"properties"`
}

var (
	tenantRE = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	uuidRE   = lazyregexp.New(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

func (c *Client) newObject(o share.Object) object {
	return object{c.Prefix + o.Collection, o.Tenant, o.ID, o.Properties}
}

// Put implements [share.Store]. It removes objects one by one, by the clock of the
// store: removal in a batch has a time that read repair ignores.
func (c *Client) Put(ctx context.Context, batch []share.Object) ([]share.Refusal, error) {
	var rows []share.Object
	for _, o := range batch {
		if o.Delete {
			if err := c.delete(ctx, o); err != nil {
				return nil, err
			}
			continue
		}
		rows = append(rows, o)
	}
	for _, of := range share.Collections {
		if slices.ContainsFunc(rows, func(o share.Object) bool { return o.Collection == of.Name }) {
			if err := c.checkClass(ctx, of); err != nil {
				return nil, err
			}
		}
	}
	return c.putRows(ctx, rows)
}

// putRows writes objects in one request. If the store rejects the request as a
// whole because of its content, putRows divides it to find the objects at fault.
func (c *Client) putRows(ctx context.Context, rows []share.Object) ([]share.Refusal, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var body struct {
		Objects []object `json:"objects"`
	}
	for _, r := range rows {
		body.Objects = append(body.Objects, c.newObject(r))
	}
	var answer []struct {
		ID     string
		Result struct{ Status string }
	}
	err := c.send(ctx, http.MethodPost, "/v1/batch/objects?"+consistency, body, &answer)
	if isRejected(err) {
		if len(rows) == 1 {
			return c.judgeFailed(ctx, rows, nil)
		}
		half := len(rows) / 2
		first, err := c.putRows(ctx, rows[:half])
		if err != nil {
			return nil, err
		}
		second, err := c.putRows(ctx, rows[half:])
		return append(first, second...), err
	}
	if err != nil {
		return nil, err
	}
	if len(answer) != len(rows) {
		return nil, &share.Error{Err: errInvalidAnswer}
	}
	var failed []share.Object
	accepted := map[string]bool{} // tenants
	for i, r := range rows {
		switch {
		case answer[i].ID != r.ID:
			return nil, &share.Error{Err: errInvalidAnswer}
		case answer[i].Result.Status == "SUCCESS":
			accepted[r.Collection+r.Tenant] = true
		default:
			failed = append(failed, r)
		}
	}
	return c.judgeFailed(ctx, failed, accepted)
}

// judgeFailed decides whether objects failed by themselves. That is so if the
// store accepted others of the same tenant, or rejects the object without writing
// it. Otherwise replicas of the tenant are unavailable, which is an error. A
// tombstone has no content that could be at fault.
func (c *Client) judgeFailed(ctx context.Context, failed []share.Object,
	accepted map[string]bool) ([]share.Refusal, error) {
	var refused []share.Refusal
	for _, r := range failed {
		if r.Gone() {
			return nil, errCannotWrite
		}
		if !accepted[r.Collection+r.Tenant] {
			err := c.send(ctx, http.MethodPost, "/v1/objects/validate", c.newObject(r), nil)
			if err == nil {
				err = errCannotWrite
			}
			if !isRejected(err) {
				return nil, err
			}
		}
		refused = append(refused, share.Refusal{ID: r.ID, Reason: "store rejects a property of the object"})
	}
	return refused, nil
}

var errCannotWrite = &share.Error{Err: errors.New("store cannot write now: check that enough of its nodes run")}

// isRejected reports whether the store rejected the content of a request.
func isRejected(err error) bool {
	return isStatus(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
}

// delete removes an object. A missing object is no error.
func (c *Client) delete(ctx context.Context, o share.Object) error {
	err := c.send(ctx, http.MethodDelete, c.objectPath(o.Collection, o.Tenant, o.ID), nil, nil)
	if isStatus(err, http.StatusNotFound) || isUnknownTenant(err) {
		return nil
	}
	return err
}

func (c *Client) objectPath(collection, tenant, id string) string {
	return "/v1/objects/" + c.Prefix + collection + "/" + id + "?" + consistency + "&tenant=" + url.QueryEscape(tenant)
}

// Get implements [share.Store]. An object that the API key cannot read is missing,
// as it is for Search.
func (c *Client) Get(ctx context.Context, collection, tenant, id string) (share.Object, error) {
	id = strings.ToLower(id)
	if !tenantRE().MatchString(tenant) || !uuidRE().MatchString(id) {
		return share.Object{}, share.ErrNotFound
	}
	var answer object
	err := c.send(ctx, http.MethodGet, c.objectPath(collection, tenant, id), nil, &answer)
	if isStatus(err, http.StatusNotFound, http.StatusForbidden) || isUnknownTenant(err) {
		return share.Object{}, share.ErrNotFound
	}
	if err != nil {
		return share.Object{}, err
	}
	if answer.ID != id {
		return share.Object{}, &share.Error{Err: errInvalidAnswer}
	}
	return share.Object{Collection: collection, Tenant: tenant, ID: id, Properties: dropNulls(answer.Properties)}, nil
}

// dropNulls removes the properties without a value.
func dropNulls(properties map[string]any) map[string]any {
	maps.DeleteFunc(properties, func(_ string, value any) bool { return value == nil })
	return properties
}
