package memory

import "testing"

func TestMostSimilar(t *testing.T) {
	texts := NewSimilarTexts([]string{
		"The port is 8080 (added 2026-02-04)", "Book a van for Saturday", "提醒主人周五准备面试", "short one", "The build takes an hour",
	})
	for _, c := range []struct {
		text string
		want int
	}{
		{"the port is 9090", 0},
		{"a van: book it for Saturday", 1},
		{"提醒主人周五准备考试", 2},
		{"short one", -1},
		{"The van is red", -1},
		{"Book a hotel in Lisbon for March", -1},
		{"", -1},
	} {
		if got := texts.MostSimilar(c.text); got != c.want {
			t.Errorf("MostSimilar(%q) = %d, want %d", c.text, got, c.want)
		}
	}
	if NewSimilarTexts(make([]string, maxSimilar+1)).MostSimilar("The port is 8080") != -1 {
		t.Error("compared with very many texts")
	}
}
