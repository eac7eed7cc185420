package ops

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
)

// files lists the readable files, or sums their entries. All numbers and times are
// those of the entries that the caller may read, never those of the whole file.
func (m readOps) files(ctx context.Context, c Call, r *api.FilesRequest) (*api.FilesAnswer, error) {
	c, err := m.withRootOf(ctx, c, r.Path)
	if err == nil && len(r.Roots) > 0 {
		c, err = m.withRoots(ctx, c, r.Roots)
	}
	if err != nil {
		return nil, err
	}
	if err := index.CheckPath(r.Path); err != nil {
		return nil, api.Errorf(api.Invalid, "path: %v", err)
	}
	answer := &api.FilesAnswer{Files: []api.ListedFile{}, Kinds: []api.FileTotals{}, Months: []api.FileTotals{},
		Index: m.indexState(c)}
	kinds, months := totals{}, totals{}
	m.Index.Files(func(f *index.FileInfo) bool {
		if r.Path != "" && !index.MatchPath(r.Path, f.Path) ||
			len(r.Kinds) > 0 && !slices.Contains(r.Kinds, f.Kind.String()) {
			return false
		}
		file := api.ListedFile{Path: f.Path, Kind: f.Kind.String()}
		seen := map[string]bool{} // months of the file
		readable := f.EachEntry(c.View, func(at time.Time, words int) {
			file.Entries++
			file.Words += words
			month := ""
			if !at.IsZero() {
				month = at.In(m.Location).Format("2006-01")
				if at.After(file.Time) {
					file.Time = at.UTC()
				}
			}
			months.add(month, !seen[month], 1, words)
			seen[month] = true
		})
		if !readable {
			return false
		}
		kinds.add(file.Kind, true, file.Entries, file.Words)
		answer.Total.Files++
		answer.Total.Entries += file.Entries
		answer.Total.Words += file.Words
		// A masked name would match nothing, and no page could begin after it.
		if _, masks := secrets.Redact(f.Path); masks == 0 && !r.Totals && f.Path > r.After {
			answer.Files = append(answer.Files, file)
		}
		return false // the list of the index is not used
	})
	if r.Totals {
		answer.Kinds, answer.Months = kinds.sorted(), months.sorted()
		return answer, nil
	}
	slices.SortFunc(answer.Files, func(a, b api.ListedFile) int { return strings.Compare(a.Path, b.Path) })
	if len(answer.Files) > r.Limit {
		answer.Files = answer.Files[:r.Limit]
		answer.Next = answer.Files[r.Limit-1].Path
	}
	return answer, nil
}

// totals are sums by kind or by month.
type totals map[string]*api.FileTotals

func (t totals) add(of string, newFile bool, entries, words int) {
	sum := t[of]
	if sum == nil {
		sum = &api.FileTotals{Of: of}
		t[of] = sum
	}
	if newFile {
		sum.Files++
	}
	sum.Entries += entries
	sum.Words += words
}

func (t totals) sorted() []api.FileTotals {
	list := []api.FileTotals{}
	for _, of := range slices.Sorted(maps.Keys(t)) {
		list = append(list, *t[of])
	}
	return list
}
