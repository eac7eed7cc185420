package todosync

import (
	"encoding/json"
	"fmt"
	"slices"
)

// stateVersion changes whenever boxes of an older state would not be known
// again. A state of another version counts as lost.
const stateVersion = 1

// A state is what must outlast the process: what was seen, and what is to come
// of it.
type state struct {
	Version int     `json:"version"`
	Root    string  `json:"root"`
	Since   string  `json:"since"`
	Files   []*File `json:"files"`
	Wishes  []Wish  `json:"wishes,omitempty"`
}

func encodeState(root string, c *Catalogue, wishes []Wish) ([]byte, error) {
	return json.Marshal(state{stateVersion, root, c.Since, c.Files(), wishes})
}

func decodeState(root string, data []byte) (c *Catalogue, wishes []Wish, err error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, nil, fmt.Errorf("state of tasks: %w", err)
	}
	if s.Version != stateVersion {
		return nil, nil, fmt.Errorf("state of tasks: version %d is not %d", s.Version, stateVersion)
	}
	if s.Root != root {
		return nil, nil, fmt.Errorf("state of tasks: it is that of %s", s.Root)
	}
	c = &Catalogue{Since: s.Since, files: make(map[string]*File, len(s.Files))}
	for _, f := range s.Files {
		if f == nil || f.Path == "" || slices.ContainsFunc(f.Boxes, func(b Box) bool { return b.State > Kept || b.Section > FollowUps }) {
			return nil, nil, fmt.Errorf("state of tasks: it is damaged")
		}
		c.files[f.Path] = f
	}
	return c, s.Wishes, nil
}
