package secrets

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A password and an API key have no form of their own. They are found by the label in
// front of them, such as "password:" or "the PIN is", if the text after the label can be
// such a value. Two kinds of links are distinguished: a colon or an equals sign announces
// a value; after a verb, a dash or a cell border, most texts are prose, so a value must
// look more like a password. Without a link, as in "my PIN 4711", a password must also end
// its clause.

// labelRules find the credentials behind labels. A word of a rule is a label or the end of
// one. A rule without a link finds the credential directly behind the word.
var labelRules = []rule{
	{
		name: "password",
		words: append(spellings("password", "passwort", "passwd", "passphrase", "passcode", "kennwort", "пароль"),
			"pwd", "Pwd", "PWD", "pw:", "pw=", "PW:", "PW=", "_pass", "_PASS", "密码", "密碼", "口令", "パスワード",
			"비밀번호", "seña"),
		link: link, bare: owned + `|` + han, sample: placeholder, entropy: 0.1, accept: acceptPassword,
	},
	{
		name: "password", words: []string{"asse", "enha"}, after: `(?i:mot de p|\bs)$`,
		link: link, bare: owned, sample: placeholder, entropy: 0.1, accept: acceptPassword,
	},
	{
		name:   "pin",
		words:  []string{"PIN", "Pin", "pin", "ПИН", "Пин", "пин", "PIN码"},
		link:   link,
		bare:   owned + `|` + han + `|(?:PIN|ПИН)[\pL-]*` + closing + `[ \t]+$`,
		not:    `[\pL\pN]$|(?i:\b` + hardware + `(?:[\s_-]+[a-z]?[0-9]{1,3})?[\s_-]*$)`,
		accept: acceptPIN,
	},
	{
		name: "token",
		words: append(spellings("token", "secret", "токен"), "Bearer", "bearer", "rization:", "密钥", "秘钥", "密鑰", "金鑰",
			"令牌", "クン", "토큰", "_PAT", "_pat"),
		link: keyLink, sample: keyPlaceholder, entropy: 2.5, accept: acceptKey,
		not: `(?i)(?:(?:page|csrf|xsrf|sync|continuation|cursor|public|publishable|cancellation|design)[ _.-]?\pL|br|sp|` +
			`forget --t)$`,
	},
	{
		name: "api-key",
		words: []string{" key", "_key", "-key", ".key", "pikey", "skey", "tkey", " Key", "-Key", "Key", "KEY", "lüssel",
			"キー", "키", "люч", "lé ", "lave "},
		after: `(?i:(?:api|access|secret|private|auth|encryption|signing_|master|account|service|server|app|application|` +
			`subscription|license|consumer|deploy|webhook|storage|shared|security|admin|client)[ _.-]?к?|acces|secre|` +
			`(?:api-|zugangs|geheim)sch|(?:^|[^\pL])[acк])$|[A-Z]_$`,
		not:  `(?i:public|pub|cache|primary|foreign|sort|partition|host|row|hash|index|session|idempotency)_$`,
		link: keyLink, sample: keyPlaceholder, entropy: 2.5, accept: acceptKey,
	},
	{
		name: "basic-auth", words: []string{"asic "},
		form: `^([A-Za-z0-9+/]{8,}={0,2})`, sample: placeholder, accept: acceptBasic,
	},
	{
		name:   "url-password",
		words:  []string{"://"},
		form:   "^[^\\s/:@?#\"'<>|`]*:([^\\s/?\"'<>|`\\x{2000}-\\x{10FFFF}]+)@" + host,
		sample: placeholder + `|^token$|^(?-i:[A-Z_]+)$`, entropy: 0.1, accept: acceptPassword,
	},
}

// host matches the beginning of a host, but not of the digest of an image, sha256.
const host = `(?:[\p{N}\[]|[^s\P{L}]|s(?:[^h]|h(?:[^a]|a[^2])))`

// spellings returns labels without the first letter, whose case is the only difference
// between "Token" and "token", also in capitals.
func spellings(labels ...string) (list []string) {
	for _, s := range labels {
		_, first := utf8.DecodeRuneInString(s)
		list = append(list, s[first:], strings.ToUpper(s)[first:])
	}
	return list
}

// Parts of the text between a label and its value.
const (
	// closing matches quotes, emphasis and brackets after a label or a value.
	closing = "[\\\\\"'*_`）)\\]}]{0,4}"
	opening = `(?:\*\*|__)?[ \t]*`

	// variant matches the rest of a label, as in DB_PASSWORD_PROD, PIN code and clé d'API.
	variant = `(?i:[_-]?(?:[0-9]|base|prod(?:uction)?|staging|dev|live|test|main|primary|secondary|backup|old|new|` +
		`value)\b|` +
		`[ -](?:number|nummer|code|код)|[ ]?(?:d['’]|de )?(?:api|secr[eè]t[ea]|accès|acceso))?`

	// sign matches a colon or an equals sign, also after a type.
	sign = `(?::[ \t]*&?(?:'static )?[A-Za-z]+[ \t]*=|[ \t]string[ \t]*=|=>|[:?]?=|->|→|[:：＝])`

	verb = `(?i:\b(?:(?:now|has[ \t]been|was|is)[ \t])?(?:set|reset|changed)[ \t]to[ \t]|` +
		`\b(?:is|was)(?:[ \t]+(?:now|still|currently))?(?:[ \t]*:|[ \t])|` +
		`\b(?:ist|war|lautet|est|es)(?:[ \t]+(?:jetzt|nun))?(?:[ \t]*:|[ \t])|` +
		`(?:现在)?(?:是|为|為|改为|改成|设为|设置为)[:：]?|は|[는은] ?|(?:это|é)[ \t]|[—–-][ \t]|\|)`

	// link matches a sign or a verb after a remark in brackets.
	link = `^` + variant + closing + `(?:['’]s[ \t]+(?:(?:now|still|currently)[ \t]+)?|` + signOrVerb + `)` + opening

	// keyLink also matches a field "value", the second argument of a call, and blanks.
	keyLink = `^(?:["']?[,;]?\s*["']?[Vv]alue["']?\s*[:=]\s*|["'],[ \t]*|` +
		variant + closing + `(?:['’]s[ \t]+|` + signOrVerb + `|[ \t]+)` + opening + `)`

	signOrVerb = `(?:[ \t]*[(（][^()（）\r\n]+[)）])?` + closing + `(?:>|[ \t]*(?:` + sign + `|` + verb + `))`

	// owned matches a label, which a possessive and at most two words precede, and the
	// blanks after it; han matches a Chinese label.
	owned = `(?i:(?:^|[^\pL])(?:my|our|his|her|their|meine?|unsere?|мой|наш)\s+(?:[\pL\pN-]+\s+){0,2}[\pL\pN_-]*` +
		closing + `[ \t]+$)`
	han = `\p{Han}` + closing + `[ \t]*$`
)

// state matches words of prose about a password.
const state = `unknown|unchanged|forgotten|missing|empty|blank|wrong|correct|incorrect|invalid|valid|expired|unset|` +
	`needed|changed|rotated|reset|hashed|encrypted|stored|saved|removed|deleted|disabled|enabled|protected|updated|` +
	`shared|geheim|falsch|richtig|vergessen|geändert|unbekannt`

// placeholder matches values of prose, of documentation and of code.
const placeholder = code + `|^(?i:[x*.•_-]+|` +
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

// code matches values that are expressions of a language, references to variables, paths,
// links, regular expressions, or names of constants, variables and fields.
const code = `^-?0x[0-9a-fA-F]{1,16}$|^[<{(\[$@/~&|=:\\+]|^%[a-zA-Z(]|^#[{0-9]|^--|^[A-Za-z_][\w.:]*[(\[<]|` +
	`\$\{|\{\{|://|<[/\w]|=>|->|\\[dwsbAZ]|\(\?|\[\^|\[[A-Za-z0-9]-|\.[*+]|[\])][+*{?]|^[A-Za-z0-9]+[?]$|\w\|\w|` +
	`^(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|_?[A-Za-z]+(?:_[A-Za-z]+)+|[A-Za-z_]+(?:\.[A-Za-z_]+)+)$`

// keyPlaceholder matches values behind labels of keys that are none.
const keyPlaceholder = code + `|(?i:your|example|change.?me|xxxx|placeholder|dummy|sample|insert|replace|foobar|` +
	`redacted|fake|-----|\.\.\.|…|\*\*\*|^sha[0-9]+[:-]|^(?:env|file|vault|op|ref|arn|urn):)`

var (
	// valueForm matches the beginning of a value: one of the groups is the whole value, in
	// quotes or in Chinese words with digits (芝麻开门123), or the last one is empty.
	valueForm = lazyregexp.New("^(?:\\*\\*|__)?(?:\\\\?(?:\"([^\"\r\n]*)\"|'([^'\r\n]*)'|`([^`\r\n]*)`)|" +
		`([^\P{Han}见看同请无未已在由需须应可不至长最用每有共第]\p{Han}{1,7}[0-9A-Za-z]{2,16})` + "|(?:\\\\?[\"'`])?())")
	// valueEnd matches the text after another value, such as another field.
	valueEnd = lazyregexp.New("[\\x00- |`]|[^\\x00-\\x7f\\p{Latin}]|<[!/]|[&,;]\\s*[\"']?[\\w-]+[\"']?\\s*[=:]")
	// labelGap matches the text between a label and a value without a link.
	labelGap = lazyregexp.New(`^` + variant + closing + `[ \t]*`)

	// clauseEnd matches the text after a word at the end of a clause, numberEnd the
	// text after a number that counts nothing.
	clauseEnd = lazyregexp.New(`^` + closing + `[.!。]?[ \t]*(?:$|[\r\n|]|<|\\n|[(#^]\w|[），；。])`)
	numberEnd = lazyregexp.New(`^` + closing +
		`(?:$|[\r\n,;!?|]|\.(?:\D|$)|[ \t]*[^\x00-\x7f年月日号號位个個次条條天分秒]|` +
		`[ \t]*(?:$|[\r\n(#^<|*—–-])|` +
		`[ \t]+(?:for|of|from|in|and|on|at|until|since|für|von|vom|der|des|und|seit|bis|для|от|и|с|до)\s)`)
	// compound matches nouns that continue "password", and its states, also with a version:
	// "my password policy2".
	compound = lazyregexp.New(`(?i)^(?:polic(?:y|ies)|rules?|managers?|generator|length|strength|hash(?:es)?|fields?|` +
		`form|page|prompt|hints?|files?|store|vault|database|entry|entries|list|history|expiry|expiration|rotation|` +
		`change|recovery|protection|check(?:er)?|requirements?|settings?|options?|columns?|tables?|tests?|scripts?|` +
		`steps?|versions?|attempts?|levels?|` + state + `)(?:[._-]?v?[0-9]+)*$`)
	// hardwareUse matches the text after a contact of a chip.
	hardwareUse = lazyregexp.New(`(?i)^` + closing + `\s*(?:of|on|at|am|im|auf|vom|des|der)\s+(?:[\pL\d-]+\s+){0,2}` +
		hardware + `\b`)
	// prosePhrase matches words of quoted sentences about passwords.
	prosePhrase = lazyregexp.New(`(?i)\b(?:pass(?:word|phrase|code|wort)s?|pwd|your|must|should|can(?:not)?|is|are|` +
		`was|not|enter|please|invalid|wrong|incorrect|required|missing|hard|easy|characters?|example|do|does|same|` +
		`the|of|to|see|ask|at|least)\b|[<>{}$%?]`)
	// hasSign matches a link with a colon or an equals sign.
	hasSign = lazyregexp.New(sign + opening + `$`)
	// mixed matches passwords that are neither words nor numbers.
	mixed   = lazyregexp.New(`\pL.*[0-9]|[0-9].*\pL|[^\pL0-9\-_.'/].*[\pL0-9]|[\pL0-9].*[^\pL0-9\-_.'/]`)
	alnum   = lazyregexp.New(`[\pL0-9]`)
	pinForm = lazyregexp.New(`^[0-9]{4,8}$`)
	// partWord matches a part of a value that is a word, a number or a word with a number.
	partWord = lazyregexp.New(`^(?:[^0-9]+|[A-Za-z]+[0-9]{0,5}(?:[A-Za-z]{0,3}|(?:[A-Z][a-z]{2,})+)|` +
		`[0-9]+[A-Za-z]{0,8})$`)
)

// hardware matches the names of parts that have pins.
const hardware = `(?:gpios?|chips?|ports?|boards?|breadboards?|headers?|connectors?|sockets?|jumpers?|sensors?|` +
	`arduino|raspberry(?:\s+pi)?|esp[0-9]+|mcu|microcontrollers?|uart|spi|i2c|adc|dac|pwm|leds?|analog|digital|gnd|vcc)`

// A value is the text in which a credential is expected.
type value struct {
	text   string
	before string // the text in front of the label
	link   string // the text between the label and the value
	rest   string // of the line
	quoted bool
}

// read reads the value at the beginning of a text, and returns its offset.
func (v *value) read(s string) (start int) {
	start, end := firstGroup(valueForm().FindStringSubmatchIndex(s))
	if start < end {
		v.text, v.quoted = strings.TrimSuffix(s[start:end], `\`), true
		return start
	}
	v.text = s[start:]
	if end := valueEnd().FindStringIndex(v.text); end != nil {
		v.text = v.text[:end[0]]
	}
	v.text = strings.TrimRight(v.text, ".,;:!?)]}\"'*_\\")
	v.rest = s[start+len(v.text):]
	return start
}

// acceptPassword accepts a value of a password label. A value without quotation marks must not
// read like prose.
func acceptPassword(v value, isPlaceholder func(string) bool) bool {
	s := v.text
	switch {
	case strings.ContainsAny(s, " \t"):
		return v.quoted && len(s) >= 8 && s == strings.TrimSpace(s) && !prosePhrase().MatchString(s)
	case v.quoted, mixed().MatchString(s):
	case isDigit(s[0]): // a number
		if !numberEnd().MatchString(v.rest) {
			return false
		}
	case !hasSign().MatchString(v.link) || len(s) < 6 || !clauseEnd().MatchString(v.rest):
		return false
	}
	return alnum().MatchString(s) && !isPlaceholder(s)
}

// acceptPIN reports whether a value is a PIN: four to eight digits.
func acceptPIN(v value, _ func(string) bool) bool {
	return pinForm().MatchString(v.text) && (v.quoted || numberEnd().MatchString(v.rest)) &&
		!hardwareUse().MatchString(v.link) && !hardwareUse().MatchString(v.rest)
}

// minOpaque is the minimum number of characters of a key in parts that are no words.
const minOpaque = 8

// acceptKey reports whether a value without blanks has parts that are no words, unlike
// names, versions and dates.
func acceptKey(v value, isPlaceholder func(string) bool) bool {
	opaque := 0
	isSeparator := func(r rune) bool { return strings.ContainsRune("-_./:+=@,~*&", r) }
	for part := range strings.FieldsFuncSeq(v.text, isSeparator) {
		if !partWord().MatchString(part) {
			opaque += len(part)
		}
	}
	return opaque >= minOpaque && !strings.ContainsAny(v.text, " \t") && !isPlaceholder(v.text)
}

// acceptBasic reports whether a value encodes a name and a password.
func acceptBasic(v value, isPlaceholder func(string) bool) bool {
	decoded, err := base64.StdEncoding.DecodeString(v.text)
	_, password, ok := strings.Cut(string(decoded), ":")
	return err == nil && ok && utf8.Valid(decoded) && !isPlaceholder(strings.TrimSpace(password))
}

// Bounds of the text around a label, in bytes.
const (
	maxBefore = 40
	maxLink   = 256
	maxValue  = 512
	minValue  = 4
)

// Words behind a label: those with which a link begins, the rests of labels, and those with
// which a purpose begins that may precede a link.
var (
	linkWords = newSet(`now has was is set reset changed ist war lautet est es é это 's ’s 是 为 為 改 现 设 は 는 은
		value string`)
	variantWords = newSet(`number nummer code код api d'api d’api d'accès d’accès secrète segreta
		base prod production staging dev live test main primary secondary backup old new`)
	purposeWords = newSet(`for of to on in at für fürs vom von zum zur des der im pour para de для от к на в`)
)

// maxPurpose is the maximum number of words of a purpose.
const maxPurpose = 5

func newSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// nextWord returns the word at the beginning of a text, after closing signs and blanks, and
// its offset. Chinese text has no blanks between words; each character counts as one.
func nextWord(s string) (word string, at int) {
	rest := strings.TrimLeft(s, "\\\"*_`)]} \t\r\n")
	at = len(s) - len(rest)
	if r, size := utf8.DecodeRuneInString(rest); r >= firstCJK && unicode.IsLetter(r) {
		return rest[:size], at
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r >= firstCJK || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.'’@-", r)
	})
	if end < 0 {
		end = len(rest)
	}
	return strings.TrimRight(rest[:end], "_.'-"), at
}

const firstCJK = 0x2e80

// findLink returns the offset at which a link or a value may begin, after a purpose such as
// "for the router", or -1. It is a quick test of the next words, because most texts that
// mention a password continue with another word.
func findLink(s string) int {
	at := 0
	for n := range maxPurpose + 1 {
		word, start := nextWord(s[at:])
		lower := strings.ToLower(word)
		switch {
		case linkWords[lower], word == "" && !strings.HasPrefix(s[at+start:], "."):
			return at
		case n == 0 && (variantWords[strings.TrimLeft(lower, "-")] || strings.ContainsAny(word, "0123456789") ||
			isMask(word) || strings.HasSuffix(s[:start], "`")):
			return at
		case n == 0 && !purposeWords[lower]:
			return -1
		}
		at += start + len(word)
	}
	return -1
}

// addLabelled adds the credential behind a label that ends at an offset.
func (c *compiledRule) addLabelled(l *findings, text string, from, at int) {
	rest := text[at:min(len(text), at+maxLink+maxValue)]
	start := findLink(rest)
	if start < 0 {
		return
	}
	v := value{before: text[max(0, from-maxBefore):from]}
	link := c.link().FindStringIndex(rest[start:min(len(rest), start+maxLink)])
	bare := link == nil
	if bare {
		start, link = 0, labelGap().FindStringIndex(rest)
		if !c.bare().MatchString(v.before + text[from:at] + rest[:link[1]]) {
			return
		}
	}
	v.link = rest[:start+link[1]]
	start = at + len(v.link) + v.read(rest[len(v.link):])
	if len(v.text) >= minValue &&
		(!bare || v.quoted || numberEnd().MatchString(v.rest) && !compound().MatchString(v.text)) {
		l.add(c, start, v)
	}
}

// addDirect adds the credential directly behind a word of the rule that ends at an offset.
func (c *compiledRule) addDirect(l *findings, text string, at int) {
	rest := text[at:min(len(text), at+maxLink)]
	if m := c.form().FindStringSubmatchIndex(rest); m != nil {
		l.add(c, at+m[2], value{text: rest[m[2]:m[3]], quoted: true})
	}
}
