package index

import (
	"sync"
	"unicode/utf8"
)

// routineWords contains the analyzed form of words that people often use in
// messages to an agent about any topic. They hardly indicate that a message
// concerns an entry, even where they are rare in a memory. Unlike stop words,
// they count in a ranking.
var routineWords = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	newAnalyzer().eachToken(routineText, func(t token) {
		if r, size := utf8.DecodeRuneInString(t.term); classOf(r) != classCJK || size < len(t.term) {
			m[t.term] = true
		}
	})
	return m
})

const routineText = `ok okay yes yeah yep no nope sure please thanks thank welcome hello hi hey bye good great nice perfect fine cool
awesome right wrong correct bad better best well morning afternoon evening night today tomorrow yesterday now later
soon lgtm hmm oh ah accept add agree allow answer appear apply ask assume attempt avoid become begin believe bring
build bump call cause change check choose clean cleanup clear click close combine come commit compare compile
complete consider contain continue convert copy count cover create cut debug decide define delete depend describe
disable double drop edit enable end ensure enter exist expect explain extend extract fail failing fall feel fill
find finish fit fix follow force forget format gather generate get give go guess handle happen hear help hide hit
hold hope ignore implement improve include increase inline insert inspect keep know lack lead leave let limit lint
list look make match mean mention merge mind miss mock move name need note notice occur open order pass paste patch
pick place plan point prefer prepare print proceed produce provide pull push put raise reach read rebase rebuild
receive redo reduce refactor refer reject relate remain remember remove rename repeat replace report require rerun
reset resolve respond restart rest restore return reuse revert review revise rewrite run save say search see seem
select separate set share ship shorten show simplify skip solve sort sound specify split start stay step stop
suggest summarize support suppose swap take talk tell test think throw tidy touch track treat trigger try turn type
understand undo update upgrade use verify wait want warn watch wonder work wrap write able available basic big
broken certain common complex confusing current different difficult easy empty enough equal exact extra false fast
final former full general half hard high huge important impossible interesting invalid large last late least likely
little long low main major minor missing multiple necessary new next normal obvious odd old optional original
particular possible previous proper quick ready real recent relevant same short shorter similar simple simpler
single slow small special specific strange true unclear unused useful useless usual valid various weird whole
actually again ahead almost alone along already also always altogether another anyway anymore apart around aside
away back before barely basically completely definitely directly easily either else entirely especially even
eventually ever exactly first fully further generally however immediately indeed instead literally manually many
maybe mostly much nearly never often once one otherwise perhaps possibly probably properly quickly quite rather
really repeatedly second simply since slightly slowly somehow sometimes somewhat still suddenly therefore though
thus together totally twice two usually whatever wherever whether without yet anyone anything approach argument
array behavior bit block branch bug case class code coding column command comment console data default detail diff
difference directory doc docs documentation duplicate edge error everyone everything example exception explanation
field file flag folder function hint idea implementation import indentation info input instruction interface issue
item kind line link log logic loop lot message method mistake mode module nothing number option output page
parameter part path pattern pr problem prompt purpose question range readme reason repo request response result row
script section sentence setting side size solution someone something space state statement status string structure
stuff style summary syntax tab task template terminal text thing todo typo unit value variable version view warning
way whitespace word date day hour minute moment month time times week year said told gave given got gotten took
taken went gone came made meant thought knew known found felt kept left lost ran saw seen sent showed shown wrote
written broke began begun built brought chose chosen held heard understood forgot forgotten stood stuck spoke spent
became bought caught catch grew threw drew drawn dealt led paid alright wanna gonna gotta kinda sorta btw pls plz
thx nah dude folks guys man zero three four five six seven eight nine ten hundred concise safe clever careful crazy
dumb fancy funny glad happy lovely neat sad silly smart sorry stupid ugly terrible faster slower bigger smaller
easier harder cleaner simplest fastest scratch stack trace sense chance effort fact luck matter nobody none rid sake
while apologize apologise accomplish adjust assist clarify configure expand experiment figure glance guide
investigate judge jump lower manage mark narrow obtain pause peek plug poke prove quit quote recall recheck
recommend regard relax retry scan shift sign stick stretch struggle switch trust utilize weigh
好的 好吧 可以 行吧 谢谢 多谢 不客 客气 没关 关系 没事 没问 问题 你好 您好 早上 上好 晚上 下午 再见 不错 很好 太好
不对 不太 太对 不行 不是 对了 对吧 确定 确认 当然 也许 可能 好像 应该 需要 想要 希望 觉得 认为 知道 明白 理解 记得
记住 忘了 告诉 请问 回答 解释 说明 描述 总结 帮我 帮忙 看看 看一 一下 一看 看起 起来 试试 再试 一次 一遍 再来 重来
重新 继续 下一 一步 步骤 开始 停止 结束 完成 直接 马上 先这 接着 然后 之后 之前 以前 以后 刚才 刚刚 现在 今天 明天
昨天 时候 时间 多少 几个 几点 哪里 哪个 哪些 哪天 怎么 么样 怎样 如何 什么 为什 这个 那个 这些 那些 这样 那样 这么
那么 一个 一些 一点 一样 同样 东西 事情 意思 办法 换个 有点 没有 有没 还有 还是 别的 其他 另外 全部 所有 部分 内容
上面 下面 前面 后面 里面 第一 第二 最后 已经 可是 但是 因为 所以 如果 或者 简单 复杂 清楚 正确 太长 太短 运行 再跑
跑一 单元 元测 测试 代码 文件 目录 函数 方法 变量 参数 类型 列表 模块 注释 文档 日志 错误 报错 失败 成功 修复 修一
修改 改成 改一 改短 添加 加上 删除 删掉 更新 优化 检查 查看 打开 关闭 保存 显示 编译 构建 提交 推送 合并 分支 回退
撤销 重命 命名 格式 输出 结果 计划 方案 执行 实现 等一 按照 棒了 不用 看不 不懂 出错 能不 不能 还差 好了 更好 再快
快一 说得 得对 拆成 成两 两个 三个 诉我 别改 先别 照旧 改吧 来吧 吧继 加油 辛苦 请继 查一 想想 想一 不了 了解 收到
稍等 等等 快点 慢点 算了 随便 重试 再说 再看 比较 还要 不要 只要 也要`

// routineRunes contains Chinese characters with a grammatical function. A pair
// with one of them is seldom a word of the topic.
const routineRunes = "的了是在我你您他她它们吗呢吧啊呀么什哪谁怎这那很就也都和与或把被让给为个"

// isRoutine reports whether a term hardly indicates the topic of a message.
func isRoutine(term string) bool {
	if routineWords()[term] || stopWords()[term] {
		return true
	}
	first, size := utf8.DecodeRuneInString(term)
	last, _ := utf8.DecodeLastRuneInString(term)
	return size < len(term) && (isRoutineRune(first) || isRoutineRune(last))
}

func isRoutineRune(r rune) bool {
	for _, f := range routineRunes {
		if r == f {
			return true
		}
	}
	return false
}
