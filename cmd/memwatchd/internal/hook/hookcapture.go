package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/secrets"
	"github.com/memwatchd/memwatchd/transcript"
)

const (
	maxTranscript     = 1 << 20  // bytes read from the end of a transcript, in a tenth of the time limit
	maxStatements     = 10       // marks saved by one hook
	maxMessage        = 48 << 10 // bytes used from the end of an answer
	bulletsPerRequest = 3        // bullets in one capture request

	hookSource = "claude-code" // source of the saved entries
)

// saveStatements saves the important sentences of a conversation before it is
// compressed or ends. The daemon skips entries that any hook saved before.
func saveStatements(ctx context.Context, h *hook) error {
	if !h.config.Hooks.Capture {
		return errors.New("hooks.capture is false")
	}
	text, err := readTail(h.input.Transcript)
	if err != nil {
		return err
	}
	var bullets []string
	for _, mark := range transcript.Statements(transcript.Read(text).Messages, maxStatements) {
		if secrets.MatchingRule(mark.Text) == "" {
			bullets = append(bullets, memory.CleanLine(mark.Text))
		}
	}
	if len(bullets) == 0 {
		return errors.New("nothing to save")
	}
	for some := range slices.Chunk(bullets, bulletsPerRequest) {
		if err := h.saveBullets(ctx, api.CaptureRequest{Bullets: some, Type: "crumb"}); err != nil {
			return err
		}
	}
	return nil
}

// isRejected reports whether the daemon rejected the content of a request, so that
// a request with other content can succeed.
func isRejected(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && (e.Code == api.Secret || e.Code == api.Invalid || e.Code == api.TooLarge)
}

// saveAnswer saves the achievements in an answer, unless the agent continues
// only because of a hook.
func saveAnswer(ctx context.Context, h *hook) error {
	switch {
	case !h.config.Hooks.StoreResponses:
		return errors.New("hooks.store_responses is false")
	case h.input.Active:
		return errors.New("the agent continues because of a hook")
	}
	message := h.input.Message
	if strings.TrimSpace(message) == "" {
		text, err := readTail(h.input.Transcript)
		if err != nil {
			return err
		}
		turns := transcript.Read(text).Messages
		if n := len(turns); n == 0 || !turns[n-1].Assistant {
			return errors.New("the answer is empty")
		}
		message = turns[len(turns)-1].Text
	}
	if at := len(message) - maxMessage; at > 0 {
		for !utf8.RuneStart(message[at]) {
			at++
		}
		message = message[at:]
	}
	return h.saveBullets(ctx, api.CaptureRequest{Text: message, Type: "result"})
}

// saveBullets saves entries of the session, for private contexts, after those
// that earlier hooks could not save. If the daemon is away, it sets h.away and
// keeps the entries for a later hook.
func (h *hook) saveBullets(ctx context.Context, r api.CaptureRequest) error {
	r.Source, r.Session = hookSource, h.input.Session
	waiting := spoolOf(h.client)
	err := h.away // known from an earlier request of this hook
	if err == nil {
		early, cancel := beforeDeadline(ctx)
		defer cancel()
		err = h.deliverSpool(early)
		if err == nil {
			err = h.sendCapture(early, r)
		}
	}
	if !isAway(err) {
		return err
	}
	h.away = err
	if secrets.MatchingRule(r.Text) != "" {
		return fmt.Errorf("the text contains a credential and was not kept: %w", err)
	}
	if kept := waiting.add(r); kept != nil {
		return fmt.Errorf("the capture was lost: %w: %w", kept, err)
	}
	return nil
}

// deliverSpool delivers the captures that earlier hooks kept.
func (h *hook) deliverSpool(ctx context.Context) error {
	return spoolOf(h.client).deliver(ctx, func(r api.CaptureRequest) error { return h.sendCapture(ctx, r) })
}

// beforeDeadline returns a context that ends before ctx does, so that the hook
// can still write files.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline()
	return context.WithDeadline(ctx, end.Add(-TimeLimit/4))
}

// sendCapture sends a capture. If the daemon rejects it, sendCapture sends each
// bullet separately, because the others may be valid, and skips those that the
// daemon rejects. Every error means that the capture can be sent again.
func (h *hook) sendCapture(ctx context.Context, r api.CaptureRequest) error {
	a, err := h.client.Capture(ctx, r)
	switch {
	case isAway(err):
		return err
	case err == nil && a.Note != "":
		h.logDebug(errors.New(a.Note))
	case isRejected(err) && len(r.Bullets) > 1:
		for _, one := range r.Bullets {
			single := r
			single.Bullets = []string{one}
			if err := h.sendCapture(ctx, single); err != nil {
				return err
			}
		}
	case err != nil:
		h.logDebug(err)
	}
	return nil
}

// readTail reads the end of a transcript. It accepts only a regular file of the
// current user, and no symbolic link.
func readTail(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("no transcript")
	}
	path, err := config.AbsolutePath(path)
	if err != nil {
		return nil, err
	}
	f, info, err := config.OpenFile(path, syscall.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s belongs to another user", path)
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxTranscript), maxTranscript))
}
