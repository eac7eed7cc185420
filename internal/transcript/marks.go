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
	Contact                // a contact, or a fact about the person
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
		for _, line := range ProseLines(turn.Text) {
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

// quotedRE matches quoted text and code in a line, which can be the words of others.
var quotedRE = lazyregexp.New("\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|`[^`]*`")

// sentenceEnd matches the end of a sentence: punctuation followed by white
// space, or Chinese punctuation, which needs none.
var sentenceEnd = lazyregexp.New(`[.!?]["')\]]*\s+|[。！？；][”’）」]*`)

// splitSentences returns a line, or the sentences of a long line.
func splitSentences(line string) (list []string) {
	if utf8.RuneCountInString(line) <= maxLine {
		return []string{line}
	}
	return Sentences(line)
}

// Sentences returns the sentences of a line.
func Sentences(line string) (list []string) {
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

type rule struct {
	kind       Kind
	personOnly bool                  // applies to statements of the person only
	short      bool                  // the form is certain enough for statements of few words
	pattern    func() *regexp.Regexp // matches statements
	exception  func() *regexp.Regexp // matches exceptions; nil for none
}

// compilePattern returns a pattern that ignores case.
func compilePattern(pattern string) func() *regexp.Regexp { return lazyregexp.New(`(?i)` + pattern) }

// sentenceStart matches the beginning of a sentence, including introductory words.
const sentenceStart = `(?:^|[.!;:,，。；！：]\s*)(?:(?:please|also|and|but|so|ok|okay|yes|no|oh|btw)[,:]?\s+|请|另外|还有)*`

// undecidedRE matches words of statements that are undecided, conditional, or about
// other people.
var undecidedRE = compilePattern(`\b(?:if|whether|haven't|hasn't|have not|not (?:yet )?decided|undecided|might|maybe|` +
	`perhaps|could|unless)\b|如果|要是|是否|要不要|没有?(?:决定|定)|尚未|可能|也许`)

var rules = []rule{
	{Remember, true, false, compilePattern(sentenceStart + `(?:(?:remember|note|(?:don'?t|do not) forget|` +
		`(?:keep|bear) in mind|make a note|for future reference)(?:\s+(?:that|this)|:|,)?\s+\S|` +
		`(?:from now on|going forward)\b)`),
		compilePattern(`\b(?:remember (?:when|how we|me|it)|note (?:the|how))\b`)},
	{Remember, true, false, compilePattern(sentenceStart + `(?:remind me (?:to|that) |I(?:'ve| have)? promised? ` +
		`(?:to|that|you|\S+ (?:to|that)) |(?:(?:请|记得)?提醒(?:我|主人)|(?:我|主人)(?:答应|承诺)(?:了|过)?)\S)`),
		undecidedRE},
	{Remember, true, false, compilePattern(sentenceStart +
		`(?:(?:帮我|你|要|务必)?(?:记住|记下来?|记一下|记录(?:一下|下来)|` +
		`别忘了?|不要忘记?|牢记|记得(?:要|用|先|把)?)|(?:以后|今后|从现在起|从今以后)(?:都|请|不要|别|要|一律|统一|必须|默认|用|先)|` +
		`下次(?:请|不要|别|要|记得|先))`), nil},

	{Decision, false, true, labelPattern(`decision|decided|agreed|agreement|resolution|决定|结论|约定`), nil},
	{Constraint, true, true, labelPattern(`(?:hard )?constraints?|requirements?|restrictions?|limits?|deadline|rules?|` +
		`约束(?:条件)?|限制(?:条件)?|要求|规则|截止(?:日期|时间)|期限`), nil},
	{Preference, true, true, labelPattern(`preferences?|(?:dis)?likes?|habits?|偏好(?:与习惯)?|喜好|习惯`),
		nil},
	{Contact, true, true, labelPattern(`contacts?(?: person)?|e-?mail(?: address)?|phone(?: number)?|address|联系人|` +
		`联系方式|负责人|邮箱|电话|地址`), nil},

	{Decision, false, false, compilePattern(`\b(?:we|I|you)(?:'ve| have)? (?:decided|agreed (?:to|on|that)|settled on|` +
		`opted (?:for|to))\b|(?:我们|咱们|团队|大家)(?:已经|最终|最后|都)?(?:决定|商定|约定|选定|同意|一致认为)`), undecidedRE},
	{Decision, true, false, compilePattern(`\b(?:we|I)(?:'ve| have)? (?:chose|switched to|moved to|migrated to)\b|` +
		`\bwe(?:'re| are) going with\b|` + sentenceStart + `(?:let(?:'?s| us)|we(?:'ll| will|(?:'re| are) going to)) ` +
		`(?:go with|stick (?:with|to)|switch to|move to|use|keep using)\b|` +
		`我(?:已经|最终|最后)?(?:决定|选定)|最终(?:选择|采用|决定)|` +
		`(?:改用|统一使?用|确定(?:用|采用|使用))\S|就(?:用|选|定)\S.*[吧了][。！]?$`),
		undecidedRE},

	{Constraint, true, false, compilePattern(`\bmust(?:n't| not| never| always| only)\b|\bmust (?:run|work|fit|stay|` +
		`be (?:under|below|above|at (?:most|least)|less|more|compatible|able|unique|kept|written|` +
		`\w+ed (?:by|before|in|with|on)\b)|support|use|build|pass|return|keep|start|finish|handle|accept|` +
		`match|contain|include)\b|\b(?:is|are)(?: not|n't) allowed\b|` +
		`\b(?:is|are) (?:forbidden|required to|due (?:on|by|in))\b|\b(?:the )?(?:deadline|release date|budget|limit) ` +
		`(?:is|will be)\b|\b(?:no more than|at most|at least) \d`), undecidedRE},
	{Constraint, true, false, compilePattern(`必须|不得|禁止|不允许|不准|务必|千万(?:别|不要)|` +
		`不能(?:超过|使用|依赖|改动?|引入|出现|低于|晚于)|(?:截止|最后期限|上线时间|预算)(?:日期|时间)?[是为：:]|` +
		`(?:最多|至少|不超过)\s*\d`),
		compilePattern(`必须的|必须(?:离开|去|走|承认|说)|不得不|不得了`)},
	{Constraint, true, true, compilePattern(sentenceStart + `(?:you )?(?:(?:must|should) never|never|do not|` +
		`don'?t)(?: ever)? (?:` + habitVerbs + `) \S|` + sentenceStart +
		`(?:你|大家|千万|绝对|都)*(?:不要|别|请?勿|不许|不准)` +
		`(?:再|随便|直接|总是?)?(?:` + habitVerbsChinese + `)`), transientRE},

	{Contact, true, true, compilePattern(`\b(?:my|our) (?:[\w'-]+ ){0,2}?(?:name|e-?mail|phone|number|address|birthday|` +
		`time ?zone|username|account|handle|github)(?: (?:address|number|name))?(?: is| are|'s)\b|` +
		`\breach me (?:at|on|under|by)\b|\b(?:contact|contact person) (?:for|of|at|in) .{1,60}? (?:is|are)\b|` +
		`\b(?:is|are) (?:the|our|my) (?:\w+ )?(?:contacts?|point of contact) (?:for|at|in)\b`),
		compilePattern(`\b(?:if|maybe|perhaps|could|might)\b|\b(?:my|our) (?:[\w'-]+ ){1,4}(?:is|are) (?:not|in|on|up|` +
			`still|already|wrong|correct|used|missing|required|set)\b`)},
	{Contact, true, true, compilePattern(`(?:我的|我们的)(?:[^\s，。是]{0,6})?(?:名字|姓名|邮箱|电话|手机|号码|微信|地址|` +
		`生日|时区|账号)(?:地址|号码?|帐?号)?(?:是|为|叫)|(?:联系人|负责人|对接人)(?:是|为)|` + sentenceStart + `我叫\S`), undecidedRE},

	{Preference, true, true, compilePattern(`(?:^|[.!;,]\s+|\b(?:and|but|because|since) )(?:I|we) (?:really |also |` +
		`usually |do |just )*(?:like|love|hate|dislike|enjoy|can'?t stand|don'?t like) \S|` +
		`^(?:(?:the )?(?:user|owner) )?(?:prefers|likes|dislikes|hates) \S`),
		transientRE},
	{Preference, true, false, compilePattern(`\b(?:I|we)(?:'d| would)? (?:always |really |much |strongly |generally |` +
		`usually )*prefer\b|\bI (?:really )?(?:hate|dislike)(?: it)? when\b|(?:^|[.!;]\s+)(?:please )?(?:always (?:` +
		habitVerbs + `)|avoid [a-z]+ing) \S|\b(?:we|I) (?:always|never|usually|do not|don'?t) (?:` + habitVerbs +
		`)\b`), nil},
	{Preference, true, true, compilePattern(`(?:我|主人|用户)(?:很|更|最|比较|一般|通常|一直|特别|非常)*(?:喜欢|讨厌|反感|` +
		`偏好|倾向于?|习惯用|习惯于|希望你|不喜欢|不希望)\S|(?:我|主人|用户)(?:通常|一般|总是)\S|` +
		`(?:^|[。！；])(?:请)?(?:总是|永远|一律|尽量)(?:要|不要|别|用|使用|先|写|把|避免)|(?:不要|别)再(?:用|写|提交|改)`),
		transientRE},
}

// labelPattern returns a pattern of lines that begin with a label and a colon.
func labelPattern(words string) func() *regexp.Regexp {
	return compilePattern(`^(?:\*\*)?(?:(?:the|our|my|final|another|we) |最终|` +
		`我的)?(?:` + words + `)(?:\*\*)?\s*[:：]\s*\S`)
}

// transientRE matches words of instructions that apply to the present task only.
var transientRE = compilePattern(`\b(?:yet|now|today|tonight|tomorrow|again|it|them|else|anything)\b|` +
	`\b(?:this|that|these|those)(?:[.!,]|$)|` +
	`现在|暂时|今天|先别|先不要|，先|这次|刚才|了[。！!]?$|[这那](?:个|些)?[。！!]?$`)

// habitVerbsChinese and habitVerbs are the verbs of habitual work.
const (
	habitVerbsChinese = `用|使用|写|改|修改|动|提交|推|删|加|添加|引入|依赖|合并|安装|运行|部署|升级|重启|发|打开|放|保存|回复|解释|说|分享|公开|泄露|跳过`
	habitVerbs        = `(?:\w+-)?(?:use|run|write|add|commit|push|put|call|ask|check|test|keep|name|sign|log|return|` +
		`format|import|include|start|answer|reply|respond|explain|create|handle|validate|close|set|deploy|build|review|` +
		`delete|force|merge|skip|touch|edit|change|assume|guess|store|send|install|remove|rename|move|mention|show|` +
		`publish|share|update|break|print|escape|bump|expose|open|enable|disable)`
)

// kindOf returns the kind of the first matching rule. It reports false if no
// rule matches or the text is not a statement.
func kindOf(sentence string, assistant bool) (Kind, bool) {
	own := quotedRE().ReplaceAllString(sentence, "…")
	for _, r := range rules {
		if !(r.personOnly && assistant) && r.pattern().MatchString(own) &&
			(r.exception == nil || !r.exception().MatchString(own)) {
			return r.kind, isStatement(sentence, r.short)
		}
	}
	return 0, false
}

// questionRE matches questions without a question mark.
var questionRE = compilePattern(`^(?:(?:so|and|but|ok|hm+|wait)[,\s]+)*(?:should|shall|could|would|can|` +
	`do (?:not )?(?:I|we|you|they|the|any|all|these|those|people)|does|did|is|are|was|were|what|which|` +
	`why|how|who|when|where|whether|if)\b|(?:[吗么呢嘛谁]|多少|什么|哪[里儿个些]?)[。.！!]?$`)

// programOutputRE matches lines written by programs.
var programOutputRE = compilePattern(`^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|[$%!/]|at \S+\(|` +
	`(?:error|warn|warning|info|debug|fatal|panic|traceback)\b\s*[:\[\]]|\S+\.\w+:\d+)|[{};]$|=>|\):$|` +
	`^[\w-]+: *[\[{]`)

// isStatement reports whether a text has the form of a statement: of a suitable
// length, consisting mainly of words, and neither a question nor program
// output. A short one has at least three words, or half the length.
func isStatement(text string, short bool) bool {
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
	least, words := minStatement, minWords(text)
	if short {
		least, words = minStatement/2, min(words, 3)
	}
	if short || wide > digits { // with a number, such as that of a phone
		letters += digits
	}
	switch {
	case n > maxStatement, n+wide < least, letters*3 < n*2:
		return false
	case wide == 0 && len(strings.Fields(text)) < words:
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
