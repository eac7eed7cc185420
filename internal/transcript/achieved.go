package transcript

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// completionPatterns are patterns of statements by agents about completed work.
var completionPatterns = []func() *regexp.Regexp{
	compilePattern(`^(?:[*_✅✓☑🎉]|\s)*(?:I(?:'ve| have)? |we(?:'ve| have)? |successfully |also )*(?:added|fixed|implemented|created|removed|renamed|refactored|updated|wrote|written|moved|replaced|migrated|merged|committed|deployed|released|published|configured|installed|upgraded|extracted|documented|tested|verified|resolved|converted|enabled|disabled|split|rewrote|optimi[sz]ed|simplified|corrected|reverted|set up|built|deleted|introduced|bumped|changed)\b`),
	compilePattern(`^(?:[*_✅✓☑🎉]|\s)*(?:我)?(?:已经?|成功|都已)(?:经)?(?:将|把|为|在|给|全部)?.{0,12}(?:添加|修复|实现|完成|创建|删除|重命名|重构|更新|移动|替换|迁移|合并|提交|部署|发布|配置|安装|升级|修改|解决|优化|新增|改为|改成|写好|通过)|^(?:[*_✅✓☑🎉]|\s)*(?:修复了|新增了|添加了|实现了|完成了|更新了|删除了|重构了|解决了|修改了|优化了|创建了)`),
	compilePattern(`\b(?:is|are) now \w+|\bnow (?:works?|passes|pass|returns?|uses?|supports?|handles?|builds?|runs?)\b|\b(?:all|the|\d+) (?:\w+ )?tests? (?:now )?(?:pass|are (?:green|passing))|现在(?:可以|能|会|已)|测试(?:全部|都|均)?(?:已)?通过`),
}

// maxAchievement is the maximum length of a statement in characters.
const maxAchievement = 300

// Achievements returns the statements in an agent's message about completed work: the
// first ones, up to most, that keep accepts. A message with only answers or questions has
// none.
func Achievements(message string, most int, keep func(string) bool) (lines []string) {
	for _, line := range ProseLines(message) {
		for _, sentence := range splitSentences(line) {
			n := utf8.RuneCountInString(sentence)
			last, _ := utf8.DecodeLastRuneInString(sentence)
			done := func(p func() *regexp.Regexp) bool { return p().MatchString(sentence) }
			if len(lines) < most && n >= minStatement/2 && n <= maxAchievement &&
				!strings.ContainsRune("?？:：", last) &&
				!strings.ContainsFunc(sentence, unicode.IsControl) && slices.ContainsFunc(completionPatterns, done) &&
				!slices.Contains(lines, sentence) && keep(sentence) {
				lines = append(lines, sentence)
			}
		}
	}
	return lines
}
