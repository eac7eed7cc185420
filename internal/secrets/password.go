package secrets

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A password has no form of its own. It is found by the words in front of it,
// such as "password:" or "the PIN is", if the text after these words can be a
// password. Two kinds of connections are distinguished: a colon or an equals
// sign announces a value; after a verb, a dash or a cell border, most texts
// are prose, so a value must look more like a password. Without any connection, as in
// "my PIN 4711", it must also end its clause.

// passwordRule and pinRule find passwords in words. One of their words is a word or the end
// of one, whose rest matches the form.
var (
	passwordRule = rule{
		name: "password",
		words: []string{"assword", "asswort", "asswd", "assphrase", "asscode", "ASSWORD", "ASSWORT", "ASSWD",
			"ASSPHRASE", "ASSCODE", "pwd", "Pwd", "PWD", "pw:", "pw=", "PW:", "PW=", "ennwort", "ENNWORT",
			"密码", "密碼", "口令", "ароль", "АРОЛЬ"},
		sample: placeholder,
		accept: acceptPassword,
	}
	pinRule = rule{
		name:   "pin",
		words:  []string{"PIN", "Pin", "pin", "ПИН", "Пин", "пин"},
		form:   `^(?i:[- ]?(?:number|nummer|code|код)|码)`,
		sample: placeholder,
		accept: acceptPIN,
	}
	// urlRule finds the password in the user information of a URL.
	urlRule = rule{
		name:   "url-password",
		words:  []string{"://"},
		sample: placeholder + `|^token$|^(?-i:[A-Z_]+)$`,
		accept: acceptPassword,
	}
)

var userInfo = lazyregexp.New("^[^\\s/:@?#\"'<>|`]*:([^\\s/?\"'<>|`\\x{2000}-\\x{10FFFF}]{1,128})@[\\p{L}\\p{N}\\[]")

// closing matches quotes, emphasis and brackets after a word or a value.
const closing = "[\"'*_`）)\\]}]{0,3}"

// link matches the text between a word, or its purpose, and its value: an optional remark
// in brackets, then a sign, which is the first group, or a verb.
var link = lazyregexp.New(`^` + closing + `(?:\s*[(（][^()（）]{1,40}[)）])?` + closing +
	`[ \t]*(?:(:=|=>|->|→|[:=：＝])|` + verb + `)` + opening)

// verbLink matches a verb in front of a value.
var verbLink = lazyregexp.New(`^` + verb + opening)

const opening = `(?:\*\*|__)?[ \t]*`

const verb = `(?i:(?:(?:now|has\sbeen|was|is)\s)?(?:set|reset|changed)\sto\s|` +
	`(?:is|was|['’]s)(?:\s+(?:now|still|currently))?(?:\s*:|\s)|` +
	`(?:ist|war|lautet)(?:\s+(?:jetzt|nun))?(?:\s*:|\s)|` +
	`(?:现在)?(?:是|为|為|改为|改成|设为|设置为)[:：]?|это\s|[—–-]\s|\|)`

// Words in front of values: the first words of verbs, prepositions that begin a purpose
// such as "for the router", and possessives. They are compared before an expression is
// matched, because most texts that mention a password continue with another word.
const (
	verbWords    = " now has was is set reset changed ist war lautet это "
	purposeWords = " for of to on für fürs vom von zum zur des der im от для к на в "
	purposeSize  = 5 // words, with the preposition
	possessives  = " my our his her their mein meine unser unsere мой наш "
)

// matchConnection returns the end of the text between a word and its value, and reports
// whether it ends in a sign. It returns 0 if there is no such text.
func matchConnection(s string) (end int, sign bool) {
	at, next := 0, len(s)-len(skipClosing(s)) // the end of the previous word, and of closing signs after it
	owner := -1                               // offset of the first "'s", which may be a verb as well
	for n, r := 0, rune(0); n <= purposeSize; {
		blank, word := nextWord(s[next:])
		switch r, _ = utf8.DecodeRuneInString(s[next+blank:]); {
		case isOneOf(word, verbWords):
			if m := verbLink().FindStringIndex(s[next+blank:]); m != nil {
				return next + blank + m[1], false
			}
		case word == "" && !strings.ContainsRune(",.;!?", r), word == "s" && next > at, r >= firstCJK:
			if m := link().FindStringSubmatchIndex(s[at:]); m != nil {
				return at + m[1], m[2] >= 0
			}
		}
		if word == "" || n == 0 && !isOneOf(word, purposeWords) {
			break
		}
		if blank > 0 {
			n++
		} else if n == 0 || r < firstCJK { // no blank ends the previous word
			break
		}
		next += blank + len(word)
		at = next
		if owner < 0 && strings.HasSuffix(word, "'s") {
			owner = at - len("'s")
		}
	}
	if owner >= 0 {
		if m := verbLink().FindStringIndex(s[owner:]); m != nil {
			return owner + m[1], false
		}
	}
	return 0, false
}

// firstCJK is the first character of scripts without blanks between words. Each of their
// characters counts as a word, and a verb can follow at each.
const firstCJK = 0x2e80

// nextWord returns the number of blanks at the beginning of a text, and the word after
// them, if the text continues with a word.
func nextWord(s string) (blank int, word string) {
	rest := strings.TrimLeft(s, " \t")
	if r, size := utf8.DecodeRuneInString(rest); r >= firstCJK && isWordRune(r) {
		return len(s) - len(rest), rest[:size]
	}
	if rest == "" || strings.IndexByte("-'._`\"*", rest[0]) >= 0 {
		return len(s) - len(rest), ""
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r >= firstCJK || !isWordRune(r) && !strings.ContainsRune("_.'@-", r)
	})
	if end < 0 {
		end = len(rest)
	}
	if strings.HasPrefix(rest[end:], ">") { // an arrow
		end = len(strings.TrimSuffix(rest[:end], "-"))
	}
	return len(s) - len(rest), rest[:end]
}

// isOneOf reports whether a word is in a list of words between blanks.
func isOneOf(word, list string) bool {
	return len(word) <= 16 && strings.Contains(list, " "+strings.ToLower(word)+" ")
}

// skipClosing returns a text without the closing quotes and brackets at its beginning.
func skipClosing(s string) string {
	rest := s
	for range 3 {
		r, size := utf8.DecodeRuneInString(rest)
		if !strings.ContainsRune("\"'*_`）)]}", r) {
			break
		}
		rest = rest[size:]
	}
	return rest
}

// state matches words of prose about a password.
const state = `unknown|unchanged|forgotten|missing|empty|blank|wrong|correct|incorrect|invalid|valid|expired|unset|` +
	`needed|changed|rotated|reset|hashed|encrypted|stored|saved|removed|deleted|disabled|enabled|protected|updated|` +
	`shared|geheim|falsch|richtig|vergessen|geändert|unbekannt`

// placeholder matches values of prose, of documentation and of code.
const placeholder = `(?i)^(?:[x*.•_-]+|` +
	`[a-z_-]*(?:pass(?:word|wort|wd|phrase|code)?|passw|pwd|kennwort)[0-9]?` +
	`(?:[_-](?:here|hash|field|manager|reset|policy))?|` +
	`(?:your|my|new|old|the|some|user|db)[_-][a-z_-]+|` +
	`(?:base-?64|sha-?[0-9]+|md5|utf-?8|argon2[id]*|pbkdf2|[2m]fa|oauth2?|aes-?[0-9]*|http2|ipv[46])(?:-[a-z0-9]+)*|` +
	`[0-9]{1,4}-?(?:bits?|bytes?|char(?:acter)?s?|digits?|letters?|words?|days?|hours?|stellig)|` +
	`v?[0-9]+(?:\.[0-9]+)+|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:t[0-9:.z+-]*)?|[0-9]{1,2}:[0-9]{2}|[0-9]{1,3}-[0-9]{1,3}|` +
	`(?:env|file|vault|op|ref|arn):.*|![a-z]+|` +
	// types and values of code, values of examples, words of prose
	`string|text|char|varchar|bytes?|bool|boolean|int|integer|number|object|any|none|null|nil|undefined|void|true|` +
	`false|required|optional|default|hidden|secure|input|prompt|value|field|env|vault|stdin|type|name|label|secret|` +
	`testing|example|sample|admin|root|guest|user|postgres|mysql|changeme|foobar|placeholder|same|private|` +
	state + `|` +
	// places where passwords are kept
	`1password|bitwarden|keepass|keepassxc|lastpass|dashlane|enpass|keychain|nordpass|proton-?pass|bcrypt|scrypt)$`

var (
	// passwordCode matches values that are expressions of a language, references to
	// variables, paths, links or regular expressions.
	passwordCode = lazyregexp.New(`^[<{(\[$@/~&|=:\\+]|^%[a-zA-Z(]|^#[{0-9]|^--|^[A-Za-z_][\w.:]*[(\[<]|` +
		`\$\{|\{\{|://|</|=>|->|\\[dwsbAZ]|\(\?|\[\^|\[[A-Za-z0-9]-|\.[*+]|[\])][+*{?]|^[A-Za-z0-9]+[?]$|\w\|\w`)
	// passwordName matches names of constants, variables and fields.
	passwordName = lazyregexp.New(
		`^(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|_?[A-Za-z]+(?:_[A-Za-z]+)+|[A-Za-z_]+(?:\.[A-Za-z_]+)+)$`)
	// nextField matches the end of a value in front of another field.
	nextField = lazyregexp.New(`^[&,;]\s*["']?[\w-]+["']?\s*[=:]`)
	// clauseEnd matches the text after a word at the end of a clause, numberEnd the
	// text after a number that counts nothing.
	clauseEnd = lazyregexp.New(`^` + closing + `[.!。]?\s*(?:$|\||<|\\n|[(#^]\w|[），；。])`)
	numberEnd = lazyregexp.New(`^` + closing +
		`(?:$|[,;!?|]|\.(?:\D|$)|\s*[^\x00-\x7f年月日号號位个個次条條天分秒]|` +
		`\s*(?:$|[(#^<|*—–-])|\s+(?:for|of|from|in|and|on|at|until|since|für|von|vom|der|des|und|seit|bis|для|от|и|с|до)\s)`)
	// compound matches nouns that continue "password", and its states, also with a version:
	// "my password policy2".
	compound = lazyregexp.New(`(?i)^(?:polic(?:y|ies)|rules?|managers?|generator|length|strength|hash(?:es)?|fields?|` +
		`form|page|prompt|hints?|files?|store|vault|database|entry|entries|list|history|expiry|expiration|rotation|` +
		`change|recovery|protection|check(?:er)?|requirements?|settings?|options?|columns?|tables?|tests?|scripts?|` +
		`steps?|versions?|attempts?|levels?|` + state + `)(?:[._-]?v?[0-9]+)*$`)
	// pinPurpose matches the text after a PIN that has a purpose, hardwareName the text in
	// front of a contact of a chip, and hardwareUse the text after it.
	pinPurpose   = lazyregexp.New(`^` + closing + `\s+(?:for|of|für|von|vom|der|des|для|от)\s`)
	hardwareName = lazyregexp.New(`(?i)\b` + hardware + `(?:[\s_-]+[a-z]?[0-9]{1,3})?[\s_-]*$`)
	hardwareUse  = lazyregexp.New(`(?i)^` + closing + `\s*(?:of|on|at|am|im|auf|vom|des|der)\s+(?:[\pL\d-]+\s+){0,2}` +
		hardware + `\b`)
	// prosePhrase matches words of quoted sentences about passwords.
	prosePhrase = lazyregexp.New(`(?i)\b(?:pass(?:word|phrase|code|wort)s?|pwd|your|must|should|can(?:not)?|is|are|` +
		`was|not|enter|please|invalid|wrong|incorrect|required|missing|hard|easy|characters?|example|do|does|same|` +
		`at|least)\b|[<>{}$%?]`)
)

// hardware matches the names of parts that have pins.
const hardware = `(?:gpios?|chips?|ports?|boards?|breadboards?|headers?|connectors?|sockets?|jumpers?|sensors?|` +
	`arduino|raspberry(?:\s+pi)?|esp[0-9]+|mcu|microcontrollers?|uart|spi|i2c|adc|dac|pwm|leds?|analog|digital|gnd|vcc)`

// A passwordValue is the text in which a password is expected.
type passwordValue struct {
	text   string
	rest   string // of the line
	quoted bool
	sign   bool // a colon or an equals sign announces it, or it is a quoted passphrase
	inWord bool // the word before it is the end of a longer one
}

// readPasswordValue returns the value at an offset of a line, and its offset.
func readPasswordValue(line string, at int) (v passwordValue, start int) {
	if strings.HasPrefix(line[at:], "**") || strings.HasPrefix(line[at:], "__") {
		at += 2
	}
	if at < len(line) && strings.IndexByte("\"'`", line[at]) >= 0 {
		at++
		end := strings.IndexByte(line[at:], line[at-1])
		if end >= 0 && end <= maxPassword {
			return passwordValue{text: line[at : at+end], quoted: true}, at
		}
	}
	end := at
	for end < len(line) && end-at <= maxPassword {
		r, n := utf8.DecodeRuneInString(line[end:])
		if r <= ' ' || r == '|' || r == '`' || r >= utf8.RuneSelf && !unicode.Is(unicode.Latin, r) ||
			strings.HasPrefix(line[end:], "<!") || strings.ContainsRune("&,;", r) && nextField().MatchString(line[end:]) {
			break
		}
		end += n
	}
	v.text = strings.TrimRight(line[at:end], ".,;:!?)]}\"'*_")
	v.rest = line[at+len(v.text):]
	return v, at
}

// maxPassword is the maximum length of a password in bytes.
const maxPassword = 128

func acceptPassword(v passwordValue, isPlaceholder func(string) bool) bool {
	s := v.text
	if strings.ContainsAny(s, " \t") {
		return v.quoted && v.sign && len(s) >= 8 && s == strings.TrimSpace(s) && !prosePhrase().MatchString(s)
	}
	letters, digits, signs, others := false, false, false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c-'0' < 10:
			digits = true
		case isAlnum(c), c >= utf8.RuneSelf:
			letters = true
		case strings.IndexByte("-_.'/", c) >= 0:
			others = true
		default:
			signs = true
		}
	}
	switch {
	case digits && letters, signs && (digits || letters):
	case digits:
		if !v.quoted && !numberEnd().MatchString(v.rest) {
			return false
		}
	case !letters, !v.quoted && (!v.sign || len(s) < 6 || !clauseEnd().MatchString(v.rest)):
		return false
	}
	if (signs || others) && (passwordCode().MatchString(s) || passwordName().MatchString(s)) {
		return false
	}
	return !isPlaceholder(s) && strings.Count(s, s[:1]) < len(s)
}

// acceptPIN reports whether a value is a PIN: four to eight digits.
func acceptPIN(v passwordValue, _ func(string) bool) bool {
	s := v.text
	return !v.inWord && len(s) >= 4 && len(s) <= 8 && strings.Trim(s, "0123456789") == "" &&
		(v.quoted || numberEnd().MatchString(v.rest))
}

// readBareValue returns the value after a word of size bytes without a connection, and its
// offset. The word must be Chinese, a PIN in capitals, or owned by a person: "my password
// hunter2".
func readBareValue(before, line string, size int) (v passwordValue, start int) {
	word, rest := line[:size], skipClosing(line[size:])
	start = len(line) - len(strings.TrimLeft(rest, " \t"))
	isHan := strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	capitals := strings.HasPrefix(word, "PIN") || strings.HasPrefix(word, "ПИН")
	if !isHan && (start == len(line)-len(rest) || !capitals && !isOwned(before)) {
		return v, start
	}
	v, start = readPasswordValue(line, start)
	switch {
	case !numberEnd().MatchString(v.rest):
		v.text = ""
	case v.quoted:
	case compound().MatchString(v.text):
		v.text = ""
	case capitals && !isHan && rest == line[size:] && !pinPurpose().MatchString(v.rest) &&
		!strings.ContainsFunc(before[strings.LastIndexByte(before, '\n')+1:], isWordRune):
		v.text = "" // a line that begins with "PIN 8080" is about a port as well
	}
	return v, start
}

// isOwned reports whether a text ends in a possessive and at most two words, or the
// beginning of a compound.
func isOwned(before string) bool {
	words := strings.FieldsFunc(before[max(0, len(before)-maxOwned):], unicode.IsSpace)
	if len(words) > 0 && strings.HasSuffix(before, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	for n := range min(len(words), 3) {
		word := words[len(words)-1-n]
		if isOneOf(strings.TrimLeftFunc(word, unicode.IsPunct), possessives) {
			return true
		}
		if strings.ContainsFunc(word, func(r rune) bool { return !isWordRune(r) && r != '-' }) {
			return false
		}
	}
	return false
}

// maxOwned bounds the text from a possessive to the word for a password, in bytes.
const maxOwned = 40

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// maxConnection is the maximum length of a form, and of the text that is
// examined after a value, in bytes.
const maxConnection = 256

// findPassword returns the password after a word of the rule at an offset, and reports whether it is
// masked. It returns an empty finding if there is none.
func (c *compiledRule) findPassword(word, text string, at int) (f Finding, masked bool) {
	line := text[at:min(len(text), at+2*maxConnection+maxPassword)]
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	size := len(strings.TrimRight(word, ":="))
	if c.form != "" {
		size += len(c.match().FindString(line[size:]))
	}
	rest := line[size:min(len(line), size+maxConnection)]
	v, start, minLen := passwordValue{}, 0, 4
	if c.name == urlRule.name {
		minLen = 2
		to := userInfo().FindStringSubmatchIndex(rest)
		if to != nil && !strings.HasPrefix(rest[to[3]:], "@sha256:") { // the digest of an image
			v, start = passwordValue{text: rest[to[2]:to[3]], quoted: true}, size+to[2]
		}
	} else if end, sign := matchConnection(rest); end > 0 {
		v, start = readPasswordValue(line, size+end)
		v.sign = sign || v.quoted && strings.HasSuffix(strings.ToLower(line[:size]), "phrase")
	} else {
		v, start = readBareValue(text[:at], line, size)
	}
	if len(v.text) < minLen {
		return f, false
	}
	if c.name == pinRule.name && (hardwareName().MatchString(text[max(0, at-maxOwned):at]) ||
		hardwareUse().MatchString(rest) || hardwareUse().MatchString(v.rest)) {
		return f, false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	v.inWord = isWordRune(before)
	masked = isMask(v.text)
	if masked && strings.ContainsAny(v.text, "0R") || !masked && c.accept(v, c.known().MatchString) {
		f = Finding{at + start, at + start + len(v.text), c.name}
	}
	return f, masked
}
