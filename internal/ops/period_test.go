package ops

import (
	"testing"

	"golang.org/x/tools/txtar"
)

// TestPeriodYears checks that a time whose year in UTC has no four digits is
// rejected: no answer can contain it.
func TestPeriodYears(t *testing.T) {
	m := readOpsCase(t, &txtar.Archive{Comment: []byte("timezone: Asia/Shanghai\n")}).memory(t).readOps()
	for _, s := range []string{"9999-12-31T23:59:59-12:00", "0000-06-01T00:00:00Z", "0000", "0001"} {
		if first, _, err := m.parsePeriod("as_of", s); err == nil {
			t.Errorf("%s: %v", s, first)
		}
	}
	for _, s := range []string{"9999", "9999-12-31", "0001-01-02", "65535w"} {
		if _, _, err := m.parsePeriod("as_of", s); err != nil {
			t.Error(err)
		}
	}
}
