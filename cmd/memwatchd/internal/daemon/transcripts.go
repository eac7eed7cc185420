package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/importer"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/internal/state"
)

// transcripts are the transcripts of agents on this machine that were imported.
type transcripts struct {
	mu       sync.Mutex
	problems map[string]string // by path

	Seen map[string]string // sizes and times of the files, by path
}

const (
	transcriptQuiet = 10 * time.Minute // from the last change of a transcript to its import
	transcriptPause = time.Minute      // between two looks at the directories
)

// runTranscripts imports the transcripts of the configured agents until the context ends:
// each once it is quiet, and again when it has grown.
func (d *daemon) runTranscripts(ctx context.Context, m *ops.Memory) error {
	at := filepath.Join(d.config.StateDir, "transcripts.json")
	t, watch := &d.transcripts, d.config.Imports.Watch
	var saved transcripts
	if err := state.Load(at, 0, &saved); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.logger.Warn("the list of imported transcripts is read anew", "err", err)
	}
	maps.Copy(t.Seen, saved.Seen) // which may be null
	for len(watch) > 0 && d.config.Write.Enabled && d.config.Memory.Enabled {
		for _, program := range watch {
			changed, err := t.importAll(ctx, m, program, d.config.Location)
			if changed {
				err = errors.Join(err, state.Save(at, t))
			}
			if err != nil && ctx.Err() == nil {
				d.logger.Warn("transcripts wait", "agent", program, "err", err)
			}
		}
		if err := sleep(ctx, transcriptPause); err != nil {
			return err
		}
	}
	return nil
}

// importAll imports the quiet transcripts of an agent that have changed, and reports whether
// there were any. It ends with the first one that cannot be written now.
func (t *transcripts) importAll(ctx context.Context, m *ops.Memory, program string, loc *time.Location) (changed bool,
	err error) {
	home, _ := os.UserHomeDir() // without one, there are no transcripts
	format, _ := importer.FormatOf(program)
	inputs, err := importer.Open(format, importer.TranscriptDir(program, home), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, in := range inputs {
		info, failure := os.Stat(in.Place())
		if failure != nil || config.Now().Sub(info.ModTime()) < transcriptQuiet {
			continue
		}
		version := fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())
		if t.Seen[in.Place()] == version {
			continue
		}
		problem, failure := importTranscript(ctx, m, format, &in, loc)
		if failure != nil {
			return changed, errors.Join(err, failure)
		}
		t.record(in.Place(), version, problem)
		changed = true
	}
	return changed, err
}

// importTranscript imports a transcript. Parts that cannot be read are skipped, and the first
// of them is the problem.
func importTranscript(ctx context.Context, m *ops.Memory, format importer.Format, in *importer.Input,
	loc *time.Location) (problem string, err error) {
	var lines strings.Builder
	for record, failure := range in.Records(format, loc) {
		var line []byte
		if failure == nil {
			line, failure = api.EncodeJSON(record)
		}
		if failure != nil {
			problem = cmp.Or(problem, failure.Error())
		}
		lines.Write(line)
	}
	answer, err := m.ImportTranscript(ctx, format.Program, lines.String())
	if err != nil {
		return "", err
	}
	for _, r := range answer.Records {
		problem = cmp.Or(problem, r.Reason)
	}
	return problem, nil
}

func (t *transcripts) record(path, version, problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Seen[path], t.problems[path] = version, problem
}

// list adds the problems of the transcripts since the start.
func (t *transcripts) list(add func(path, code, message string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for path, problem := range t.problems {
		if problem != "" {
			add("", "transcript_unreadable", path+": "+problem+"; the rest was imported")
		}
	}
}
