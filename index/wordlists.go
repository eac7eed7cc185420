package index

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

var questionRE = lazyregexp.New(`(?i)[?？]|^[^\pL]*(?:who|whose|what|when|where|which|why|how|` +
	`wer|wann|wo|wie|warum|welche[rsmn]?|qui|quand|où|pourquoi|quel(?:le)?s?|qué|cuándo|dónde|cómo|quién|cuál|` +
	`chi|quando|dove|perché|quale|quem|onde|qual|кто|что|где|когда|как|почему|kto|gdzie|kiedy|jak|dlaczego|` +
	`waar|wanneer|hoe|waarom|welke)(?:\PL|$)|` +
	`^\W*(?:am|are|was|were|do|did|have|had) (?:i|we)\b|[吗呢什哪谁几怎]|多少|为何`)

func isTimeWord(term string) bool {
	if len(term) == 4 && (term[:2] == "19" || term[:2] == "20") {
		return '0' <= term[2] && term[2] <= '9' && '0' <= term[3] && term[3] <= '9'
	}
	return timeWords()[term]
}

// timeWords contains the terms of timeText, without single Han characters.
var timeWords = sync.OnceValue(func() map[string]bool { return termsOf(timeText) })

const timeText = `january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday weekend
yesterday today tonight tomorrow ago last next since until minute hour day week month year
昨天 今天 明天 前天 后天 上周 下周 本周 上月 下月 去年 今年 明年 星期 周末 小时 分钟 上午 下午`

// firstPerson contains the stop words of the first person.
var firstPerson = map[string]bool{"i": true, "me": true, "my": true, "mine": true, "we": true, "us": true,
	"our": true, "ours": true, "我": true}

// asksTimeRE matches queries that ask for a time. "When" must be a question: "when
// I start it" is none.
var asksTimeRE = lazyregexp.New(`\bwhen(?:'s| (?:am|are|can|could|did|do|does|had|has|have|is|shall|should|was|were|will|would))\b|` +
	`\b(?:how long|(?:what|which) (?:date|day|month|year|time))\b|什么时[候间]|何时|多久|多长时间|哪一?[天年月日]|几[月号]`)

// dueRE matches queries for what is due.
var dueRE = lazyregexp.New(`(?i)\b(?:over)?due(?:$|[^ \w]| (?:[^t]|t[^o]))|\bdeadlines?\b|fällig|到期|逾期|截止`)

// stopWords contains words of English and Chinese that contribute little to a query, in lower
// case and as they are written: "she'll" is a stop word and "shell" is not, although they are
// one term.
var stopWords = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	newAnalyzer().eachToken(stopText, func(t token) {
		m[stopText[t.start:t.end]] = true
	})
	return m
})

// functionWords contains those of other languages. They may be names in a query, such as Los
// Angeles, so they count, but little.
var functionWords = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	for word := range strings.FieldsSeq(functionText) {
		m[word] = true
	}
	return m
})

// isStopWord reports whether a token of a text is a stop word, such as an elided one.
func isStopWord(text string, t token) bool { return isElision(text, t) || stopWords()[wordOf(text, t)] }

// isFunctionWord reports whether a token of a text is a function word.
func isFunctionWord(text string, t token) bool { return functionWords()[wordOf(text, t)] }

// isCommonWord reports whether a token of a text is either.
func isCommonWord(text string, t token) bool { return isStopWord(text, t) || isFunctionWord(text, t) }

func wordOf(text string, t token) string {
	return strings.ToLower(strings.ReplaceAll(text[t.start:t.end], "’", "'"))
}

const stopText = `a about above after again against all am an and any are aren't as at be because been before
being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each
few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him himself his
how i i'd i'll i'm i've if in into is isn't it it's its itself just let's me more most mustn't my myself no nor not now of off on
once only or other ought our ours ourselves out over own same shan't she she'd she'll she's should shouldn't so some
such than that that's the their theirs them themselves then there there's these they they'd they'll they're they've
this those through to too under until up very was wasn't we we'd we'll we're we've were weren't what what's when when's
where where's which while who who's whom why will with won't would wouldn't you you'd you'll you're you've your yours
yourself yourselves
arent cant couldnt didnt doesnt dont hadnt hasnt havent im isnt ive shouldnt thats theyre wasnt werent wont wouldnt youre
e o w y z è é а в и к о с у я
的 了 是 在 我 你 他 她 它 们 有 和 就 不 也 都 这 那 吗 呢 吧 啊 么 什 与 及 或 被 把 从 为 于 之 以 而`

// functionText contains words with a grammatical function in German, French, Spanish,
// Italian, Portuguese, Russian, Polish and Dutch, without those that are English words.
const functionText = `wer wann wo warum welche welcher welches welchen
quand pourquoi quel quelle cuándo dónde cómo cuál quando dove perché quale onde qual почему
gdzie kiedy dlaczego jak waar wanneer hoe waarom welke
der das dem des ein eine einen einem einer eines und oder aber nicht kein keine ist sind wird
werden wurde hatte haben habe ich du er sie wir ihr mir mich uns euch mein meine mit von vom zu zum zur für auf aus bei nach
über unter vor ob wenn dass daß weil wie noch schon auch nur sehr bitte
le les une et ou mais est sont était je tu il elle nous vous ils elles mon ma mes ton ta ses leur ce cette ces dans avec
sans sous chez par que qui quoi où ne pas du aux très aussi
el los las unos unas pero es está están fue yo tú él ella nosotros mi mis tu su sus este esta estos con por qué que
quien quién del muy también más lo
gli uno ed ma sono era io lui lei noi voi mio mia di da nel nella della delle degli dei che chi anche più questo questa
os uma umas uns mas são foi eu ele ela nós meu minha em na nas nos da das dos pelo pela quem também não isso
во не на он она оно мы вы они со что как это то но да из ко за от по до об для или если же ли бы был была
было были мой моя моё мои наш кто где когда
ze nie się jest są był była było ja ty ona ono my wy oni mój moja co jak ale lub oraz dla przez od przy
het een en of maar niet geen zijn waren wij jij zij hij mijn onze voor naar bij uit ook nog wel`

// irregularForms contains the terms of the other forms of each term.
var irregularForms = sync.OnceValue(func() map[string][]string {
	a, forms := newAnalyzer(), make(map[string][]string)
	for line := range strings.Lines(irregularText) {
		for group := range strings.SplitSeq(line, ",") {
			var terms []string
			a.eachToken(group, func(t token) { terms = append(terms, t.term) })
			for _, term := range terms {
				for _, other := range terms {
					if other != term && !slices.Contains(forms[term], other) {
						forms[term] = append(forms[term], other)
					}
				}
			}
		}
	}
	return forms
})

const irregularText = `become became, begin began begun, bite bit bitten, break broke broken, bring brought, build built, buy bought
catch caught, choose chose chosen, come came, deal dealt, dig dug, draw drew drawn, drink drank drunk, drive drove driven
eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten
freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden
hold held, keep kept, know knew known, lead led, leave left, lend lent, lose lost, make made, mean meant, meet met, pay paid
ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent
shake shook shaken, shoot shot, show shown, sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent
stand stood, steal stole stolen, stick stuck, strike struck, sweep swept, swim swam swum, take took taken, teach taught
tear tore torn, tell told, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn
win won, write wrote written
child children, man men, woman women, person people, foot feet, tooth teeth, mouse mice, goose geese, life lives, wife wives
knife knives, leaf leaves, shelf shelves, half halves, wolf wolves, index indices, matrix matrices, criterion criteria
`

// routineWords contains the analyzed form of words that people often use in
// messages to an agent about any topic. They hardly indicate that a message
// concerns an entry, even where they are rare in a memory. Unlike stop words,
// they count in a ranking.
var routineWords = sync.OnceValue(func() map[string]bool {
	return termsOf(routineText + functionText + foreignText)
})

// termsOf returns the set of the terms of a text, without single characters of a run.
func termsOf(text string) map[string]bool {
	m := make(map[string]bool)
	newAnalyzer().eachToken(text, func(t token) {
		if r, size := utf8.DecodeRuneInString(t.term); classOf(r) < classCJK || size < len(t.term) {
			m[t.term] = true
		}
	})
	return m
}

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

// foreignText contains what people often write to an agent in the languages of functionText,
// in Japanese and in Korean.
const foreignText = `
ja nein doch danke dank bitte weiter mach mache machen gut genau richtig falsch nochmal noch mal alle alles schau zeig
erkläre fertig jetzt dann stimmt klar okay so geht reicht passt repariere reparieren korrigiere prüfe starte lösche
füge hinzu ändern ändere fehler datei dateien zeile
oui non merci beaucoup accord bien bon parfait continue continuez vas y va encore tout tous toute toutes plaît svp corrige
corriger montre explique lance relance refais faux suivant erreur fichier
sí no gracias sigue continúa favor bien bueno vale perfecto así otra vez ahora todo todos todas arregla corrige muestra
explica ejecuta mal siguiente error archivo pruebas prueba hazlo haz
sì grazie prego bene va perfetto continua avanti tutto tutti tutta tutte correggi mostra spiega esegui riprova ancora ora
sbagliato prossimo errore certo
sim obrigado obrigada certo bom tudo todos todas corrige corrija mostra explica executa continuar continue pode por favor
agora errado próximo erro está testes novamente
да нет спасибо хорошо ладно продолжай продолжайте дальше давай ещё раз все всё всех правильно неправильно верно исправь
исправьте покажи объясни запусти проверь сделай тест тесты теперь можно пожалуйста так ошибка файл
tak nie dziękuję dzięki dobrze dobra kontynuuj dalej jeszcze raz wszystko wszystkie wszystkich popraw pokaż wyjaśnij
uruchom teraz proszę źle następny błąd plik testy
nee ja bedankt dank je prima goed ga door verder nog keer opnieuw alle alles maak toon leg uit fout volgende klopt nu
alsjeblieft graag doe
テスト 実行 変更 修正 確認 追加 削除 結果 保存 方法 問題 一度 全部 コード ファイル エラー レビュー 続行 開始 終了 完了 説明
作成 更新 表示 検索 次回 最初 最後 今回 必要 可能 了解 大丈夫
모든 모두 전부 테스트 고쳐 주세요 감사합니다 고마워 계속 다시 실행 아니요 아니 해줘 해주 하세요 합니다 입니다 습니다
수정 확인 추가 삭제 결과 저장 방법 문제 코드 파일 에러 오류 좋아 좋아요 알겠 알았어 다음 설명 어디 언제 무엇 누구 있어 있어요`

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
	return size < len(term) && (strings.ContainsRune(routineRunes, first) || strings.ContainsRune(routineRunes, last))
}

// isEverydayPair reports whether a pair of characters hardly indicates a topic: it belongs to
// the words of a question, or to an ending in Japanese.
func isEverydayPair(term string) bool { return isRoutine(term) || hasHiragana(term) }

func hasHiragana(term string) bool {
	return strings.ContainsFunc(term, func(r rune) bool { return unicode.Is(unicode.Hiragana, r) })
}
