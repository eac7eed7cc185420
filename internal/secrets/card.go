package secrets

import (
	"bytes"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Payment card numbers are found by the prefix of their issuer, their length,
// the usual groups and the check digit, the numbers of Chinese identity cards by the date
// of birth and the check digit. Digits that continue a name, a path or another number are
// ids.

const (
	minCard = 13 // digits
	maxCard = 19
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
var cardWord = lazyregexp.New(`(?i)(?:card|karte|visa|amex|number|nummer|no|nr|cc|pan|身份证|号|号码)["']?[:=]$`)

// identityForm matches the number of a Chinese identity card.
var identityForm = lazyregexp.New(`^[1-8]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]`)

// identityWeights are the weights of its digits in the sum, modulo 11, that determines the
// last one of identityDigits.
const (
	identityWeights = "79X584216379X5842"
	identityDigits  = "10X98765432"
)

// appendCards appends the payment card numbers and the numbers of identity cards in a
// text. It looks at one of minCard bytes, because all of them belong to such a number.
func appendCards(list []Finding, text string) []Finding {
	for i := 0; i < len(text); i += minCard {
		if !inNumber(text, i) {
			continue
		}
		from, to := i, i+1
		for from > 0 && inNumber(text, from-1) {
			from--
		}
		for to < len(text) && inNumber(text, to) {
			to++
		}
		if to-from >= len(identityWeights) && identityEnd(text, from) > 0 {
			to = identityEnd(text, from)
			list = append(list, Finding{from, to, "identity-card"})
		}
		for at := from; to-at >= minCard; at++ {
			if end := cardEnd(text, at, to); end > 0 {
				list = append(list, Finding{at, end, "payment-card"})
				at = end
			}
			for at < to && isDigit(text[at]) {
				at++
			}
		}
		i = to
	}
	return list
}

// inNumber reports whether the byte at an offset is a digit or separates two digits.
func inNumber(text string, i int) bool {
	return isDigit(text[i]) || (text[i] == ' ' || text[i] == '-') &&
		i > 0 && i+1 < len(text) && isDigit(text[i-1]) && isDigit(text[i+1])
}

// identityEnd returns the end of the number of an identity card at an offset, or 0.
func identityEnd(text string, at int) int {
	number := identityForm().FindString(text[at:min(len(text), at+maxCard)])
	end := at + len(number)
	if number == "" || !startsNumber(text, at) || !endsNumber(text, end) {
		return 0
	}
	sum := 0
	for i, weight := range identityWeights {
		sum += int(number[i]-'0') * strings.IndexRune("0123456789X", weight)
	}
	if strings.ToUpper(number[17:]) != identityDigits[sum%11:][:1] {
		return 0
	}
	return end
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
