package api

// EditRequest requests the replacement of one occurrence of a text in a file.
type EditRequest struct {
	Path    string `json:"path" need:"true" complete:"path" doc:"path of the file, relative to the memory directory"`
	OldText string `json:"old_text" size:"request" alias:"oldText" need:"true" doc:"text to replace, exactly as get returns it; it must occur exactly once (also accepted as oldText)"`
	NewText string `json:"new_text" size:"request" alias:"newText" doc:"replacement; empty removes the old text (also accepted as newText)"`
	Scope
	For[EditAnswer]
}

// WriteRequest requests that a file be created or its content be replaced.
type WriteRequest struct {
	Path string `json:"path" need:"true" complete:"path" doc:"path of the file, relative to the memory directory"`
	Text string `json:"text" size:"request" doc:"new content of the file, as far as you can read it"`
	Hash string `json:"hash" doc:"hash that get returned for the version to replace; empty to create a file"`
	Scope
	For[EditAnswer]
}

// EditAnswer is the result of an edit or a write.
type EditAnswer struct {
	Path     string `json:"path"`
	Hash     string `json:"hash,omitempty"` // new hash, as get returns it
	Changed  bool   `json:"changed"`
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}

func (a *EditAnswer) render(t *Text) {
	if !a.Changed {
		t.hint("%s already has this text", a.Path)
		return
	}
	t.addWritten("written", a.Path, 0)
}
