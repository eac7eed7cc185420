package ops

import (
	"context"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// history returns the earlier versions of a file to the owner, or the text of one.
func (m adminOps) history(ctx context.Context, c Call, r *api.HistoryRequest) (*api.HistoryAnswer, error) {
	if m.Undoer == nil {
		return nil, errNoJournal
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return nil, err
	}
	records := m.Undoer.Writer.Journal
	path, id, named := cutVersion(r.Path)
	if m.RecordHistory != nil {
		m.RecordHistory(path)
	}
	answer := &api.HistoryAnswer{Path: path, Versions: []api.FileVersion{}}
	if named {
		record, err := records.Get(id)
		if err != nil || record.FilePath() != path {
			return nil, notFound("version", r.Path).WithHint("run `memwatchd history %s` to list the versions", path)
		}
		text, err := records.Version(record.Before)
		if err != nil {
			return nil, api.Errorf(api.NotFound, "version %s: %v", r.Path, err)
		}
		answer.Versions, answer.Text = append(answer.Versions, fileVersion(record, text)), string(text)
		return answer, nil
	}
	for _, record := range records.ListAll(time.Time{}, path, 0) {
		if text, err := records.Version(record.Before); err == nil && text != nil && record.FilePath() == path {
			answer.Versions = append(answer.Versions, fileVersion(record, text))
		}
		if len(answer.Versions) == r.Limit {
			break
		}
	}
	return answer, nil
}

// cutVersion splits FILE@VERSION, and reports whether there is a version.
func cutVersion(name string) (path, id string, named bool) {
	if i := strings.LastIndexByte(name, '@'); i > 0 && journal.IsID(name[i+1:]) {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}

func fileVersion(r journal.Record, text []byte) api.FileVersion {
	return api.FileVersion{Version: r.ID, Replaced: r.Time, Cause: r.Cause, Program: r.Program, External: r.External,
		Bytes: len(text), Lines: len(diff.SplitLines(text))}
}
