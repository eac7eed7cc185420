package transcript

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Kind is the reason for keeping a statement.
type Kind uint8

// The kinds, the most significant first.
const (
	Remember   Kind = iota // an explicit request to remember
	Decision               // a decision
	Constraint             // a constraint
	Preference             // a preference
)

// A Statement is a statement worth keeping, verbatim: a line or a sentence of a
// line, without surrounding white space.
type Statement struct {
	Kind Kind
	Text string
}

// Lengths in characters: a mark has minStatement to maxStatement, where wide characters
// count twice for minStatement, and a line longer than maxLine is split into
// sentences.
const (
	minStatement = 12
	maxLine      = 240
	maxStatement = 400
)

// A person's message of more than maxTyped lines contains pasted text, whose
// first and last lines look like the rest. Nothing in it is a statement.
const maxTyped = 40

// Statements returns the statements of a conversation that are worth keeping: up to
// most statements, preferring the more significant kinds and then the later
// statements. They are in the order of the conversation, without duplicates.
// The rules prefer missing a statement to keeping one that means nothing a week
// later.
func Statements(turns []Message, most int) []Statement {
	type found struct {
		Statement
		at int
	}
	var all []found
	last := map[string]int{} // last position of a text
	for _, turn := range turns {
		lines := ProseLines(turn.Text)
		if !turn.Assistant && len(lines) > maxTyped {
			continue
		}
		for _, line := range lines {
			for _, sentence := range splitSentences(line) {
				if kind, ok := kindOf(sentence, turn.Assistant); ok {
					last[sentence] = len(all)
					all = append(all, found{Statement{kind, sentence}, len(all)})
				}
			}
		}
	}
	all = slices.DeleteFunc(all, func(f found) bool { return last[f.Text] != f.at })
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), b.at-a.at) })
	all = all[:min(len(all), max(most, 0))]
	slices.SortFunc(all, func(a, b found) int { return a.at - b.at })
	marks := make([]Statement, len(all))
	for i, f := range all {
		marks[i] = f.Statement
	}
	return marks
}

// sentenceEnd matches the end of a sentence: punctuation followed by white
// space, or Chinese punctuation, which needs none.
var sentenceEnd = lazyregexp.New(`[.!?]["')\]]*\s+|[。！？；][”’）」]*`)

// splitSentences returns a line, or the sentences of a long line.
func splitSentences(line string) (list []string) {
	if utf8.RuneCountInString(line) <= maxLine {
		return []string{line}
	}
	from := 0
	for _, at := range sentenceEnd().FindAllStringIndex(line, -1) {
		if next, _ := utf8.DecodeRuneInString(line[at[1]:]); line[at[1]-1] != ' ' ||
			!unicode.IsLower(next) { // "e.g. this" goes on
			list = append(list, strings.TrimSpace(line[from:at[1]]))
			from = at[1]
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

// A rule matches statements of one kind.
type rule struct {
	kind       Kind
	personOnly bool   // applies to statements of the person only
	words      string // lower-case words, one of which must occur: a cheap filter, because most statements have none
	pattern    func() *regexp.Regexp
	exception  func() *regexp.Regexp // exceptions; nil for none
}

// compilePattern returns a pattern that ignores case.
func compilePattern(pattern string) func() *regexp.Regexp { return lazyregexp.New(`(?i)` + pattern) }

// sentenceStart matches the beginning of a sentence, including introductory words.
const sentenceStart = `(?:^|[.!;:,，。；！：]\s*)(?:(?:please|also|and|but|so|ok|okay|yes|no|btw|oh)[,:]?\s+|请|另外|还有|对了)*`

// undecidedRE matches words of statements that are undecided, conditional, or about
// other people.
var undecidedRE = compilePattern(`\b(?:if|whether|haven't|hasn't|have not|not (?:yet )?decided|undecided|might|maybe|perhaps|could|would have|unless|once (?:we|you)|before (?:we|you))\b|如果|要是|是否|要不要|没有?(?:决定|定)|决定不|尚未|可能|也许|或许`)

var rules = []rule{
	{Remember, true, `remember|note|forget|mind|reference|record`,
		compilePattern(sentenceStart +
			`(?:remember|note|don'?t forget|do not forget|keep in mind|bear in mind|make a note|for future reference|for the record)(?:\s+(?:that|this)|:|,)?\s+\S+`),
		compilePattern(`\bremember (?:when|how we|the time|me\b|it\b)|\bremember [^.!]*\?|\bnote (?:the|how)\b`)},
	{Remember, true, `from now on|going forward`, compilePattern(sentenceStart + `(?:from now on|going forward)\b`),
		nil},
	{Remember, true, `记|忘`,
		compilePattern(sentenceStart + `(?:帮我|你要|你|要|一定要|务必)?(?:记住|记下来?|记一下|别忘了?|不要忘记?|牢记|请记得|记得(?:要|用|先|把|在)?)`),
		compilePattern(`(?:我|还|不|都|你还|没|只)记得|记得.{0,12}[吗么嘛]|记住了[。！]?$`)},
	{Remember, true, `以后|今后|现在起|从今|下次`,
		compilePattern(sentenceStart +
			`(?:(?:以后|今后|从现在起|从今往后|从今以后)(?:都|请|不要|别|要|一律|就|统一|必须|默认|写|用|先)|下次(?:请|不要|别|要|记得|先))`), nil},

	{Decision, false, `decision|decided|agree|resolution|决定|结论|约定`,
		compilePattern(`^(?:\*\*)?(?:decision|decided|agreed|agreement|resolution|决定|结论|约定)(?:\*\*)?\s*[:：]`), nil},
	{Decision, false, `decided|agreed|settled on|opted|chosen`,
		compilePattern(`\b(?:we|I|you)(?:'ve| have)? (?:decided|agreed (?:to|on|that)|settled on|opted (?:for|to))\b|\bwe(?:'ve| have) chosen\b`), undecidedRE},
	{Decision, true, `chose|switched|moved|migrated|dropped`,
		compilePattern(`\b(?:we|I)(?:'ve| have)? (?:chose|switched to|moved to|migrated to|dropped support)\b`),
		undecidedRE},
	{Decision, true, `let|we`,
		compilePattern(sentenceStart +
			`(?:let'?s|let us|we(?:'ll| will|'re going to| are going to)) (?:go with|stick (?:with|to)|settle on|standardi[sz]e on|switch to|move to|migrate to|use|keep using|drop support)\b`), undecidedRE},
	{Decision, true, `going with`, compilePattern(`\bwe(?:'re| are) going with\b`), undecidedRE},
	{Decision, false, `我们|咱们|团队|大家`, compilePattern(`(?:我们|咱们|团队|大家)(?:已经|最终|最后|都)?(?:决定|商定|约定|选定|敲定|定下来|同意|一致认为)`),
		undecidedRE},
	{Decision, true, `我|最终|改用|统一|确定|就`,
		compilePattern(`(?:我(?:已经|最终|最后)?(?:决定|选定)|最终(?:选择|采用|决定)|(?:改用|统一用|统一使用|确定(?:用|采用|使用))\S|就(?:用|选|定)\S.*[吧了][。！]?$)`),
		undecidedRE},

	{Constraint, true, `must`,
		compilePattern(`\bmust (?:not|never|always|only)\b|\bmustn't\b|\bmust be (?:under|below|above|at (?:most|least)|less|more|compatible|backwards?|able|idempotent|unique|kept|written|sent|run|built|stored|set|done|\w+ed (?:by|before|in|with|on|to|as|at|from|through|via|without)\b)|` +
			`\bmust (?:run|work|fit|stay|remain|support|use|build|pass|compile|return|go through|keep|start|finish|ship|handle|accept|match|come|live|contain|include)\b`), compilePattern(`\b(?:a|the) must\b`)},
	{Constraint, true, `allowed|forbidden|required|to `,
		compilePattern(`\b(?:(?:is|are)(?: not|n't) allowed|not allowed to|(?:is|are) forbidden|(?:is|are) required to|ha(?:s|ve) to (?:run|work|fit|support|remain|stay (?:under|below|compatible))|needs? to (?:remain|keep working|work (?:on|with|without)))\b`), undecidedRE},
	{Constraint, true, `deadline|date|budget|limit|due|more than|at most|at least`,
		compilePattern(`\b(?:the )?(?:deadline|release date|budget|limit) (?:is|was moved to|moves to|will be)\b|\b(?:is|are) due (?:on|by|in)\b|\b(?:no more than|at most|at least) \d`), undecidedRE},
	{Constraint, true, `必须|不|禁止|务必|千万|截止|期限|时间|预算|最多|至少|上限`,
		compilePattern(`必须|不得|禁止|不允许|不准|务必|千万(?:别|不要)|不能(?:超过|使用|依赖|改动?|引入|出现|低于|晚于)|(?:截止|最后期限|上线时间|预算)(?:日期|时间)?[是为：:]|(?:最多|至少|不超过|上限是?)\s*\d`),
		compilePattern(`必须的|必须(?:离开|去|走|承认|说)|不得不|不得了`)},

	{Preference, true, `prefer|i |dislike`,
		compilePattern(`\b(?:I|we)(?:'d| would)? (?:always |really |much |strongly |generally |usually )*prefer\b|\bmy preference is\b|\bI (?:really )?(?:like|want) (?:my|all|our) [\w ]{1,40}?(?:to (?:be|have|use)|in|with|without|as)\b|\bI (?:really )?(?:hate|dislike)(?: it)? when\b`), nil},
	{Preference, true, `always|never|avoid`,
		compilePattern(`(?:^|[.!;]\s+)(?:please )?(?:(?:always|never) (?:` + habitVerbs + `)|avoid [a-z]+ing) \S+`),
		nil},
	{Preference, true, `always|never|usually`,
		compilePattern(`\b(?:we|I) (?:always|never|usually) (?:` + habitVerbs + `)\b`), nil},
	{Preference, true, `我`, compilePattern(`我(?:更|比较|一般|通常|一直)?(?:喜欢用|喜欢把|偏好|偏爱|倾向于?|习惯用|习惯于|希望你|更喜欢)|我不(?:喜欢|希望)`),
		nil},
	{Preference, true, `总是|永远|一律|尽量|再`,
		compilePattern(`(?:^|[。！；])(?:请)?(?:总是|永远|一律|尽量)(?:要|不要|别|用|使用|先|写|把|避免)|(?:不要|别)再(?:用|写|提交|使用|改)`),
		compilePattern(`总是要求`)},
}

// habitVerbs are the verbs of habitual work in preferences.
const habitVerbs = `use|run|write|add|commit|push|put|call|ask|check|test|keep|name|prefix|squash|rebase|sign|log|return|pin|format|import|make|include|start|` +
	`answer|reply|respond|explain|create|document|handle|validate|escape|close|wrap|set|deploy|build|review|delete|force|merge|mock|skip|touch|edit|change|modify|assume|guess|rely|leave|print|store|bump`

// kindOf returns the kind of the first matching rule. It reports false if no
// rule matches or the text is not a statement.
func kindOf(sentence string, assistant bool) (Kind, bool) {
	low := strings.ToLower(sentence)
	for _, r := range rules {
		if !(r.personOnly && assistant) && r.containsWord(low) && r.pattern().MatchString(sentence) &&
			(r.exception == nil || !r.exception().MatchString(sentence)) {
			return r.kind, isStatement(sentence)
		}
	}
	return 0, false
}

// containsWord reports whether a lower-case text contains one of the rule's words.
func (r *rule) containsWord(low string) bool {
	for word := range strings.SplitSeq(r.words, "|") {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// questionRE matches questions without a question mark.
var questionRE = compilePattern(`^(?:(?:so|and|but|ok|hm+|wait)[,\s]+)*(?:should|shall|could|would|can|do|does|did|is|are|was|were|what|which|why|how|who|when|where|whether|if)\b|[吗么呢嘛][。.！!]?$`)

// programOutputRE matches lines written by programs.
var programOutputRE = compilePattern(`^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|[$%!/]|at \S+\(|(?:error|warn|warning|info|debug|fatal|panic|traceback)\b\s*[:\[\]]|\S+\.\w+:\d+)|[{};]$|=>|\):$`)

// isStatement reports whether a text has the form of a statement: of a suitable
// length, consisting mainly of words, and neither a question nor program
// output.
func isStatement(text string) bool {
	n := utf8.RuneCountInString(text)
	letters, digits, wide := 0, 0, 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r), unicode.IsSpace(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
		if r >= 0x2e80 {
			wide++
		}
	}
	if wide > digits { // a short sentence of wide characters, with a number
		letters += digits
	}
	switch {
	case n > maxStatement, n+wide < minStatement, letters*3 < n*2:
		return false
	case wide == 0 && len(strings.Fields(text)) < minWords(text):
		return false
	}
	bare := strings.TrimRight(text, `"')*_”’） `)
	return !strings.HasSuffix(bare, "?") && !strings.HasSuffix(bare, "？") && !questionRE().MatchString(text) &&
		!programOutputRE().MatchString(text) && strings.IndexFunc(text, unicode.IsControl) < 0
}

// numberRE matches a word that is a number, such as a port or a time.
var numberRE = lazyregexp.New(`\s\d[\d.,:/-]*(?:\s|$)`)

// minWords returns the minimum number of words of a statement, which is smaller if
// one of them is a number.
func minWords(text string) int {
	if numberRE().MatchString(text) {
		return 3
	}
	return 4
}
