package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Code is the kind of an error. Programs can rely on its values: they do not
// change.
type Code string

// The codes, with the HTTP status of each.
const (
	Invalid         Code = "invalid"          // 400: the request is malformed or has an invalid value
	NoSubject       Code = "no_subject"       // 400: an anonymous caller cannot do that
	Forbidden       Code = "forbidden"        // 403: this listener does not allow it
	NotFound        Code = "not_found"        // 404: missing or not readable
	Conflict        Code = "conflict"         // 409: the request is ambiguous or contradicts the present state
	SubjectConflict Code = "subject_conflict" // 409: a directory belongs to another subject
	Busy            Code = "busy"             // 409: the file or the index is being changed
	Limit           Code = "limit"            // 409: a size or count limit is reached
	Misdirected     Code = "misdirected"      // 421: the daemon serves another memory directory
	Secret          Code = "secret"           // 422: the text contains a live credential
	TooLarge        Code = "too_large"        // 413: the request exceeds the size limit of the listener
	RateLimited     Code = "rate_limited"     // 429: the request rate exceeds the limit of the listener
	Unavailable     Code = "unavailable"      // 503: temporarily unavailable
	Internal        Code = "internal"         // 500: internal error
)

var statuses = map[Code]int{
	Invalid: http.StatusBadRequest, NoSubject: http.StatusBadRequest, Forbidden: http.StatusForbidden,
	NotFound: http.StatusNotFound, Conflict: http.StatusConflict, SubjectConflict: http.StatusConflict,
	Busy: http.StatusConflict, Limit: http.StatusConflict, Misdirected: http.StatusMisdirectedRequest,
	Secret: http.StatusUnprocessableEntity, TooLarge: http.StatusRequestEntityTooLarge,
	RateLimited: http.StatusTooManyRequests, Unavailable: http.StatusServiceUnavailable,
}

// Status returns the HTTP status for the code.
func (c Code) Status() int { return cmp.Or(statuses[c], http.StatusInternalServerError) }

// An Error is a failed operation in its wire format.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // a remedy
}

// Error returns the message, with the hint in parentheses.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Failure is the body of every error response.
type Failure struct {
	Error *Error `json:"error"`
}

// Errorf returns an error with a code and a formatted message. It shortens quoted
// texts, which usually are those of the request.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: formatShort(format, args)}
}

// maxEcho bounds the characters of a text of the request in an error.
const maxEcho = 100

// A shortened text is shortened by the verb %q.
type shortened string

// Format implements [fmt.Formatter].
func (s shortened) Format(f fmt.State, verb rune) {
	text := string(s)
	if verb == 'q' {
		text = ShortenEcho(text)
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// ShortenEcho returns a text of a request for an error: its first 100 characters, and a
// mark if there are more.
func ShortenEcho(text string) string {
	n := 0
	for at := range text {
		if n == maxEcho {
			return text[:at] + "…"
		}
		n++
	}
	return text
}

func formatShort(format string, args []any) string {
	for i, arg := range args {
		if text, ok := arg.(string); ok && len(text) > maxEcho {
			args = slices.Clone(args)
			args[i] = shortened(text)
		}
	}
	return fmt.Sprintf(format, args...)
}

// WithHint sets the hint of e to the formatted text. It modifies e, which it
// returns for chaining.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = formatShort(format, args)
	return e
}

// Rename returns a copy of e with renamed names in its message and its hint.
func (e *Error) Rename(rename func(name string) string) *Error {
	return &Error{Code: e.Code, Message: Rename(e.Message, rename), Hint: Rename(e.Hint, rename)}
}

// Rename replaces the names in backquotes in a message, with the backquotes: commands, and
// parameters and operations as in the table, with arguments, which front ends have other names
// for. If rename returns "", the name stays.
func Rename(text string, rename func(name string) string) string {
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts)-1; i += 2 {
		parts[i] = cmp.Or(rename(parts[i]), "`"+parts[i]+"`")
	}
	if len(parts)%2 == 0 {
		parts[len(parts)-1] = "`" + parts[len(parts)-1]
	}
	return strings.Join(parts, "")
}

// suggest sets the hint of e to the name most similar to the typed one, if any.
func (e *Error) suggest(typed string, names []string) *Error {
	if near := NearestName(typed, names); near != "" {
		e.WithHint("did you mean %q?", near)
	}
	return e
}

// AsError returns the *Error in the chain of err. For any other error it
// returns one with the code [Internal] and without the text, because that text
// may name things hidden from the caller.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "internal error").WithHint("see the log of the daemon")
}
