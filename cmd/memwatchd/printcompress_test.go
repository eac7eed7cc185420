package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/ipc"
)

func TestCompressIsShown(t *testing.T) {
	answer := &ipc.CompressAnswer{DryRun: true}
	show := func() string {
		var b bytes.Buffer
		if err := (&printer{w: &b}).print(answer); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if diff := cmp.Diff("(nothing is as old)\n", show()); diff != "" {
		t.Errorf("nothing to do (-want +got):\n%s", diff)
	}
	answer.Plan = compactor.CompressPlan{
		Files: []compactor.Compressed{{
			From: "2026-01-01/a.md", To: "_longterms/owner/_archive/2026-01-01/a.md", Part: true,
			Lines: []compactor.SummaryLine{{
				Path: "_longterms/owner/profile.md", Visibility: "public_ok", Text: "We met.\x07", Evidence: []string{"2026-01-01/a.md", "2026-01-01/a.md#k3"},
			}, {
				Path: "_longterms/owner/project.md", Visibility: "private_only", Text: "It ships.", Evidence: []string{"2026-01-01/a.md"}, Model: true,
			}},
		}},
		Stay: []compactor.DayStay{{Path: "2026-01-02/b.md", Reason: "there is nothing but open tasks in it"}},
	}
	want := `2026-01-01/a.md → _longterms/owner/_archive/2026-01-01/a.md  (but for open tasks)
  + _longterms/owner/profile.md: We met.\x07
    public_ok, from 2026-01-01/a.md, 2026-01-01/a.md#k3
  + _longterms/owner/project.md: It ships.
    private_only, from 2026-01-01/a.md, in the words of the model
2026-01-02/b.md stays: there is nothing but open tasks in it
`
	if diff := cmp.Diff(want+"1 file would be summed up and archived\n", show()); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	answer.DryRun = false
	answer.Left = []compactor.DayStay{{Path: "2026-01-01/a.md", Reason: "it has changed meanwhile"}}
	want += "2026-01-01/a.md stays: it has changed meanwhile\n0 files summed up and archived\n"
	if diff := cmp.Diff(want, show()); diff != "" {
		t.Errorf("nothing was done (-want +got):\n%s", diff)
	}
}
