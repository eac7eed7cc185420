package ops

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// complete lists names that the caller could also find by reading. A path is
// listed if the caller may read something in the file; a heading, tag or
// namespace if the caller may read an entry of it. Only the owner, in private,
// sees all subjects; other callers see their own.
func (m readOps) complete(ctx context.Context, c Call, r *api.CompleteRequest) (*api.CompleteAnswer, error) {
	if r.What == "" {
		return nil, api.Errorf(api.Invalid, "parameter what is empty").
			WithHint("set `what` to path, subject, namespace, session, section or tag")
	}
	answer := &api.CompleteAnswer{Values: []string{}, Index: m.indexState(c)}
	if m.Disabled {
		return answer, nil
	}
	c, err := m.withRootOf(ctx, c, r.Prefix)
	if err != nil {
		return nil, err
	}
	answer.Index.Synced = c.synced
	// One extra value shows whether there are more.
	listing := index.Listing{Prefix: r.Prefix, After: r.After, Limit: r.Limit + 1}
	var values []string
	switch r.What {
	case "section":
		values, answer.Total, err = m.Index.Sections(ctx, c.View, listing)
	case "tag":
		values, answer.Entries, answer.Total, err = m.Index.Tags(ctx, c.View, listing)
	default:
		all := m.listNames(c, r)
		values, answer.Total = listing.Page(all), len(all)
	}
	if err != nil {
		return nil, err
	}
	if len(values) > r.Limit {
		values = values[:r.Limit]
		answer.Entries = answer.Entries[:min(len(answer.Entries), r.Limit)]
		answer.Next = values[r.Limit-1]
	}
	answer.Values = append(answer.Values, values...)
	return answer, nil
}

// listNames returns the sorted names of a kind as they are displayed. It omits
// names that contain a credential, because the masked name would match nothing.
func (m readOps) listNames(c Call, r *api.CompleteRequest) []string {
	var list []string
	add := func(name string) {
		if !utf8.ValidString(name) {
			name = string([]rune(name)) // as encoded for the client
		}
		rest, ok := strings.CutPrefix(name, r.Prefix)
		if !ok || name == "" {
			return
		}
		if dir, _, below := strings.Cut(rest, "/"); r.Steps && r.What == "path" && below {
			name = r.Prefix + dir + "/"
		}
		if n := len(list); n == 0 || list[n-1] != name {
			list = append(list, name)
		}
	}
	known := func(use func(*index.FileInfo)) {
		m.Index.Files(func(f *index.FileInfo) bool {
			if f.Readable(c.View) {
				use(f)
			}
			return false // the list may be long and is not used
		})
	}
	switch r.What {
	case "path":
		known(func(f *index.FileInfo) { add(f.Path) })
	case "session":
		known(func(f *index.FileInfo) {
			if f.Kind != memory.Archive {
				add(f.SessionName())
			}
		})
	case "namespace":
		for _, i := range m.findItems(c, "", func(string) bool { return true }) {
			add(i.name.namespace)
		}
	case "subject":
		own := c.View.Subjects()
		if c.FullAccess {
			own = append(own, m.listSubjects()...)
		}
		for _, s := range own {
			add(s)
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool {
		_, masks := secrets.Redact(name)
		return masks > 0
	})
}

// listSubjects returns all subjects with stored data or a linked external key. An
// unclaimed directory counts as the subject of the same name.
func (m readOps) listSubjects() (list []string) {
	claimed := map[string]bool{} // directories
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool { return f.Claim != "" }) {
		list = append(list, f.Claim)
		claimed[memory.SubjectDir(f.Claim)], claimed[memory.UserDir(f.Claim)] = true, true
	}
	for _, owner := range m.Index.Owners() {
		if memory.IsRootKey(owner) {
			continue
		}
		name := strings.Trim(owner, "?/")
		if !strings.HasPrefix(owner, "?") || !claimed[name] {
			list = append(list, name)
		}
	}
	links, _ := m.Scopes.Links() // the last valid ones
	for _, l := range links {
		list = append(list, l.Subject)
	}
	return list
}

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
