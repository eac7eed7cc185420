package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var mergeNow = time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)

type sessionDraft struct {
	Draft
	Summary         string
	Source          string
	Channel         string
	ContactID       string `json:"contact_id"`
	ContactNickname string `json:"contact_nickname"`
	SubjectID       string `json:"subject_id"`
}

// mergeDraft returns a document after a draft was merged into it, with the outcomes
// of the draft's items.
func mergeDraft(l *Layout, d *Document, draft *sessionDraft, view View, source string, now time.Time) (*Document, []Outcome, error) {
	parse := func(b []byte) *Document { return l.Parse(d.Place.Path, b, testMeta) }
	parts, err := draft.Entries()
	if err != nil {
		return nil, nil, err
	}
	m, err := l.Merge(d, parts, permitReadable(view))
	if err != nil {
		return nil, nil, err
	}
	if err := m.ByRules(context.Background()); err != nil {
		return nil, nil, err
	}
	r := d.Revise()
	m.Revise(r, Author{Source: source}, now)
	r.CompleteSession(SessionHead{
		Day: d.Place.Day, Now: now, Summary: draft.Summary, SessionID: "s", Source: draft.Source, Channel: draft.Channel,
		ContactID: draft.ContactID, ContactNickname: draft.ContactNickname, SubjectID: draft.SubjectID,
	})
	out, err := r.Apply(parse)
	if err != nil {
		return nil, nil, err
	}
	next := parse(out)
	return next, m.Outcomes(next), nil
}

// TestMergeGolden compares results with the archives in testdata/merge. Each
// contains sessions' files, each followed by drafts, which are merged in turn,
// with the result after each draft. "draft: public" is a draft from an
// untrusted source and a reader of public text only. The section "→ items"
// contains the outcomes: a plus is a new item, a tilde a changed one, an equals
// sign an existing one.
func TestMergeGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := map[int]string{}
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				if strings.HasPrefix(f.Name, "→") {
					want[len(out.Files)] = string(f.Data)
				}
				out.Files = append(out.Files, f)
			}
			out.Files = slices.DeleteFunc(out.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "→") })
			l := testLayout()
			if strings.Contains(string(a.Comment), "sections: 任务 跟进") {
				l.Tasks, l.FollowUps = []string{"任务"}, []string{"跟进"}
			}
			var d *Document
			result := &txtar.Archive{Comment: a.Comment}
			for _, f := range out.Files {
				result.Files = append(result.Files, f)
				if !strings.HasPrefix(f.Name, "draft") {
					d = l.Parse(f.Name, decodePicture(f.Data), testMeta)
					continue
				}
				var said []string
				d, said = mergeCase(t, l, d, f)
				result.Files = append(result.Files, txtar.File{Name: "→", Data: []byte(encodePicture(d.Source))}, txtar.File{Name: "→ items", Data: []byte(strings.Join(said, ""))})
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(result), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(result))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// mergeCase merges a draft, and merges it again to check that the second merge
// has no effect.
func mergeCase(t *testing.T, l *Layout, d *Document, f txtar.File) (*Document, []string) {
	t.Helper()
	var draft sessionDraft
	dec := json.NewDecoder(bytes.NewReader(f.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&draft); err != nil {
		t.Fatalf("%s: %v", f.Data, err)
	}
	var dirs Directories
	scope, source := Scope{Subject: "owner", Context: Private}, "cli"
	if strings.Contains(f.Name, "public") {
		scope.Context, source = Public, PublicSource+"telegram"
	}
	view, err := dirs.View(scope)
	if err != nil {
		t.Fatal(err)
	}
	next, outcomes, err := mergeDraft(l, d, &draft, view, source, mergeNow)
	if err != nil {
		return d, []string{"error: " + err.Error() + "\n"}
	}
	var said []string
	for _, o := range outcomes {
		text := ""
		if o.Entry >= 0 {
			text, _, _ = strings.Cut(next.Entries[o.Entry].Text, "\n")
		}
		said = append(said, fmt.Sprintf("%c %s line %d: %s\n", "+~="[o.Change], o.Name, o.Line, strings.TrimSpace(text)))
	}
	again, outcomes, err := mergeDraft(l, next, &draft, view, source, mergeNow.Add(time.Hour))
	if err != nil {
		t.Fatalf("once more: %v", err)
	}
	later := bytes.Replace(again.Source, []byte("2026-02-05T13:00:00Z"), []byte("2026-02-05T12:00:00Z"), 1)
	if diff := cmp.Diff(string(next.Source), string(later)); diff != "" {
		t.Errorf("%s\nonce more (-first +second):\n%s", f.Data, diff)
	}
	for _, o := range outcomes {
		if o.Change != Merged || o.Entry < 0 {
			t.Errorf("%s once more is %d, at entry %d", o.Name, o.Change, o.Entry)
		}
	}
	return next, said
}

// permitReadable permits changes of every entry that a view reads.
func permitReadable(v View) func(*Entry) bool { return func(e *Entry) bool { return e.Readable(v) } }

func TestMostSimilar(t *testing.T) {
	texts := NewSimilarTexts([]string{
		"The port is 8080 (added 2026-02-04)", "Book a van for Saturday", "提醒主人周五准备面试", "short one", "The build takes an hour",
	})
	for _, c := range []struct {
		text string
		want int
	}{
		{"the port is 9090", 0},
		{"a van: book it for Saturday", 1},
		{"提醒主人周五准备考试", 2},
		{"short one", -1},
		{"The van is red", -1},
		{"Book a hotel in Lisbon for March", -1},
		{"", -1},
	} {
		if got := texts.MostSimilar(c.text); got != c.want {
			t.Errorf("MostSimilar(%q) = %d, want %d", c.text, got, c.want)
		}
	}
	if NewSimilarTexts(make([]string, maxSimilar+1)).MostSimilar("The port is 8080") != -1 {
		t.Error("compared with very many texts")
	}
}
