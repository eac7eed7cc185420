package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/memory"
)

// nearShare is from when on a file is near its limit, and nearlyFull from when
// on it is worth saying so with more weight.
const (
	nearShare  = 0.80
	nearlyFull = 0.95
)

// A Fill is how full a limited file is.
type Fill struct {
	Path  string  `json:"path"`
	Size  Size    `json:"size"`
	Limit Limit   `json:"limit"`
	Soft  bool    `json:"soft,omitempty"` // nothing is ever trimmed for this limit
	Share float64 `json:"share"`          // 1 is at the limit
}

// Hint says it to whoever may tidy up, or is empty if the file is not near its
// limit. It does not name the file, which may tell whose it is.
func (f Fill) Hint() string {
	var how string
	switch {
	case f.Share > 1:
		how = "over its limit"
	case f.Share >= nearlyFull:
		how = "nearly full"
	case f.Share >= nearShare:
		how = "filling up"
	default:
		return ""
	}
	var of []string
	if f.Limit.Items > 0 {
		of = append(of, fmt.Sprintf("%d of %d items", f.Size.Items, f.Limit.Items))
	}
	if f.Limit.Characters > 0 {
		of = append(of, fmt.Sprintf("%d of %d characters", f.Size.Characters, f.Limit.Characters))
	}
	what := "the least used items will be archived"
	if f.Soft {
		what = "what is over will not be shown"
	}
	return fmt.Sprintf("long-term memory is %s (%s): tidy it up, or %s", how, strings.Join(of, ", "), what)
}

// fills remembers how full files are.
type fills struct {
	mu sync.Mutex
	of map[string]Fill
}

func (c *Compactor) limits() []Limit {
	if c.Limits != nil {
		return c.Limits
	}
	return DefaultLimits()
}

func (c *Compactor) soft() []Limit {
	if c.Soft != nil {
		return c.Soft
	}
	return SoftLimits()
}

// Limited reports whether a path falls under a limit, if only one that leads to
// hints.
func (c *Compactor) Limited(path string) bool {
	_, hard := matching(c.limits(), path)
	_, soft := matching(c.soft(), path)
	return hard || soft
}

// FillOf is how full a file is; false if it has no limit.
func (c *Compactor) FillOf(doc *memory.Document) (Fill, bool) {
	if doc.Place.Kind != memory.Longterm {
		return Fill{}, false
	}
	path := doc.Place.Path
	limit, ok := matching(c.limits(), path)
	soft := false
	if !ok {
		if limit, soft = matching(c.soft(), path); !soft {
			return Fill{}, false
		}
	}
	size := Measure(doc)
	return Fill{Path: path, Size: size, Limit: limit, Soft: soft, Share: limit.share(size)}, true
}

// Changed tells what a file says now, or that it is gone: nil. It takes next to
// no time for files without a limit.
func (c *Compactor) Changed(path string, doc *memory.Document) {
	if !c.Limited(path) {
		return
	}
	if c.Uses != nil {
		c.Uses.Changed(path, doc)
	}
	c.measure(path, doc)
}

func (c *Compactor) measure(path string, doc *memory.Document) {
	c.fills.mu.Lock()
	defer c.fills.mu.Unlock()
	delete(c.fills.of, path)
	if doc == nil {
		return
	}
	if f, ok := c.FillOf(doc); ok && f.Share >= nearShare {
		if c.fills.of == nil {
			c.fills.of = map[string]Fill{}
		}
		c.fills.of[path] = f
	}
}

// Survey looks at all limited files, as is needed once, when nothing has
// changed them since the daemon was started.
func (c *Compactor) Survey(ctx context.Context) error {
	for _, path := range c.Paths() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !c.Limited(path) {
			continue
		}
		doc, err := c.Files.Load(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("survey: %w", err)
		}
		c.Changed(path, doc)
	}
	return nil
}

// Near lists the files that are near their limit or over it, the fullest first.
func (c *Compactor) Near() []Fill {
	c.fills.mu.Lock()
	defer c.fills.mu.Unlock()
	list := make([]Fill, 0, len(c.fills.of))
	for _, f := range c.fills.of {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Fill) int { return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Path, b.Path)) })
	return list
}
