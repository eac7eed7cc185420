package ops

import (
	"cmp"
	"context"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	maxBullets       = 3
	captureTopic     = "Captured" // topic of their heading
	sessionAttribute = "session"  // attribute name
)

// capture appends bullets to today's log; a text is first reduced to bullets. A
// bullet that the same session captured in recent days is not written again if
// the caller may read the earlier one, so a client can retry after a lost
// answer.
func (m writeOps) capture(ctx context.Context, c Call, r *api.CaptureRequest) (*api.CaptureAnswer, error) {
	if r.Text != "" {
		return m.captureText(ctx, c, r)
	}
	return m.captureBullets(ctx, c, r)
}

func (m writeOps) captureBullets(ctx context.Context, c Call, r *api.CaptureRequest) (*api.CaptureAnswer, error) {
	blocks, err := m.captureBlocks(c, r)
	if err != nil {
		return nil, err
	}
	l := &logEdit{cause: "capture", at: m.Now().In(m.Location), topic: captureTopic, blocks: blocks,
		earlier: r.Session != "", // it may have begun on an earlier day
		contains: func(e *memory.Entry, b *logBlock) bool {
			return e.Block == memory.Item && e.Norm == b.entry.Norm &&
				e.Attributes[sessionAttribute] == b.attributes[sessionAttribute] &&
				e.Type == b.entry.Type && e.Partition.Visibility == b.entry.Partition.Visibility
		}}
	after, err := m.appendLog(ctx, c, l)
	if err != nil {
		return nil, err
	}
	answer := &api.CaptureAnswer{Lines: []int{}}
	for _, b := range l.blocks {
		answer.Lines = append(answer.Lines, b.line)
		if b.already {
			answer.Already++
		}
		if b.line > 0 {
			answer.Path = after.Place.Path
		}
	}
	if after == nil {
		answer.Already, answer.Note = len(blocks), "all bullets were captured on an earlier day"
	}
	if answer.Path == "" {
		answer.Lines = []int{}
	}
	return answer, nil
}

// captureBlocks returns the bullets in the form in which they are written.
func (m writeOps) captureBlocks(c Call, r *api.CaptureRequest) ([]logBlock, error) {
	if n := len(r.Bullets); n < 1 || n > maxBullets {
		return nil, api.Errorf(api.Invalid, "bullets: got %d, want one to three", n).
			WithHint("keep the most important bullets")
	}
	if err := cmp.Or(m.checkText("session", r.Session), m.checkOrigin(r.Source, r.Evidence)); err != nil {
		return nil, err
	}
	var blocks []logBlock
	for _, bullet := range r.Bullets {
		text := bullet
		if !strings.Contains(memory.TrimText(bullet), "\n") {
			text = trimMarker(bullet)
		}
		if err := m.checkLogText("bullets", text); err != nil {
			return nil, err
		}
		text, err := m.withTags(text, projectTags(r.Project))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, logBlock{
			given: text, item: true, evidence: r.Evidence,
			attributes: map[string]string{
				"type": r.Type, "visibility": visibilityAttribute(r.Visibility), "source": sourceAttribute(c, r.Source),
				sessionAttribute: oneLine(r.Session),
			},
		})
	}
	return blocks, nil
}

// trimMarker returns a bullet without its list marker.
func trimMarker(bullet string) string {
	bullet = strings.TrimSpace(bullet) + " "
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if rest, ok := strings.CutPrefix(bullet, mark); ok {
			return rest
		}
	}
	return bullet
}
