package brief

import "github.com/memwatchd/memwatchd/memory"

// Full returns the text of MEMORY.md as in [Style.Start], and nothing else. If a subject
// has aliases, there may be several such files. MaxFull bounds each text, MaxChars the
// block.
func (s Style) Full(docs []*memory.Document) Block {
	return s.Start(StartFiles{BootFiles: BootFiles{LongTerm: docs}})
}

// FullChars returns the number of characters that the text of a file has in [Style.Full]
// if nothing is cut, for a reader of the whole file.
func FullChars(doc *memory.Document) int { return renderedChars(doc.Prose(doc.OwnView())) }
