package memory

import "strings"

// AttributeComment is the comment that the entry has when it is given attributes;
// those with an empty value are taken away. It is empty if none is left.
func (d *Document) AttributeComment(e *Entry, list ...Attribute) string {
	attrs := make([]attr, len(list))
	for i, a := range list {
		attrs[i] = attr{key: a.Key, value: a.Value}
	}
	if e == nil || e.Comment.End == 0 {
		return newComment(attrs)
	}
	return strings.Join(strings.Fields(string(editComment(d.Source[e.Comment.Start:e.Comment.End], attrs))), " ")
}

// TitledItem is a title and a text from outside as one item of a list: the title
// in bold, and the text behind it. What is behind the text, such as a comment,
// ends its last line. Without a title it is [ListItem].
func TitledItem(title, text, behind string) string {
	item := ListItem(text)
	if title = strings.Join(strings.Fields(title), " "); title != "" {
		item = "- **" + title + "**: " + strings.TrimPrefix(item, "- ")
	}
	if behind != "" {
		item += " " + behind
	}
	return item
}
