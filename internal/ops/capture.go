package ops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	maxBullets       = 3
	captureTopic     = "Captured" // topic of their heading
	sessionAttribute = "session"  // attribute name
)

// capture appends bullets to today's log; a text is first reduced to bullets. A bullet that
// the logs of the recent days or long-term memory contain is not written again if the caller
// may read it there, so a client can retry after a lost answer. The attribute checked of an
// entry of another day becomes today.
func (m writeOps) capture(ctx context.Context, c Call, r *api.CaptureRequest) (*api.CaptureAnswer, error) {
	if r.Text != "" {
		return m.captureText(ctx, c, r)
	}
	return m.captureBullets(ctx, c, r)
}

// captureBullets adds the bullets to the daily note, or leaves those that memory contains
// already.
func (m writeOps) captureBullets(ctx context.Context, c Call, r *api.CaptureRequest) (*api.CaptureAnswer, error) {
	puts, err := m.newBullets(c, r)
	if err != nil {
		return nil, err
	}
	tag := ""
	if r.Project != "" {
		tag = " #" + letters.FoldCase(projectTag+r.Project)
	}
	private := cmp.Or(r.Visibility, m.Layout.Daily.String()) != memory.PublicOK.String()
	l := &logEdit{at: m.Now().In(m.Location), topic: captureTopic, visibility: r.Visibility, earlier: r.Session != ""}
	l.putEdit = putEdit{cause: "capture", puts: puts, same: func(e *memory.Entry, p *addition) bool {
		norm := p.Entry().Norm
		return (e.Norm == norm || e.Norm == strings.TrimSuffix(norm, tag)) &&
			(private || l.reviewed || e.Partition.Visibility == memory.PublicOK) && !e.Author().Untrusted(c.View)
	}}
	after, err := m.appendLog(ctx, c, l)
	if err != nil {
		return nil, err
	}
	if !l.reviewed {
		m.renewChecked(ctx, c, l)
	}
	answer := &api.CaptureAnswer{Lines: []int{}}
	fresh := ""
	for _, p := range puts {
		answer.Lines = append(answer.Lines, p.line())
		if p.same {
			answer.Already++
		} else {
			fresh += p.Text + "\n"
		}
		if p.line() > 0 {
			answer.Path = after.Place.Path
		}
	}
	if after == nil {
		answer.Note = "memory contained all bullets"
	}
	if answer.Path == "" {
		answer.Lines = []int{}
	}
	answer.Similar = m.similarEntries(ctx, c, fresh, answer.Path, answer.Lines...)
	return answer, nil
}

// renewChecked sets the attribute checked of the entries of earlier days that are the same as
// those for a log, where the caller may change them. A file that cannot be changed stays.
func (m writeOps) renewChecked(ctx context.Context, c Call, l *logEdit) {
	today := l.at.Format(time.DateOnly)
	for _, p := range l.puts {
		if p.before == "" || m.Todos.AppendOnly != nil && m.Todos.AppendOnly(p.before) {
			continue
		}
		_, _, _ = m.editFile(ctx, c, fileEdit{writeTarget: writeTarget{path: p.before}, cause: l.cause,
			change: func(doc *memory.Document, r *memory.Revision) error {
				if at := l.find(c, doc, p); at >= 0 {
					r.SetAttribute(at, "checked", today)
				}
				return nil
			}})
	}
}

// newBullets returns the entries of bullets.
func (m writeOps) newBullets(c Call, r *api.CaptureRequest) ([]*addition, error) {
	if n := len(r.Bullets); n < 1 || n > maxBullets {
		return nil, api.Errorf(api.Invalid, "bullets: got %d, want one to three", n).
			WithHint("keep the most important bullets")
	}
	if err := cmp.Or(checkText("session", r.Session), m.checkOrigin(r.Source, r.Evidence)); err != nil {
		return nil, err
	}
	var list []*addition
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
		list = append(list, &addition{Put: memory.Put{
			Form: memory.BulletForm, Text: text, Evidence: r.Evidence,
			Attributes: map[string]string{
				"type": r.Type, "source": sourceAttribute(c, r.Source), sessionAttribute: oneLine(r.Session),
			},
		}})
	}
	return list, nil
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

// An agent's report is too long for a log. It is reduced to one to three
// bullets, immediately by rules or later by a model. A model is slow, so the
// caller gets an answer first and the bullets are written afterwards. If the
// model fails or the daemon stops first, the rules apply.

// A Reducer, such as a model, summarizes the achievements in an agent's message
// in one to three sentences, or in none if there are none. ListAchievements returns an
// error if check rejects the sentences. Error messages are written for a
// person.
type Reducer interface {
	ListAchievements(ctx context.Context, message string, check func(bullets []string) error) ([]string, error)
}

const (
	maxReduced       = 64 << 10 // size limit of a text to reduce, in bytes
	maxBullet        = 300      // limit of one resulting bullet, in characters
	maxPendingTexts  = 16       // pending texts; further ones are reduced by rules
	maxAcceptedTexts = 256      // number of accepted texts that are remembered

	// lateWriteTimeout limits writing the bullets of a text while the daemon stops.
	lateWriteTimeout = 2 * time.Second
)

// A pendingText is a text that waits for a model.
type pendingText struct {
	call    Call
	request api.CaptureRequest
	day     string // of the request
}

// digest identifies the text with its day, author and readers. The digest of a private
// text must not match that of a public one, because the answer or a missing
// bullet would reveal the private text.
func (r *pendingText) digest() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", []string{fmt.Sprint(r.call.Scope, r.call.Fixed), r.day,
		r.request.Session, r.request.Type, r.request.Project, orPrivate(r.request.Visibility),
		r.request.Text}))
}

// reductionQueue holds the pending texts and the digests of accepted ones. A client may
// send a text again, for which a model would word its bullets differently.
type reductionQueue struct {
	once    sync.Once
	pending chan pendingText // see texts

	mu       sync.Mutex
	accepted map[[sha256.Size]byte]bool
	closed   bool // pending is closed
}

func (q *reductionQueue) texts() chan pendingText {
	q.once.Do(func() { q.pending = make(chan pendingText, maxPendingTexts) })
	return q.pending
}

// add queues a text, unless it was accepted before. It returns false if too many are pending.
func (q *reductionQueue) add(r pendingText) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	digest := r.digest()
	if q.closed || q.accepted[digest] {
		return q.accepted[digest]
	}
	select {
	case q.texts() <- r:
	default:
		return false
	}
	if len(q.accepted)%maxAcceptedTexts == 0 {
		q.accepted = map[[sha256.Size]byte]bool{}
	}
	q.accepted[digest] = true
	return true
}

// Reduce reduces pending texts with the model until the context ends, and the
// remaining ones by rules, and returns the error of the context. It passes
// other errors to failed, whether or not a text is lost. Call it once.
func (m *Memory) Reduce(ctx context.Context, failed func(error)) error {
	w, texts := m.writeOps(), m.reductions.texts()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case r := <-texts:
			w.reduceText(ctx, r, failed)
		}
	}
	m.reductions.mu.Lock()
	m.reductions.closed = true
	m.reductions.mu.Unlock()
	close(texts)
	for r := range texts {
		w.reduceText(ctx, r, failed)
	}
	return ctx.Err()
}

// reduceText writes the bullets that a model returns for a text, without what
// the text quotes.
func (m writeOps) reduceText(ctx context.Context, r pendingText, failed func(error)) {
	text := strings.Join(transcript.ProseLines(r.request.Text), "\n")
	if text == "" {
		return
	}
	bullets, err := m.Reducer.ListAchievements(ctx, text, func(bullets []string) error {
		return m.checkBullets(text, bullets)
	})
	if err != nil {
		failed(fmt.Errorf("text reduced by rules: %w", err))
		bullets = m.bulletsOf(r.request.Text)
	}
	if len(bullets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateWriteTimeout)
	defer cancel()
	digest := r.digest()
	r.request.Bullets = bullets
	if err = m.renewView(&r.call); err == nil { // permissions may have changed
		_, err = m.captureBullets(ctx, r.call, &r.request)
	}
	if err != nil {
		m.reductions.mu.Lock()
		delete(m.reductions.accepted, digest) // a retry may succeed
		m.reductions.mu.Unlock()
		failed(fmt.Errorf("save bullets: %w", err))
	}
}

// captureText reduces a text now or queues it.
func (m writeOps) captureText(ctx context.Context, c Call, r *api.CaptureRequest) (*api.CaptureAnswer, error) {
	switch {
	case len(r.Bullets) > 0:
		return nil, api.Errorf(api.Invalid, "text and bullets exclude each other")
	case len(r.Text) > maxReduced:
		return nil, api.Errorf(api.TooLarge, "text has more than %d bytes", maxReduced).WithHint("send only the " +
			"end of the text")
	}
	if err := cmp.Or(checkText("session", r.Session), m.checkOrigin(r.Source, r.Evidence)); err != nil {
		return nil, err
	}
	if m.mayReduce(r) && m.reductions.add(pendingText{c, *r, m.day(0)}) {
		return &api.CaptureAnswer{Lines: []int{}, Queued: true}, nil
	}
	asked := *r
	asked.Bullets = m.bulletsOf(r.Text)
	if len(asked.Bullets) == 0 {
		return &api.CaptureAnswer{Lines: []int{}, Note: "the text contains no achievements"}, nil
	}
	return m.captureBullets(ctx, c, &asked)
}

// mayReduce reports whether a text may be sent to a model. Private text needs
// JudgePrivate. Text with a credential is never sent.
func (m writeOps) mayReduce(r *api.CaptureRequest) bool {
	return m.Reducer != nil && (orPrivate(r.Visibility) == memory.PublicOK.String() || m.JudgePrivate) &&
		secrets.MatchingRule(r.Text) == ""
}

// bulletsOf reduces a text by rules to valid bullets without credentials.
func (m writeOps) bulletsOf(text string) (bullets []string) {
	bullets = transcript.Achievements(text, maxBullets,
		func(line string) bool { return m.checkBullet(memory.CleanLine(line)) == nil })
	for i := range bullets {
		bullets[i] = memory.CleanLine(bullets[i])
	}
	return bullets
}

// checkBullets returns an error if the bullets are not a valid reduction of a
// text.
func (m writeOps) checkBullets(text string, bullets []string) error {
	if len(bullets) > maxBullets {
		return fmt.Errorf("%d bullets instead of one to three", len(bullets))
	}
	for _, b := range bullets {
		if len(letters.MissingWords(b, text)) > 0 {
			return errors.New("a bullet has a name or a number that is not in the text")
		}
		if err := m.checkBullet(b); err != nil {
			return err
		}
	}
	return nil
}

// checkBullet returns an error if a line is not a valid bullet.
func (m writeOps) checkBullet(line string) error {
	if utf8.RuneCountInString(line) > maxBullet {
		return fmt.Errorf("a bullet has more than %d characters", maxBullet)
	}
	line = trimMarker(line)
	if err := m.checkLogText("bullets", line); err != nil {
		return err
	}
	return m.Layout.Fit("memory/log.md", &memory.Put{Form: memory.BulletForm, Text: line})
}
