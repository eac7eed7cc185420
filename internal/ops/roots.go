package ops

import (
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// A Root is a folder beside the memory directory. The views of calls contain its text
// only if an operation adds it.
type Root struct {
	*memory.Root
	Weight  float64     // factor of the scores of its entries
	Missing func() bool // reports whether its files cannot be read now
}

// withRoots adds the named folders to the view of a call, or all folders if there are
// no names. If there are names without that of the memory directory, the view
// contains the folders only.
//
// A folder that does not belong to the caller does not exist for the call. Outside a
// private context also a folder of the caller is not known by its name.
func (m readOps) withRoots(ctx context.Context, c Call, names []string) (Call, error) {
	own := c.View.Roots()
	chosen := names
	if len(names) == 0 {
		chosen = own
	}
	m.syncRoots(ctx, &c, chosen)
	for _, name := range names {
		switch {
		case name == memory.MemoryRoot || !c.View.Private():
		case !slices.Contains(own, name):
			return c, api.Errorf(api.Invalid, "roots: no folder %q", name).
				WithHint("the folders are %s", strings.Join(append([]string{memory.MemoryRoot}, own...), ", "))
		case m.isRootMissing(name):
			return c, missingRoot(name)
		}
	}
	c.View = c.View.WithRoots(slices.DeleteFunc(slices.Clone(chosen), m.isRootMissing)...)
	if len(names) > 0 && !slices.Contains(names, memory.MemoryRoot) {
		c.View = c.View.OnlyRoots()
	}
	return c, nil
}

// withRootOf adds the folder of a path to the view of a call. Paths of the memory
// directory do not change the view.
func (m readOps) withRootOf(ctx context.Context, c Call, path string) (Call, error) {
	r, _ := m.Layout.CutRoot(path)
	if r == nil || !slices.Contains(c.View.Roots(), r.Name) {
		return c, nil
	}
	m.syncRoots(ctx, &c, []string{r.Name})
	if m.isRootMissing(r.Name) {
		if c.View.Private() {
			return c, missingRoot(r.Name)
		}
		return c, nil
	}
	c.View = c.View.WithRoots(r.Name)
	return c, nil
}

// isInRoots reports whether a query can only match text of folders of the caller, whose
// words are not sent anywhere.
func (m readOps) isInRoots(c Call, q *index.Query) bool {
	r, _ := m.Layout.CutRoot(q.Filter.Path)
	return c.View.HasOnlyRoots() || r != nil && c.View.Private() && slices.Contains(c.View.Roots(), r.Name)
}

// syncRoots waits for the named folders of the caller, as syncIndex does for the memory
// directory: together up to SyncTimeout. Only calls whose answers include folders wait
// for them, even if the memory directory cannot be read.
func (m readOps) syncRoots(ctx context.Context, c *Call, names []string) {
	own := c.View.Roots()
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(own, name) })
	if !c.waits || len(names) == 0 {
		return
	}
	wait, cancel := context.WithDeadline(ctx, c.start.Add(m.SyncTimeout))
	defer cancel()
	resume := api.PauseWork(ctx)
	c.synced = m.syncer.SyncRoots(wait, names) == nil && c.synced
	resume()
}

// errReadOnly returns the error for a change of a file in a folder of the caller, or
// nil.
func (m readOps) errReadOnly(c Call, path string) error {
	r, _ := m.Layout.CutRoot(path)
	if r == nil || !c.View.Private() || !slices.Contains(c.View.Roots(), r.Name) {
		return nil
	}
	return api.Errorf(api.Forbidden, "%s is in the folder %s, which is only read", path, r.Name).
		WithHint("edit the file with the program that it belongs to")
}

func missingRoot(name string) error {
	return api.Errorf(api.Unavailable, "the folder %s cannot be read now", name).
		WithHint("run `memwatchd status` for the reason")
}

// isRootMissing reports whether the files of a folder cannot be read now.
func (m readOps) isRootMissing(name string) bool {
	return slices.ContainsFunc(m.Roots, func(r Root) bool { return r.Name == name && r.Missing() })
}

// rootWeights returns the weights of the folders in the form of a query.
func (m readOps) rootWeights() map[string]float64 {
	weights := map[string]float64{}
	for _, r := range m.Roots {
		weights[r.Key()] = r.Weight
	}
	return weights
}
