package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is what kind of thing went wrong: stable, for programs.
type Code string

// The codes, with the HTTP status each is sent with.
const (
	Invalid         Code = "invalid"          // 400: the request cannot mean anything
	NoSubject       Code = "no_subject"       // 400: nobody cannot do that
	Forbidden       Code = "forbidden"        // 403: this listener does not allow it
	NotFound        Code = "not_found"        // 404: not there, or not readable
	Conflict        Code = "conflict"         // 409: more than one thing is meant
	SubjectConflict Code = "subject_conflict" // 409: a directory belongs to another subject
	Busy            Code = "busy"             // 409: somebody else is changing it
	Limit           Code = "limit"            // 409: there is no room
	Secret          Code = "secret"           // 422: the text holds a live credential
	TooLarge        Code = "too_large"        // 413: the request is larger than the listener takes
	RateLimited     Code = "rate_limited"     // 429: more requests a second than the listener takes
	Unavailable     Code = "unavailable"      // 503: not now
	Internal        Code = "internal"         // 500: a mistake of ours
)

// Status is the HTTP status that carries the code.
func (c Code) Status() int {
	switch c {
	case Invalid, NoSubject:
		return http.StatusBadRequest
	case Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Conflict, SubjectConflict, Busy, Limit:
		return http.StatusConflict
	case Secret:
		return http.StatusUnprocessableEntity
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case RateLimited:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// An Error is a failure as it goes over the wire and comes back from it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do about it
}

// Error is the message, with the hint in parentheses.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Failure is the body of every answer that is an error.
type Failure struct {
	Error *Error `json:"error"`
}

// Errorf makes an error with a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns e with advice.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// AsError returns err as it is answered. What is not an *Error becomes one with
// the code [Internal] and without its text: that may name things that the caller
// may not know of.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "something went wrong").WithHint("the daemon's log says what")
}
