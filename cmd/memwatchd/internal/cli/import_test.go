package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/internal/importer"
)

// TestImportBatch checks that each record is sent once, in requests below the limit, whose
// answers count the records of all requests.
func TestImportBatch(t *testing.T) {
	sent := 0
	b := &importBatch{seen: map[string][32]byte{}, send: func(_ context.Context, lines string) (*api.ImportAnswer, error) {
		n := strings.Count(lines, "\n")
		if len(lines) > maxImportLine {
			t.Errorf("a request of %d bytes", len(lines))
		}
		sent += n
		answer := &api.ImportAnswer{}
		answer.Add(&api.ImportAnswer{Records: []api.ImportedRecord{{Line: n, State: "created"}}})
		return answer, nil
	}}
	add := func(id string, n int) error {
		return b.add(t.Context(), &api.ImportRecord{ID: id, Title: strings.Repeat("x", n)})
	}
	for i, n := range []int{1, maxImportBatch / 2, maxImportBatch / 2, 0, maxImportBatch, 3} {
		testkit.Must(t, add(fmt.Sprint(i), n))
		testkit.Must(t, add(fmt.Sprint(i), n)) // the same again
	}
	for _, err := range []error{add("1", 0), add("large", maxImportLine)} {
		if _, ok := errors.AsType[*importer.Problem](err); !ok {
			t.Errorf("got the error %v", err)
		}
	}
	testkit.Must(t, b.flush(t.Context()))
	last := b.sum.Records[len(b.sum.Records)-1]
	if sent != 6 || last.Line != 6 || b.sum.Created != len(b.sum.Records) {
		t.Errorf("%d records were sent, the last as line %d", sent, last.Line)
	}
}
