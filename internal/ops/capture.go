package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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
	at := m.Now().In(m.Location)
	there := func(e *memory.Entry, b *logBlock) bool {
		return e.Block == memory.Item && e.Norm == b.entry.Norm &&
			e.Attributes[sessionAttribute] == b.attributes[sessionAttribute] &&
			e.Type == b.entry.Type && e.Partition.Visibility == b.entry.Partition.Visibility
	}
	fresh := blocks
	if r.Session != "" { // it may have begun on an earlier day
		fresh, err = m.uncapturedBlocks(c, blocks, at, there)
		if err != nil {
			return nil, err
		}
	}
	answer := &api.CaptureAnswer{Lines: []int{}, Already: len(blocks) - len(fresh)}
	if len(fresh) == 0 {
		answer.Note = "all bullets were captured on an earlier day"
		return answer, nil
	}
	done, err := m.appendLog(ctx, c,
		logEdit{cause: "capture", at: at, topic: captureTopic, blocks: fresh, contains: there})
	if err != nil {
		return nil, err
	}
	answer.Already += done.already
	answer.Path = done.path
	if done.path == "" {
		return answer, nil
	}
	answer.Lines = make([]int, len(blocks))
	for i := range blocks {
		if n := slices.IndexFunc(fresh, func(b logBlock) bool { return b.given == blocks[i].given }); n >= 0 {
			answer.Lines[i] = done.lines[n]
		}
	}
	return answer, nil
}

// uncapturedBlocks returns the blocks that are missing from the caller's logs of
// the previous recent days, as far as the caller may read them. It ignores
// today's log.
func (m writeOps) uncapturedBlocks(c Call, blocks []logBlock, at time.Time,
	there func(*memory.Entry, *logBlock) bool) ([]logBlock, error) {
	blocks = slices.Clone(blocks)
	for ago := 1; ago <= m.recentDays() && len(blocks) > 0; ago++ {
		day := at.AddDate(0, 0, -ago)
		for _, t := range m.logTargets(c, day.Format(time.DateOnly), blocks[0].isPrivate()) {
			path := t.path
			doc, _, err := m.loadFile(c, path)
			if err != nil || c.View.SubjectOf(doc.Own) != c.Scope.Subject {
				continue
			}
			for i := range blocks {
				if err := m.finishBlock(&blocks[i], path, at); err != nil {
					return nil, err
				}
			}
			blocks = slices.DeleteFunc(blocks, func(b logBlock) bool {
				return slices.ContainsFunc(doc.Entries,
					func(e memory.Entry) bool { return e.Readable(c.View) && there(&e, &b) })
			})
		}
	}
	return blocks, nil
}

// captureBlocks returns the bullets in the form in which they are written.
func (m writeOps) captureBlocks(c Call, r *api.CaptureRequest) ([]logBlock, error) {
	if n := len(r.Bullets); n < 1 || n > maxBullets {
		return nil, api.Errorf(api.Invalid, "bullets: got %d, want one to three", n).
			WithHint("keep the most important bullets")
	}
	if err := m.captureOrigin(r); err != nil {
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

// captureOrigin rejects invalid sources, session names and evidence.
func (m writeOps) captureOrigin(r *api.CaptureRequest) error {
	return cmp.Or(m.logSource("source", r.Source), m.logSource("session", r.Session), m.logEvidence(r.Evidence))
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
