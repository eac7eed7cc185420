package index

import (
	"strings"
	"sync"
)

// stopWords contains words that contribute little to a query, in lower case and
// as they are written: "she'll" is a stop word and "shell" is not, although
// they are one term.
var stopWords = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	newAnalyzer().eachToken(stopText, func(t token) {
		m[stopText[t.start:t.end]] = true
	})
	return m
})

// isStopWord reports whether a token of a text is a stop word.
func isStopWord(text string, t token) bool {
	return stopWords()[strings.ToLower(strings.ReplaceAll(text[t.start:t.end], "’", "'"))]
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
的 了 是 在 我 你 他 她 它 们 有 和 就 不 也 都 这 那 吗 呢 吧 啊 么 什 与 及 或 被 把 从 为 于 之 以 而`
