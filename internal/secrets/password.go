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

// passwordRule and pinRule find passwords in words. Their forms match one of
// their words, which is a word or the end of one.
var (
	passwordRule = rule{
		name: "password",
		words: []string{"assword", "asswort", "asswd", "assphrase", "asscode", "ASSWORD", "ASSWORT", "ASSWD",
			"ASSPHRASE", "ASSCODE", "pwd", "Pwd", "PWD", "pw:", "pw=", "PW:", "PW=", "ennwort", "ENNWORT",
			"密码", "密碼", "口令", "ароль", "АРОЛЬ"},
		form:   `^(?i:asswor[dt]|asswd|assphrase|asscode|pwd|ennwort|密码|密碼|口令|ароль|pw)`,
		sample: placeholder,
		accept: acceptPassword,
	}
	pinRule = rule{
		name:   "pin",
		words:  []string{"PIN", "Pin", "pin", "ПИН", "Пин", "пин"},
		form:   `^(?i:pin|пин)(?i:[- ]?(?:number|nummer|code|код)|码)?`,
		sample: placeholder,
		accept: acceptPIN,
	}
	// urlRule finds the password in the user information of a URL.
	urlRule = rule{
		name:   "url-password",
		words:  []string{"://"},
		form:   "^://",
		sample: placeholder + `|^token$|^(?-i:[A-Z_]+)$`,
		accept: acceptPassword,
	}
)

var (
	userInfo = lazyregexp.New("^[^\\s/:@?#\"'<>|`]*:([^\\s/?\"'<>|`\\x{2000}-\\x{10FFFF}]{1,128})@[\\p{L}\\p{N}\\[]")
	// possessive matches the text before a password that follows its word directly, bareStart
	// the text between both.
	possessive = lazyregexp.New(`(?i)\b(?:my|our|his|her|their|meine?|unsere?)\s+(?:[\pL\d-]+\s+){0,2}[\pL\d-]*$` +
		`|(?i)(?:^|\s)(?:мой|наш)\s+$`)
	bareStart = lazyregexp.New(`^` + closing + `[ \t]+`)
)

// closing matches quotes, emphasis and brackets after a word or a value.
const closing = "[\"'*_`）)\\]}]{0,3}"

// connection matches the text between a word and its value: an optional purpose, such as
// "for the router", and an optional remark in brackets, then a sign, which is the first
// group, or a verb.
var connection = lazyregexp.New(`^` + closing +
	`(?:\s+(?i:for|of|to|on|fürs?|vom|von|zum|zur|des|der|im|от|для|к|на|в)(?:\s+[\p{L}\p{N}_.'@-]+?){1,4}?)??` +
	`(?:\s*[(（][^()（）]{1,40}[)）])??` + closing + `[ \t]*(?:(:=|=>|->|→|[:=：＝])|` + verb +
	`)(?:\*\*|__)?[ \t]*`)

const verb = `(?i:(?:(?:now|has\sbeen|was|is)\s)?(?:set|reset|changed)\sto\s|` +
	`(?:is|was|['’]s)(?:\s+(?:now|still|currently))?(?:\s*:|\s)|` +
	`(?:ist|war|lautet)(?:\s+(?:jetzt|nun))?(?:\s*:|\s)|` +
	`(?:现在)?(?:是|为|為|改为|改成|设为|设置为)[:：]?|это\s|[—–-]\s|\|)`

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
	`testing|example|sample|admin|root|guest|user|postgres|mysql|changeme|foobar|placeholder|unknown|unchanged|` +
	`forgotten|missing|empty|blank|wrong|correct|incorrect|invalid|valid|expired|unset|same|private|needed|changed|` +
	`rotated|reset|hashed|encrypted|stored|saved|removed|deleted|disabled|enabled|protected|updated|shared|` +
	`geheim|falsch|richtig|vergessen|geändert|unbekannt|` +
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
	// prosePhrase matches words of quoted sentences about passwords.
	prosePhrase = lazyregexp.New(`(?i)\b(?:pass(?:word|phrase|code|wort)s?|pwd|your|must|should|can(?:not)?|is|are|` +
		`was|not|enter|please|invalid|wrong|incorrect|required|missing|hard|easy|characters?|example|do|does|same|` +
		`at|least)\b|[<>{}$%?]`)
)

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
			strings.HasPrefix(line[end:], "<!") || nextField().MatchString(line[end:]) {
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
	if len(s) < 4 {
		return false
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
// offset. The word must be Chinese, in capitals, or owned by a person: "my password hunter2".
func readBareValue(before, line string, size int) (v passwordValue, start int) {
	word, space := line[:size], len(bareStart().FindString(line[size:]))
	v, start = readPasswordValue(line, size+space)
	isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }
	owned := strings.HasPrefix(word, "PIN") || strings.HasPrefix(word, "ПИН") ||
		possessive().MatchString(before[max(0, len(before)-maxOwned):])
	if !strings.ContainsFunc(word, isHan) && (space == 0 || !owned) || !numberEnd().MatchString(v.rest) {
		v.text = ""
	}
	return v, start
}

// maxOwned bounds the text from a possessive to the word for a password, in bytes.
const maxOwned = 40

// maxConnection is the maximum length of a form, and of the text that is
// examined after a value, in bytes.
const maxConnection = 256

// appendPassword appends the password after a word at an offset, or its mask if
// masked is set.
func (c *compiledRule) appendPassword(list []Finding, text string, at int, masked bool) []Finding {
	line := text[at:min(len(text), at+2*maxConnection+maxPassword)]
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	size := len(c.match().FindString(line))
	rest := line[size:min(len(line), size+maxConnection)]
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	v, start := passwordValue{}, 0
	if c.name == urlRule.name {
		to := userInfo().FindStringSubmatchIndex(rest)
		if to != nil && !strings.HasPrefix(rest[to[3]:], "@sha256:") { // the digest of an image
			v, start = passwordValue{text: rest[to[2]:to[3]], quoted: true}, size+to[2]
		}
	} else if to := connection().FindStringSubmatchIndex(rest); to != nil {
		v, start = readPasswordValue(line, size+to[1])
		v.sign = to[2] >= 0 || v.quoted && strings.HasSuffix(strings.ToLower(line[:size]), "phrase")
	} else {
		v, start = readBareValue(text[:at], line, size)
	}
	v.inWord = unicode.IsLetter(before) || unicode.IsDigit(before)
	if isMask(v.text) != masked || v.text == "" {
		return list
	}
	if masked && len(v.text) >= 4 && strings.ContainsAny(v.text, "0R") ||
		!masked && c.accept(v, c.known().MatchString) {
		list = append(list, Finding{at + start, at + start + len(v.text), c.name})
	}
	return list
}
