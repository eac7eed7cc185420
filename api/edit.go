package api

// EditRequest asks to replace one place in a file.
type EditRequest struct {
	Path    string `json:"path" need:"true" complete:"path" doc:"the file, relative to the root"`
	OldText string `json:"old_text" need:"true" doc:"the text to replace, exactly as get shows it; it must occur once"`
	NewText string `json:"new_text" doc:"what to put there instead; empty to remove the old text"`
	Scope
}

// WriteRequest asks to make a file, or to replace what is in one.
type WriteRequest struct {
	Path string `json:"path" need:"true" complete:"path" doc:"the file, relative to the root"`
	Text string `json:"text" doc:"all that the file is to say, as far as you can read it"`
	Hash string `json:"hash" doc:"the hash that get gives of the file as you know it; empty to make a new one"`
	Scope
}

// EditAnswer is what became of a file.
type EditAnswer struct {
	Path     string `json:"path"`
	Hash     string `json:"hash,omitempty"` // as get gives it from now on
	Changed  bool   `json:"changed"`
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}
