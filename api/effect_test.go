package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestCheckRejectsValuesWithoutEffect sets each parameter that has an effect only
// under a condition, first without and then with the condition.
func TestCheckRejectsValuesWithoutEffect(t *testing.T) {
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			if p.With == "" {
				continue
			}
			t.Run(op.Name+" "+p.Name, func(t *testing.T) {
				name, values, compared := strings.Cut(p.With, "=")
				name, unset := strings.CutPrefix(name, "!")
				other, err := op.Param(name)
				if err != nil {
					t.Fatal(err)
				}
				permitted := strings.Split(values, ",")
				refused := slices.DeleteFunc(slices.Clone(other.Enum), func(s string) bool { return slices.Contains(permitted, s) })
				switch {
				case unset:
					permitted, refused = []string{""}, []string{exampleOf(other)}
				case !compared:
					permitted, refused = []string{exampleOf(other)}, []string{""}
				}
				for _, value := range permitted {
					if err := check(t, op, p, other, value); err != nil {
						t.Errorf("with %s %q: %v", name, value, err)
					}
				}
				for _, value := range refused {
					err := check(t, op, p, other, value)
					if err == nil || !strings.HasPrefix(err.Error(), p.Name+": no effect with") {
						t.Errorf("with %s %q: %v", name, value, err)
					}
				}
			})
		}
	}
}

// check checks a request that sets p to another value than its default, and other
// to value unless that is empty.
func check(t *testing.T, op *api.Operation, p, other *api.Param, value string) error {
	t.Helper()
	req := op.NewRequest()
	if err := req.Set(p, exampleOf(p)); err != nil {
		t.Fatal(err)
	}
	if value != "" {
		if err := req.Set(other, value); err != nil {
			t.Fatal(err)
		}
	}
	return req.Check()
}

// exampleOf returns a valid value other than the default.
func exampleOf(p *api.Param) string {
	for _, s := range p.Enum {
		if s != p.Default {
			return s
		}
	}
	switch p.Kind() {
	case "boolean":
		if p.Default == "true" {
			return "false"
		}
		return "true"
	case "integer":
		return "7"
	case "number":
		return "0.7"
	}
	return "tea"
}

// TestCheckAcceptsDefaults checks that values equal to the defaults, which some
// programs send for all parameters, are accepted in any mode.
func TestCheckAcceptsDefaults(t *testing.T) {
	for _, op := range api.Operations {
		req := op.NewRequest()
		for _, p := range op.Params() {
			if p.Default != "" && p.Kind() != "strings" {
				if err := req.Set(p, p.Default); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := req.Check(); err != nil {
			t.Errorf("%s: %v", op.Name, err)
		}
	}
}
