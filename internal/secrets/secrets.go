// Package secrets detects live credentials by their form: tokens with a
// provider's own marker, private keys, payment card numbers, and passwords in URLs.
// It detects other passwords and PINs by the words in front of them.
//
// Randomness alone does not make a text a credential, because users want to
// remember hashes, UUIDs and commit ids.
package secrets

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

//go:generate sh -c "cd ../../tools/secretrules && go run ."

// A Finding is a credential in a text.
type Finding struct {
	Start, End int    // bytes, end exclusive
	Rule       string // kind of credential, e.g. github-pat
}

// A rule matches one kind of credential.
type rule struct {
	name    string
	words   []string // each credential contains one of these, or follows it
	form    string   // regular expression; its first group, if any, is the credential
	sample  string   // regular expression of examples in documentation; empty for none
	entropy float64  // minimum bits a character: placeholders have fewer

	// The following fields are for rules of labels. Their regular expressions match the
	// text between the label and its value, the text up to a value without a link, the text
	// in front of each word, and the text in front of a word that is no label.
	link, bare, after, not string
	// accept reports whether a value is a credential. isSample matches the sample.
	accept func(v value, isSample func(string) bool) bool
}

// extraRules are the rules that the published set lacks, or has in a form that
// matches other text too. The forms are documented by the providers or by
// Google's osv-scalibr.
var extraRules = []rule{
	{name: "anthropic-token", words: []string{"sk-ant-"}, entropy: 3.5,
		form: `\bsk-ant-[a-z]{2,10}[0-9]{2}-[\w-]{60,}`},
	{name: "atlassian-api-token", words: []string{"ATATT3"}, entropy: 3.5, form: `\bATATT3[A-Za-z0-9_=-]{100,}`},
	{name: "azure-client-secret", words: []string{"0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"},
		entropy: 3.5, form: `(?:^|[^\w~.-])([\w~.]{3}[0-9]Q~[\w~.-]{31,34})`},
	{name: "azure-storage-key", words: []string{"AccountKey="}, entropy: 4, form: `\bAccountKey=([A-Za-z0-9+/]{86}==)`},
	{name: "docker-pat", words: []string{"dckr_oat_", "dckr_pat_"}, entropy: 3, form: `\bdckr_[op]at_[\w-]{27,}`},
	{name: "gcp-oauth-access-token", words: []string{"ya29."}, entropy: 3.5, form: `\bya29\.[\w-]{60,}`},
	{name: "gcp-oauth-client-secret", words: []string{"GOCSPX-"}, entropy: 3, form: `\bGOCSPX-[\w-]{28}`},
	{name: "groq-api-key", words: []string{"gsk_"}, entropy: 3.5, form: `\bgsk_[A-Za-z0-9]{52}\b`},
	{name: "huggingface-token", words: []string{"hf_"}, entropy: 3, form: `\bhf_[A-Za-z0-9]{34}\b`},
	{name: "json-web-token", words: []string{"eyJ"}, entropy: 3, form: `\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}`},
	{name: "openrouter-api-key", words: []string{"sk-or-v1-"}, entropy: 3, form: `\bsk-or-v1-[0-9a-f]{64}\b`},
	{name: "sourcegraph-token", words: []string{"sgp_"}, entropy: 3,
		form: `\bsgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}\b`},
	{name: "supabase-key", words: []string{"sb_secret_", "sbp_"}, entropy: 3,
		form: `\b(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{31,36})`},
	{name: "telegram-bot-token", words: []string{":AA"}, entropy: 3.5, form: `\b[0-9]{8,10}:AA[\w-]{33}(?:\b|\W|$)`},
	{name: "vault-token", words: []string{"hvb.", "hvr.", "hvs."}, entropy: 3, form: `\bhv[sbr]\.[\w-]{24,}`},
	{name: "xai-api-key", words: []string{"xai-"}, entropy: 3.5, form: `\bxai-(?:token-)?[A-Za-z0-9]{80}\b`},
}

// Find returns the credentials in a text, sorted and without overlaps. Its
// running time is proportional to the length of the text, and very short for a
// text without similar words.
func Find(text string) []Finding {
	return find(text).found
}

// findings are the credentials in a text, and the masks in place of others, each sorted
// and without overlaps.
type findings struct{ found, masks []Finding }

// add adds the value at an offset if it is a credential or a mask.
func (l *findings) add(c *compiledRule, start int, v value) {
	f := Finding{start, start + len(v.text), c.name}
	switch {
	case isMask(v.text):
		l.masks = append(l.masks, f)
	case c.accept(v, c.sample().MatchString) && entropyOf(v.text) >= c.entropy &&
		c.after().MatchString(v.before) && !c.not().MatchString(v.before):
		l.found = append(l.found, f)
	}
}

// find searches at each occurrence of a word of a rule, so text without such words is passed
// over quickly.
func find(text string) (l findings) {
	m := sharedMatcher()
	var done map[int]int // by rule: end of the last line that it has searched
	for at := m.next(text, 0); at >= 0; at = m.next(text, at+1) {
		for _, w := range m.words[wordKey(text[at:])] {
			if done[w.rule] > at || !strings.HasPrefix(text[at:], w.text) {
				continue
			}
			c := &m.rules[max(w.rule, 0)]
			switch {
			case w.rule == keyRule:
				l.found = appendKey(l.found, text, at)
			case w.rule == keyEndRule:
				l.found = appendKeyEnd(l.found, text, at)
			case c.isLabel:
				c.addLabelled(&l, text, at, at+len(strings.TrimRight(w.text, ":=")))
			case c.isDirect:
				c.addDirect(&l, text, at+len(w.text))
			default:
				from, to := lineBounds(text, at)
				if done == nil {
					done = map[int]int{}
				}
				done[w.rule] = max(to, at+1)
				c.addFormed(&l, text, from, to)
			}
		}
	}
	return findings{joinOverlaps(appendCards(l.found, text)), joinOverlaps(l.masks)}
}

// lineBounds returns the bounds of the line that contains an offset, without its
// ending.
func lineBounds(text string, at int) (from, to int) {
	from, to = strings.LastIndexAny(text[:at], "\n\r")+1, len(text)
	if n := strings.IndexAny(text[at:], "\n\r"); n >= 0 {
		to = at + n
	}
	return from, to
}

func joinOverlaps(list []Finding) []Finding {
	if len(list) < 2 {
		return list
	}
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(a.Start-b.Start, b.End-a.End, strings.Compare(a.Rule, b.Rule))
	})
	out := list[:1]
	for _, f := range list[1:] {
		if last := &out[len(out)-1]; f.Start < last.End {
			last.End = max(last.End, f.End)
		} else {
			out = append(out, f)
		}
	}
	return out
}

// A matcher searches for the words of all rules at once, by their first bytes.
type matcher struct {
	prefixBits [1 << 16 / 64]uint64 // bit set of the hashes of the first three bytes of words
	words      map[uint32][]word    // by their first three bytes
	rules      []compiledRule
}

type word struct {
	text string
	rule int
}

// The rule numbers of private keys, for their first and their last line.
const (
	keyRule    = -1
	keyEndRule = -2
)

// wordBytes is the minimum length of a word in bytes.
const wordBytes = 3

func wordKey(s string) uint32 { return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 }

func hashKey(k uint32) uint32 { return k * 0x9E3779B1 >> 16 }

// next returns the next offset, starting at from, at which a word may begin, or
// -1.
func (m *matcher) next(text string, from int) int {
	if len(text)-from < wordBytes {
		return -1
	}
	k := uint32(text[from])<<8 | uint32(text[from+1])<<16
	for i := from + 2; i < len(text); i++ {
		k = k>>8 | uint32(text[i])<<16
		if h := hashKey(k); m.prefixBits[h/64]&(1<<(h%64)) != 0 && m.words[k] != nil {
			return i - 2
		}
	}
	return -1
}

// sharedMatcher compiles the matcher at the first use.
var sharedMatcher = sync.OnceValue(func() *matcher {
	m := &matcher{words: map[uint32][]word{}}
	add := func(s string, rule int) {
		k := wordKey(s)
		h := hashKey(k)
		m.prefixBits[h/64] |= 1 << (h % 64)
		m.words[k] = append(m.words[k], word{s, rule})
	}
	for _, r := range allRules() {
		for _, w := range r.words {
			add(w, len(m.rules))
		}
		m.rules = append(m.rules, compileRule(r))
	}
	add("-----BEGIN", keyRule)
	add("-----END", keyEndRule)
	return m
})

func allRules() []rule { return slices.Concat(published, extraRules, labelRules) }

// compiledRule is a rule with expressions that are compiled at their first use,
// because most are never used.
type compiledRule struct {
	name                                 string
	form, sample, link, bare, after, not func() *regexp.Regexp
	entropy                              float64
	isLabel, isDirect                    bool
	accept                               func(v value, isSample func(string) bool) bool
}

// compileRule returns a rule whose expressions are compiled at their first use.
func compileRule(r rule) compiledRule {
	compile := func(expr string) func() *regexp.Regexp { return lazyregexp.New(cmp.Or(expr, matchNothing)) }
	c := compiledRule{
		name: r.name,
		form: compile(r.form), sample: compile(r.sample), link: compile(r.link), bare: compile(r.bare),
		after: lazyregexp.New(r.after), not: compile(r.not),
		entropy: r.entropy,
		isLabel: r.link != "", isDirect: r.link == "" && r.accept != nil,
		accept: r.accept,
	}
	if r.accept == nil {
		c.accept = func(v value, isSample func(string) bool) bool { return !isSample(v.text) }
	}
	return c
}

const matchNothing = `^[^\x00-\x{10FFFF}]`

// addFormed adds the credentials in a part of a text.
func (c *compiledRule) addFormed(l *findings, text string, from, to int) {
	for _, loc := range c.form().FindAllStringSubmatchIndex(text[from:to], -1) {
		start, end := firstGroup(loc)
		start, end = from+start, from+end
		for end < to && (isAlnum(text[end]) || text[end] == '_' || text[end] == '-') {
			end++ // the rest of a longer credential
		}
		l.add(c, start, value{text: text[start:end]})
	}
}

// firstGroup returns the bounds of the first group that takes part in a match, or of the
// match.
func firstGroup(loc []int) (start, end int) {
	for i := 2; i < len(loc); i += 2 {
		if loc[i] >= 0 {
			return loc[i], loc[i+1]
		}
	}
	return loc[0], loc[1]
}

// entropyOf returns the Shannon entropy of the bytes of a text, in bits a byte.
func entropyOf(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
