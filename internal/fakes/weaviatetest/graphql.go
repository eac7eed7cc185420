package weaviatetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"text/scanner"
	"time"
)

// A Field is a field of a GraphQL query.
type Field struct {
	Alias, Name string
	Args        map[string]any
	Fields      []Field
}

// graphql executes a query of Get.
func (s *Server) graphql(w http.ResponseWriter, body []byte) {
	if len(s.classes) == 0 {
		sendError(w, "no graphql provider present, this is most likely because no schema is present")
		return
	}
	var request struct{ Query string }
	err := json.Unmarshal(body, &request)
	var fields []Field
	if err == nil {
		fields, err = Parse(request.Query)
	}
	if err == nil && (len(fields) != 1 || fields[0].Name != "Get") {
		err = errors.New("query has no field Get")
	}
	answer := map[string]any{}
	var failures []any
	for _, f := range fields {
		for _, part := range f.Fields {
			c := s.classes[part.Name]
			if c == nil {
				err = fmt.Errorf("query of unknown collection %q", part.Name)
				break
			}
			found, reason := c.get(part)
			answer[part.Alias] = found
			if reason != "" {
				answer[part.Alias] = nil
				failures = append(failures, map[string]any{"message": reason, "path": []string{"Get", part.Alias}})
			}
		}
	}
	if err != nil {
		sendJSON(w, http.StatusOK, map[string]any{"errors": []any{map[string]any{"message": err.Error(), "path": nil}}})
		return
	}
	out := map[string]any{"data": map[string]any{"Get": answer}}
	if failures != nil {
		out["errors"] = failures
	}
	sendJSON(w, http.StatusOK, out)
}

// get returns the objects of a part of a query, or why it fails.
func (c *class) get(f Field) (found []any, failure string) {
	tenant, _ := f.Args["tenant"].(string)
	objects := c.objects[tenant]
	if objects == nil {
		return nil, fmt.Sprintf("explorer: get class: tenant not found: %q", tenant)
	}
	ids := slices.Sorted(maps.Keys(objects))
	score := map[string]float64{}
	if bm25, ok := f.Args["bm25"].(map[string]any); ok {
		query, _ := bm25["query"].(string)
		names, _ := bm25["properties"].([]any)
		for _, name := range names {
			addScores(score, objects, name.(string), strings.Fields(query))
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return score[id] == 0 })
		slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	} else if orders, ok := f.Args["sort"].([]any); ok {
		slices.SortStableFunc(ids, func(a, b string) int { return compareBy(orders, objects, a, b) })
	}
	where, _ := f.Args["where"].(map[string]any)
	after, _ := f.Args["after"].(string)
	if where != nil && f.Args["after"] != nil {
		return nil, "where cannot be set with after and limit parameters"
	}
	limit, _ := f.Args["limit"].(float64)
	found = []any{}
	for _, id := range ids {
		if id <= after || where != nil && !matches(where, objects[id]) {
			continue
		}
		if len(found) == int(limit) {
			break
		}
		out := map[string]any{}
		for _, p := range f.Fields {
			out[p.Name] = objects[id][p.Name]
			if p.Name == "_additional" {
				out[p.Name] = map[string]any{"id": id}
			}
		}
		found = append(found, out)
	}
	return found, ""
}

// addScores adds the BM25 scores of a property.
func addScores(score map[string]float64, objects map[string]map[string]any, name string, query []string) {
	total := 0.0
	for _, o := range objects {
		text, _ := o[name].(string)
		total += float64(len(strings.Fields(text)))
	}
	for _, word := range query {
		frequency, containing := map[string]float64{}, 0.0
		for id, o := range objects {
			text, _ := o[name].(string)
			for _, w := range strings.Fields(text) {
				if w == word {
					frequency[id]++
				}
			}
			if frequency[id] > 0 {
				containing++
			}
		}
		n := float64(len(objects))
		for id, tf := range frequency {
			text, _ := objects[id][name].(string)
			length := float64(len(strings.Fields(text)))
			score[id] += math.Log(1+(n-containing+0.5)/(containing+0.5)) * tf * 1.9 / (tf +
				0.9*(0.7+0.3*length*n/total))
		}
	}
}

func compareBy(orders []any, objects map[string]map[string]any, a, b string) int {
	for _, order := range orders {
		order := order.(map[string]any)
		name := order["path"].([]any)[0].(string)
		x, y := any(a), any(b)
		if name != "_id" {
			x, y = objects[a][name], objects[b][name]
		}
		c := compareValues(x, y)
		if order["order"] == "desc" {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// compareValues compares two values of a property. Dates are compared as times.
func compareValues(x, y any) int {
	if a, ok := x.(float64); ok {
		b, _ := y.(float64)
		return cmp.Compare(a, b)
	}
	a, _ := x.(string)
	b, _ := y.(string)
	s, err := time.Parse(time.RFC3339, a)
	t, err2 := time.Parse(time.RFC3339, b)
	if err == nil && err2 == nil {
		return s.Compare(t)
	}
	return cmp.Compare(a, b)
}

// matches reports whether an object meets a condition.
func matches(where, o map[string]any) bool {
	if operands, ok := where["operands"].([]any); ok {
		for _, operand := range operands {
			if !matches(operand.(map[string]any), o) {
				return false
			}
		}
		return true
	}
	name := where["path"].([]any)[0].(string)
	have, want := o[name], any(nil)
	for _, kind := range []string{"valueText", "valueBoolean", "valueNumber", "valueDate"} {
		if v, ok := where[kind]; ok {
			want = v
		}
	}
	contained := func(v any) bool {
		if list, ok := have.([]any); ok {
			return slices.Contains(list, v)
		}
		return have == v
	}
	list, _ := want.([]any)
	switch where["operator"] {
	case "NotEqual":
		return have != want
	case "GreaterThanEqual":
		return have != nil && compareValues(have, want) >= 0
	case "LessThanEqual":
		return have != nil && compareValues(have, want) <= 0
	case "ContainsAny":
		return slices.ContainsFunc(list, contained)
	case "ContainsAll":
		return !slices.ContainsFunc(list, func(v any) bool { return !contained(v) })
	}
	return false
}

// Parse parses a query of GraphQL without variables, fragments and directives.
func Parse(query string) (fields []Field, err error) {
	p := &parser{}
	p.Init(strings.NewReader(query))
	p.Mode = scanner.ScanIdents | scanner.ScanFloats | scanner.ScanStrings
	p.Whitespace = scanner.GoWhitespace | 1<<','
	p.Error = func(*scanner.Scanner, string) { p.fail() }
	defer func() {
		if r := recover(); r != nil {
			fields, err = nil, r.(syntaxError)
		}
	}()
	p.next()
	fields = p.selection()
	p.expect(scanner.EOF)
	return fields, nil
}

// A parser parses a query. Its methods panic with a syntaxError.
type parser struct {
	scanner.Scanner
	token rune // the next one
}

type syntaxError int

func (e syntaxError) Error() string { return fmt.Sprintf("syntax error at byte %d", int(e)) }

func (p *parser) fail() { panic(syntaxError(p.Pos().Offset)) }

// next skips a token and returns its text.
func (p *parser) next() string {
	text := p.TokenText()
	p.token = p.Scan()
	return text
}

// expect skips the given token and returns its text.
func (p *parser) expect(token rune) string {
	if p.token != token {
		p.fail()
	}
	return p.next()
}

func (p *parser) skip(token rune) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *parser) selection() (fields []Field) {
	p.expect('{')
	for !p.skip('}') {
		f := Field{Name: p.expect(scanner.Ident)}
		f.Alias = f.Name
		if p.skip(':') {
			f.Name = p.expect(scanner.Ident)
		}
		if p.skip('(') {
			f.Args = p.members(')')
		}
		if p.token == '{' {
			f.Fields = p.selection()
		}
		fields = append(fields, f)
	}
	return fields
}

// members returns arguments, or the members of an object.
func (p *parser) members(end rune) map[string]any {
	members := map[string]any{}
	for !p.skip(end) {
		name := p.expect(scanner.Ident)
		if _, ok := members[name]; ok {
			p.fail()
		}
		p.expect(':')
		members[name] = p.value()
	}
	return members
}

func (p *parser) value() any {
	switch p.token {
	case '{':
		p.next()
		return p.members('}')
	case '[':
		p.next()
		list := []any{}
		for !p.skip(']') {
			list = append(list, p.value())
		}
		return list
	case scanner.String, scanner.Int, scanner.Float: // in the form of JSON
		var v any
		if json.Unmarshal([]byte(p.next()), &v) != nil {
			p.fail()
		}
		return v
	}
	word := p.expect(scanner.Ident)
	if word == "true" || word == "false" {
		return word == "true"
	}
	return word // of an enumeration
}

var _ http.Handler = (*Server)(nil)
