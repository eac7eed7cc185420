package api

// EditRequest requests the replacement of one occurrence of a text in a file.
type EditRequest struct {
	Path    string `json:"path" need:"true" complete:"path" doc:"the file, relative to the root"`
	OldText string `json:"old_text" need:"true" doc:"the text to replace, exactly as get shows it; it must occur once"`
	NewText string `json:"new_text" doc:"what to put there instead; empty to remove the old text"`
	Scope
}

// WriteRequest requests that a file be created or its content be replaced.
type WriteRequest struct {
	Path string `json:"path" need:"true" complete:"path" doc:"the file, relative to the root"`
	Text string `json:"text" doc:"all that the file is to say, as far as you can read it"`
	Hash string `json:"hash" doc:"the hash that get gives of the file as you know it; empty to make a new one"`
	Scope
}

// EditAnswer is the result of an edit or a write.
type EditAnswer struct {
	Path     string `json:"path"`
	Hash     string `json:"hash,omitempty"` // new hash, as get returns it
	Changed  bool   `json:"changed"`
	Disabled bool   `json:"disabled,omitempty"` // memory is turned off: nothing was written
}
