package cli

import (
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

func TestPrintModel(t *testing.T) {
	p := &Printer{location: time.Local}
	p.printModel(&api.ModelStatus{Endpoint: "http://127.0.0.1:1/v1", Model: "m"})
	p.printModel(&api.ModelStatus{
		Endpoint: "http://127.0.0.1:1/v1", Model: "m", Private: true, Requests: 3, Failed: 1,
		Failure: "no response from the model within 20s", FailedAt: time.Date(2026, 2, 4, 12, 0, 0, 0, time.Local),
	})
	const want = `model      m at http://127.0.0.1:1/v1, 0 questions
model      m at http://127.0.0.1:1/v1, 3 questions, 1 failed, including private text
           2026-02-04 12:00:00: no response from the model within 20s
`
	if got := p.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
