package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// A vocabulary contains the words of a tree, frequent ones first. They consist
// of random syllables, so they come from no real text. Only the function words,
// which occur in every text regardless of its subject, are real.
type vocabulary struct {
	english  []string
	chinese  []string
	function []string // English
	particle []string // Chinese
}

// A law describes the frequency of the n-th word: 1/(n+shift)^slope, after Zipf
// and Mandelbrot.
type law struct {
	slope, shift float64
	words        int // number of words, if they are not listed
}

// The laws were fitted to some 1,900 real notes, of 318,000 words.
var (
	functionLaw = law{slope: 1.01, shift: 1.4}
	englishLaw  = law{2.4, 400, 50_000}
	particleLaw = law{slope: 1.01, shift: 1}
	chineseLaw  = law{1.6, 55, 30_000}
)

// A writer generates the words of one file.
type writer struct {
	*vocabulary
	r                         *rand.Rand
	englishRank, functionRank *rand.Zipf
	chineseRank, particleRank *rand.Zipf
	topic                     []uint64 // ranks of the words of the subject of this file
	near                      []string // names in this file
	names                     float64  // number of names and numbers in the tree so far
	seed                      uint64
}

func newVocabulary(seed uint64) *vocabulary {
	r := rand.New(rand.NewPCG(seed, 1))
	v := &vocabulary{
		function: strings.Fields(functionWords),
		particle: strings.Fields(particles),
	}
	taken := map[string]bool{}
	for _, w := range v.function {
		taken[w] = true
	}
	for len(v.english) < englishLaw.words {
		// Frequent words are short.
		if w := englishWord(r, len(v.english)); len(w) > 1 && !taken[w] {
			taken[w] = true
			v.english = append(v.english, w)
		}
	}
	characters := hanCharacters(r)
	which := rand.NewZipf(r, 2.2, 250, uint64(len(characters)-1))
	for len(v.chinese) < chineseLaw.words {
		w, n := "", 1
		switch x := r.Float64() + 0.1*math.Log10(1+float64(len(v.chinese))); {
		case x > 1.2:
			n = 3
		case x > 0.35:
			n = 2
		}
		for range n {
			w += string(characters[which.Uint64()])
		}
		if !taken[w] {
			taken[w] = true
			v.chinese = append(v.chinese, w)
		}
	}
	return v
}

var (
	onsets = strings.Fields("b c d f g h l m n p r s t v w b c d f g l m n p r s t j k br ch cl cr dr fl gr pr " +
		"sh st tr")
	vowels = strings.Fields("a a a e e e i i o o u u ea oo ou")
	codas  = strings.Fields("b d l m n p r s t n r t l nd ng nt ck st")
)

// englishWord returns a random word for a rank. Frequent words are short.
func englishWord(r *rand.Rand, rank int) string {
	n := 1
	switch x := r.Float64() + 0.2*math.Log10(1+float64(rank)); {
	case x > 1.5:
		n = 3
	case x > 0.65:
		n = 2
	}
	var b strings.Builder
	for i := range n {
		if i > 0 || r.IntN(8) > 0 {
			b.WriteString(onsets[r.IntN(len(onsets))])
		}
		b.WriteString(vowels[r.IntN(len(vowels))])
		if i == n-1 && r.IntN(3) > 0 || r.IntN(5) == 0 {
			b.WriteString(codas[r.IntN(len(codas))])
		}
	}
	return b.String()
}

// hanCharacters returns the 3,755 common characters of the first level of GB
// 2312, except particles, in random order.
func hanCharacters(r *rand.Rand) []rune {
	var list []rune
	particle := strings.Join(strings.Fields(particles), "")
	for row := 16; row <= 55; row++ {
		for cell := 1; cell <= 94; cell++ {
			text, err := simplifiedchinese.GBK.NewDecoder().Bytes([]byte{byte(0xA0 + row), byte(0xA0 + cell)})
			if c := []rune(string(text)); err == nil && len(c) == 1 && 0x4E00 <= c[0] && c[0] <= 0x9FFF &&
				!strings.ContainsRune(particle, c[0]) {
				list = append(list, c[0])
			}
		}
	}
	r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// newWriter returns the writer of the n-th file.
func (v *vocabulary) newWriter(seed uint64, n int) *writer {
	r := rand.New(rand.NewPCG(seed, uint64(n)+2))
	zipf := func(l law, words int) *rand.Zipf { return rand.NewZipf(r, l.slope, l.shift, uint64(words-1)) }
	w := &writer{
		vocabulary: v, r: r, seed: seed,
		functionRank: zipf(functionLaw, len(v.function)),
		englishRank:  zipf(englishLaw, len(v.english)),
		particleRank: zipf(particleLaw, len(v.particle)),
		chineseRank:  zipf(chineseLaw, len(v.chinese)),
		// The number of names grows with the text, but ever more slowly: Heaps'
		// law.
		names: 2 * math.Pow(float64(n+10)*250, 0.5),
	}
	for range 20 {
		w.topic = append(w.topic, w.englishRank.Uint64())
	}
	for range 3 {
		w.near = append(w.near, w.anyName())
	}
	return w
}

// The shares of English words from these sources. The other words come from the
// whole vocabulary.
const (
	functionShare = 0.41
	nameShare     = 0.04
	topicShare    = 0.35
)

// word returns the next word of English text.
func (w *writer) word() string {
	switch x := w.r.Float64(); {
	case x < functionShare:
		return w.function[w.functionRank.Uint64()]
	case x < functionShare+nameShare:
		return w.name()
	case x < functionShare+nameShare+topicShare:
		return w.inflect(w.english[w.about()])
	}
	return w.inflect(w.english[w.englishRank.Uint64()])
}

// about returns the rank of a word of the subject of this file, some more often
// than others.
func (w *writer) about() uint64 { return w.topic[w.r.IntN(1+w.r.IntN(len(w.topic)))] }

// content returns a word of the subject of this file.
func (w *writer) content() string { return w.english[w.about()] }

func (w *writer) inflect(word string) string {
	switch x := w.r.IntN(100); {
	case x < 74:
		return word
	case x < 86:
		return word + "s"
	case x < 92:
		return word + "ed"
	case x < 98:
		return word + "ing"
	}
	return word + "ly"
}

// hanWord returns the next word of Chinese text.
func (w *writer) hanWord() string {
	switch x := w.r.Float64(); {
	case x < 0.32:
		return w.particle[w.particleRank.Uint64()]
	case x < 0.34:
		return w.name()
	case x < 0.64:
		return w.chinese[w.about()%uint64(len(w.chinese))]
	}
	return w.chinese[w.chineseRank.Uint64()]
}

// name returns a name, a number or an identifier, often one that this file
// already contains.
func (w *writer) name() string {
	if w.r.IntN(2) == 0 {
		return w.near[w.r.IntN(len(w.near))]
	}
	return w.anyName()
}

// anyName returns one of the existing names. The probability of a name is
// inversely proportional to its number.
func (w *writer) anyName() string {
	id := uint64(math.Pow(w.names, w.r.Float64()))
	r := rand.New(rand.NewPCG(w.seed, ^id))
	part := func() string { return w.english[r.IntN(2000)] }
	switch r.IntN(8) {
	case 0:
		return fmt.Sprint(r.IntN(10 << r.IntN(14)))
	case 1:
		return fmt.Sprintf("%d.%d", r.IntN(30), r.IntN(100))
	case 2:
		return "`" + part() + "_" + part() + "`"
	case 3:
		return "`" + part() + title(part()) + "()`"
	case 4:
		return fmt.Sprintf("%s-%d", strings.ToUpper(part()[:2]), r.IntN(10000))
	case 5:
		return "`" + part() + "/" + part() + ".go`"
	}
	return title(englishWord(r, 3000))
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// functionWords contains the most frequent English words, roughly in the order
// of their frequency in notes.
const functionWords = `the a to of in is and that with for you can i this it be if an from will as are on your we use not by
or have but one when so at which all like then do want there what my using just need these get more into how up has any was out
our also only they some now first after let's no way would see instead don't here other where than its it's i'm about make two
each should before could same them me new time set without while run over work both may does even because know used being
through another find well had back since within such next their those between until were off against most few much am very once
down too who his her he she him many own why again still during under above below whether ever every already it'll we'll you're
i've can't doesn't isn't didn't won't`

// particles contains the most frequent Chinese words.
const particles = `的 了 是 我 在 你 不 有 和 就 也 这 都 要 会 那 可以 没有 一个 他 她 们 我们 上 把 到 说 去 对 很 还 为 与 用
从 被 给 让 但 吗 呢 吧 啊 什么 怎么 因为 所以 如果 已经 自己 这个 那个 而 及 或 于 之 以 其 它 中 下 里 后 前 再 又 才 只 最 更 些`
