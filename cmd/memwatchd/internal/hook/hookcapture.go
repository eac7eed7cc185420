package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/ipc/client"
)

const (
	maxTranscript     = 1 << 20  // bytes read from the end of a transcript, in a tenth of the time limit
	maxMessage        = 48 << 10 // bytes used from the end of an answer
	bulletsPerRequest = 3        // bullets in one capture request
)

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
	message := cmp.Or(h.input.Message, h.input.Answer)
	if strings.TrimSpace(message) == "" {
		_, text, err := readTranscript(h.input.Transcript, 0, maxTranscript)
		if err != nil {
			return err
		}
		turns := transcript.Read(text).Messages
		if n := len(turns); n == 0 || !turns[n-1].Assistant {
			return errors.New("the answer is empty")
		}
		message = turns[len(turns)-1].Text
	}
	message = strings.ToValidUTF8(message[max(0, len(message)-maxMessage):], "")
	text := withoutCredentials(message)
	if strings.TrimSpace(text) == "" {
		return errors.New("the answer contains nothing but credentials")
	}
	return h.save(ctx, []spooled{{CaptureRequest: api.CaptureRequest{Text: text, Type: "result"}}})
}

// withoutCredentials returns a text without the lines that contain credentials.
func withoutCredentials(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if secrets.MatchingRule(line) == "" {
			b.WriteString(line)
		}
	}
	text, _ = secrets.Remove(b.String()) // those of several lines
	return text
}

// save writes requests to the spool and then delivers the spool, so that nothing is
// lost if the daemon is away or slow, or if the agent ends the hook.
func (h *hook) save(ctx context.Context, requests []spooled) error {
	// the daemon recognizes a repeated capture by its session
	session := cmp.Or(h.input.Session, "hook-"+rand.Text()[:8])
	for i := range requests {
		r := &requests[i]
		if r.Draft == nil {
			r.Source, r.Session, r.Project = h.agentName, session, h.project()
		}
	}
	kept := spoolOf(h.client).add(requests)
	if kept == nil {
		return h.deliverSpool(ctx)
	}
	for _, r := range requests {
		if err := h.send(ctx, r); err != nil {
			return fmt.Errorf("the text was lost: %w: %w", kept, err)
		}
	}
	return nil
}

// deliverSpool delivers the requests of the spool. An error means that further requests
// fail, too.
func (h *hook) deliverSpool(ctx context.Context) error {
	failed, err := spoolOf(h.client).deliver(ctx, func(r spooled) error { return h.send(ctx, r) })
	h.reportDaemon(failed)
	h.logDebug(failed)
	return err
}

// send sends a request. If the daemon rejects a capture, send sends each bullet separately,
// because the others may be valid, and skips those that the daemon rejects. Every error means
// that the request can be sent again.
func (h *hook) send(ctx context.Context, r spooled) (err error) {
	if r.Draft != nil {
		draft := *r.Draft
		if draft.Day == h.today() {
			draft.Day = "" // the daemon chooses the day, as for captures
		}
		_, err = client.Call(ctx, h.client, draft)
	} else {
		var a *api.CaptureAnswer
		a, err = client.Call(ctx, h.client, r.CaptureRequest)
		if err == nil && a.Note != "" {
			h.logDebug(errors.New(a.Note))
		}
	}
	switch {
	case canSucceed(err):
		return err
	case isRejected(err) && len(r.Bullets) > 1:
		for _, one := range r.Bullets {
			r.Bullets = []string{one}
			if err := h.send(ctx, r); err != nil {
				return err
			}
		}
	default:
		h.logDebug(err)
	}
	return nil
}

// readTranscript reads the beginning and the end of a transcript, of at most the
// given sizes. It accepts only a regular file of the current user, and no
// symbolic link.
func readTranscript(path string, head, tail int64) (first, last []byte, err error) {
	if path == "" {
		return nil, nil, errors.New("no transcript")
	}
	path, err = config.AbsolutePath(path)
	if err != nil {
		return nil, nil, err
	}
	f, info, err := config.OpenFile(path, syscall.O_NOFOLLOW)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return nil, nil, fmt.Errorf("%s belongs to another user", path)
	}
	first, err = io.ReadAll(io.NewSectionReader(f, 0, head))
	if err != nil {
		return nil, nil, err
	}
	last, err = io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tail), tail))
	return first, last, err
}
