package ipc

import (
	"context"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// CaptureRequest asks to append what was asked for, or achieved, to the log of
// today.
type CaptureRequest struct {
	Bullets    []string `json:"bullets" arg:"rest" stdin:"true" need:"true" doc:"one to three short lines"`
	Type       string   `json:"type" default:"crumb" enum:"request,result,crumb" doc:"what they are: request, result or crumb"`
	Source     string   `json:"source" doc:"where they come from, such as the name of a program"`
	Session    string   `json:"session" doc:"id of the session that they are of"`
	Evidence   []string `json:"evidence" doc:"what they are based on: paths, path#id or URLs"`
	Visibility string   `json:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"private_only, or public_ok if they may be shown to others"`
	Scope
}

// CaptureAnswer says where the bullets are. Without a path they are where the
// caller, in this context, may not read them.
type CaptureAnswer struct {
	Path     string `json:"path,omitempty"`
	Lines    []int  `json:"lines"`              // of each bullet, in the order of the request; empty without a path
	Already  int    `json:"already,omitempty"`  // bullets that were there, and are not written again
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}

const (
	maxBullets = 3
	captured   = "Captured" // the topic of their heading
	ofSession  = "session"  // the attribute
)

// capture appends bullets to the log of today. A bullet that the same session
// has captured today, as far as the caller may read it, is not written again: a
// program that does not know whether it was heard can ask once more.
func (m *Memory) capture(ctx context.Context, c Call, r *CaptureRequest) (*CaptureAnswer, error) {
	if m.Disabled {
		return &CaptureAnswer{Lines: []int{}, Disabled: true}, nil
	}
	if err := m.mayAdd(c); err != nil {
		return nil, err
	}
	blocks, err := m.captureBlocks(c, r)
	if err != nil {
		return nil, err
	}
	done, err := m.log(ctx, c, logging{
		cause: "capture", at: m.now().In(m.location()), topic: captured, blocks: blocks,
		there: func(e *memory.Entry, b *logBlock) bool {
			return e.Block == memory.Item && e.Text == b.entry.Text && e.Attributes[ofSession] == b.attributes[ofSession] &&
				e.Type == b.entry.Type && e.Partition.Visibility == b.entry.Partition.Visibility
		},
	})
	if err != nil {
		return nil, err
	}
	answer := &CaptureAnswer{Path: done.path, Lines: done.lines, Already: done.already}
	if done.path == "" {
		answer.Lines = []int{}
	}
	return answer, nil
}

// captureBlocks are the bullets as they are written.
func (m *Memory) captureBlocks(c Call, r *CaptureRequest) ([]logBlock, error) {
	if n := len(r.Bullets); n < 1 || n > maxBullets {
		return nil, Errorf(Invalid, "bullets: there are %d, not one to three", n).hint("capture what matters most")
	}
	if err := m.logSource("source", r.Source); err != nil {
		return nil, err
	}
	if err := m.logSource("session", r.Session); err != nil {
		return nil, err
	}
	if err := m.logEvidence(r.Evidence); err != nil {
		return nil, err
	}
	var blocks []logBlock
	for _, bullet := range r.Bullets {
		line, err := m.logText("bullets", unmarked(bullet))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, logBlock{
			text: "- " + line, evidence: r.Evidence,
			attributes: map[string]string{
				"type": r.Type, "visibility": visible(r.Visibility), "source": origin(c, r.Source), ofSession: strings.Join(strings.Fields(r.Session), " "),
			},
		})
	}
	return blocks, nil
}

// unmarked is a bullet without the mark of a list that it may come with.
func unmarked(bullet string) string {
	bullet = strings.TrimSpace(bullet) + " "
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if rest, ok := strings.CutPrefix(bullet, mark); ok {
			return rest
		}
	}
	return bullet
}
