package transcript

import (
	"fmt"
	"testing"
)

// TestLongGemini checks messages that replace and remove others in a long
// conversation. It takes minutes if each message is compared with all others.
func TestLongGemini(t *testing.T) {
	const n = 50_000
	var text []byte
	for i := range n {
		text = fmt.Appendf(text, `{"id":"%d","type":"user","content":"a %[1]d"}`+"\n", i)
	}
	for i := range n {
		text = fmt.Appendf(text, `{"id":"%d","type":"gemini","content":"b %[1]d"}`+"\n", i)
	}
	text = append(text, `{"$rewindTo":"2"}`+"\n"+`{"id":"3","type":"user","content":"c"}`+"\n"+
		`{"id":"2","type":"user","content":"d"}`+"\n"+`{"id":"3","type":"user","content":"e"}`+"\n"...)
	c := Read(text)
	got := ""
	for _, m := range c.Messages {
		got += m.Text + ";"
	}
	if want := "b 0;b 1;e;d;"; got != want {
		t.Errorf("the messages are %.100q, want %q", got, want)
	}
}
