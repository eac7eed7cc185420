package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/share"
)

// pageSize is the number of objects in a page of a list.
const pageSize = 1000

// A part is the query of one collection and tenant. The parts of a request are
// answered independently of each other.
type part struct {
	collection, tenant string
	text               string // field of Get without its name
}

// Search implements [share.Store].
func (c *Client) Search(ctx context.Context, q share.Query) ([]share.Object, error) {
	var parts []part
	for _, tenant := range q.Tenants {
		if !tenantRE().MatchString(tenant) {
			continue // has no objects
		}
		for _, of := range share.Collections {
			parts = append(parts, searchPart(of, tenant, q))
		}
	}
	return c.query(ctx, parts)
}

// searchPart returns the part of a GraphQL query that searches one tenant of a collection, by
// words or else by time.
func searchPart(of share.Collection, tenant string, q share.Query) part {
	conditions := []string{condition("gone", "NotEqual", "valueBoolean", "true")}
	if q.NotHost != "" {
		conditions = append(conditions, condition("host", "NotEqual", "valueText", quote(q.NotHost)))
	}
	if len(q.Types) > 0 {
		conditions = append(conditions, condition("type", "ContainsAny", "valueText", quote(q.Types)))
	}
	if len(q.Tags) > 0 {
		operator := "ContainsAll"
		if q.AnyTag {
			operator = "ContainsAny"
		}
		conditions = append(conditions, condition("tags", operator, "valueText", quote(q.Tags)))
	}
	if !q.Since.IsZero() {
		conditions = append(conditions, condition("updated", "GreaterThanEqual", "valueDate", quoteTime(q.Since)))
	}
	if !q.Until.IsZero() {
		conditions = append(conditions, condition("updated", "LessThanEqual", "valueDate", quoteTime(q.Until)))
	}
	order := `sort:[{path:["updated"],order:desc},{path:["_id"],order:asc}]`
	if words := strings.Fields(q.Terms); len(words) > 0 {
		var searchable []string
		for _, p := range of.Properties {
			if p.Searchable {
				searchable = append(searchable, p.Name)
			}
		}
		order = fmt.Sprintf("bm25:{query:%s,properties:%s}", quote(strings.Join(words, " ")), quote(searchable))
	}
	var fields []string
	for _, p := range of.Properties {
		fields = append(fields, p.Name)
	}
	text := fmt.Sprintf("(tenant:%s,limit:%d,%s,where:{operator:And,operands:[%s]}){%s _additional{id}}", quote(tenant),
		q.Limit, order, strings.Join(conditions, ","), strings.Join(fields, " "))
	return part{of.Name, tenant, text}
}

func condition(name, operator, kind, value string) string {
	return fmt.Sprintf("{path:[%s],operator:%s,%s:%s}", quote(name), operator, kind, value)
}

// quote returns a string, or a list of strings, in GraphQL, which has the escapes of JSON.
func quote[V string | []string](v V) string {
	text, _ := json.Marshal(v) // strings have an encoding
	return string(text)
}

func quoteTime(t time.Time) string { return quote(t.UTC().Format(time.RFC3339Nano)) }

// query sends the parts in one request and returns the objects in their order. A
// tenant that does not exist has no objects, and neither has one that the API key
// cannot read: the rights of one tenant must not affect the requests of others.
func (c *Client) query(ctx context.Context, parts []part) ([]share.Object, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	var text strings.Builder
	for i, p := range parts {
		fmt.Fprintf(&text, "p%d:%s%s%s", i, c.Prefix, p.collection, p.text)
	}
	var answer struct {
		Data   struct{ Get map[string][]json.RawMessage }
		Errors []struct {
			Message string
			Path    []any
		}
	}
	request := map[string]string{"query": "{Get{" + text.String() + "}}"}
	err := c.send(ctx, http.MethodPost, "/v1/graphql", request, &answer)
	if isStatus(err, http.StatusUnprocessableEntity) { // a store without any collection
		return nil, c.describeQueryError(ctx)
	}
	if err != nil {
		return nil, err
	}
	empty := map[string]bool{} // names of parts
	for _, e := range answer.Errors {
		name := ""
		if len(e.Path) == 2 {
			name, _ = e.Path[1].(string)
		}
		if name == "" || !strings.Contains(e.Message, unknownTenant) && !strings.Contains(e.Message, forbidden) {
			return nil, c.describeQueryError(ctx)
		}
		empty[name] = true
	}
	var list []share.Object
	for i, p := range parts {
		name := "p" + strconv.Itoa(i)
		found, ok := answer.Data.Get[name]
		if !ok || found == nil && !empty[name] {
			return nil, &share.Error{Err: errInvalidAnswer}
		}
		for _, text := range found {
			o := share.Object{Collection: p.collection, Tenant: p.tenant}
			var additional struct {
				ID struct{ ID string } `json:"_additional"`
			}
			if json.Unmarshal(text, &additional) != nil || json.Unmarshal(text, &o.Properties) != nil ||
				!uuidRE().MatchString(additional.ID.ID) || !utf8.Valid(text) {
				return nil, &share.Error{Err: errInvalidAnswer}
			}
			delete(o.Properties, "_additional")
			o.ID, o.Properties = additional.ID.ID, dropNulls(o.Properties)
			list = append(list, o)
		}
	}
	return list, nil
}

// describeQueryError returns the error of a query that the store did not execute.
// The messages of the store repeat the query. The reason can be a missing collection or
// property.
func (c *Client) describeQueryError(ctx context.Context) error {
	for _, of := range share.Collections {
		if err := c.checkClass(ctx, of); err != nil {
			return err
		}
	}
	return &share.Error{Err: errors.New("store cannot execute the query")}
}

// List implements [share.Store]. The objects have the properties memory_id, host,
// hash, rev and gone only, which suffice to compare them.
func (c *Client) List(ctx context.Context, host string) iter.Seq2[share.Object, error] {
	return func(yield func(share.Object, error) bool) {
		for _, of := range share.Collections {
			tenants, err := c.tenants(ctx, of)
			if err != nil {
				yield(share.Object{}, err)
				return
			}
			for _, tenant := range tenants {
				if !c.listTenant(ctx, of.Name, tenant, host, yield) {
					return
				}
			}
		}
	}
}

// tenants returns the tenants of a collection that the API key can read, sorted.
func (c *Client) tenants(ctx context.Context, of share.Collection) (names []string, err error) {
	if err := c.checkClass(ctx, of); err != nil {
		return nil, err
	}
	var answer []struct{ Name string }
	err = c.send(ctx, http.MethodGet, "/v1/schema/"+c.Prefix+of.Name+"/tenants", nil, &answer)
	for _, t := range answer {
		if tenantRE().MatchString(t.Name) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

// listTenant yields the objects of a host in a tenant, by id. It reads those of
// other hosts too, because a condition is slow: the store would sort all objects
// for each page. It reports whether the caller wants more.
func (c *Client) listTenant(ctx context.Context, collection, tenant, host string,
	yield func(share.Object, error) bool) bool {
	for after := ""; ; {
		text := fmt.Sprintf("(tenant:%s,limit:%d,after:%s){memory_id host hash rev gone _additional{id}}",
			quote(tenant), pageSize, quote(after))
		page, err := c.query(ctx, []part{{collection, tenant, text}})
		if err != nil {
			yield(share.Object{}, err)
			return false
		}
		for _, o := range page {
			if o.ID <= after { // the list would never end
				yield(share.Object{}, &share.Error{Err: errInvalidAnswer})
				return false
			}
			after = o.ID
			if o.Properties["host"] == host && !yield(o, nil) {
				return false
			}
		}
		if len(page) < pageSize {
			return true
		}
	}
}
