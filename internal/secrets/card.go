package secrets

import (
	"bytes"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Payment card numbers are found by the prefix of their issuer, their length,
// the usual groups and the check digit. Digits that continue a name, a path or
// another number are ids.

const (
	cardName = "payment-card"
	minCard  = 13 // digits
	maxCard  = 19
)

// cardIssuers matches the numbers of each issuer.
var cardIssuers = lazyregexp.New(`^(?:` +
	`4(?:\d{12}|\d{15}|\d{18})` + // Visa
	`|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}` + // Mastercard
	`|220[0-4]\d{12}` + // Mir
	`|3[47]\d{13}` + // American Express
	`|3(?:0[0-5]|[689]\d)\d{11}` + // Diners Club
	`|35(?:2[89]|[3-8]\d)\d{12}` + // JCB
	`|(?:6011\d\d|64[4-9]\d\d\d|65\d{4})\d{10}` + // Discover
	`|62\d{14,17}` + // UnionPay
	`|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{12}` + // Maestro
	`)$`)

// cardForm matches digits without separators or in the usual groups.
var cardForm = lazyregexp.New(`^(?:\d{13,19}|\d{4}(?: \d{4}){3}(?: \d{3})?|\d{4}(?:-\d{4}){3}(?:-\d{3})?|` +
	`\d{4} (?:\d{6} \d{4,5}|\d{3} \d{3} \d{3})|\d{4}-(?:\d{6}-\d{4,5}|\d{3}-\d{3}-\d{3})|\d{6}[ -]\d{13})`)

// cardWord matches a name directly in front of a card number.
var cardWord = lazyregexp.New(`(?i)(?:card|karte|visa|amex|number|nummer|no|nr|cc|pan)["']?[:=]$`)

// appendCards appends the payment card numbers in a text.
func appendCards(list []Finding, text string) []Finding {
	for from := 0; from < len(text); from++ {
		if !isDigit(text[from]) {
			continue
		}
		to := from + 1 // the end of a run of digits and single separators
		for to < len(text) && (isDigit(text[to]) || to+1 < len(text) && isDigit(text[to+1]) && isDigit(text[to-1]) &&
			(text[to] == ' ' || text[to] == '-')) {
			to++
		}
		for at := from; to-at >= minCard; at++ {
			if end := cardEnd(text, at, to); end > 0 {
				list = append(list, Finding{at, end, cardName})
				at = end
			}
			for at < to && isDigit(text[at]) {
				at++
			}
		}
		from = to
	}
	return list
}

func isDigit(c byte) bool { return c-'0' < 10 }

// cardEnd returns the end of the card number at an offset, or 0.
func cardEnd(text string, at, to int) int {
	if text[at] < '2' || text[at] > '6' || !startsNumber(text, at) { // no issuer has others
		return 0
	}
	number := cardForm().FindString(text[at:to])
	end := at + len(number)
	grouped := strings.ContainsAny(number, " -")
	switch {
	case number == "", !endsNumber(text, end), !grouped && end < to, !isCard(number):
		return 0
	case !grouped && len(number) == maxCard && number[0] == '4':
		return 0 // rarer than an id of 19 digits
	}
	return end
}

// startsNumber reports whether the digits at an offset do not continue a name,
// a path or another number.
func startsNumber(text string, at int) bool {
	if at == 0 {
		return true
	}
	switch c := text[at-1]; {
	case c == ':', c == '=':
		return cardWord().MatchString(text[max(0, at-20):at])
	case isAlnum(c), strings.IndexByte("_/#@.-+&$", c) >= 0:
		return false
	}
	return true
}

// endsNumber reports whether the digits before an offset do not continue.
func endsNumber(text string, end int) bool {
	if end == len(text) {
		return true
	}
	c := text[end]
	return !isAlnum(c) && c != '_' && c != '/' && c != '@' && c != '-' &&
		(c != '.' && c != ':' || end+1 == len(text) || !isAlnum(text[end+1]))
}

// isCard reports whether a number, without its separators, is the number of an
// issuer with a valid check digit.
func isCard(number string) bool {
	digits := make([]byte, 0, maxCard)
	for i := range len(number) {
		if isDigit(number[i]) {
			digits = append(digits, number[i])
		}
	}
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
			if d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && cardIssuers().Match(digits) && bytes.Count(digits, digits[:1]) < len(digits)
}
