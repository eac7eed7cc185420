package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

var templateNow = time.Date(2026, 2, 4, 20, 34, 56, 789, time.FixedZone("CST", 8*60*60))

// TestNewSessionSaysWhatItWasGiven checks that the frontmatter of a new session
// is parsed back to the same values.
func TestNewSessionSaysWhatItWasGiven(t *testing.T) {
	for _, s := range []string{"", "a", `"a": 'b' # c`, "12", "null", "- x", "中文：摘要", "yes", "a\nb", "{a: b}", "tg:@a", "@a", "a\\b", "#x", "*a", "a: b", "a\u2028b"} {
		h := SessionHead{Day: "2026-02-04", Now: templateNow, Summary: s, SessionID: s, Source: s, Channel: s, ContactID: s, ContactNickname: s, SubjectID: "acct:1"}
		d := testLayout().Parse("2026-02-04/a.md", NewSession(h), testMeta)
		f := d.Front
		got := SessionHead{Day: d.Place.Day, Now: f.Updated.In(templateNow.Location()).Add(789), Summary: f.Summary, SessionID: f.SessionID, Source: f.Source, Channel: f.text("channel"), ContactID: f.ContactID, ContactNickname: f.ContactNickname, SubjectID: f.SubjectID}
		if diff := cmp.Diff(h, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" || len(d.Problems) > 0 || d.Unsound {
			t.Errorf("%q: %v (-given +read):\n%s", s, d.Problems, diff)
		}
		if f.text("created_at") != f.text("updated_at") || f.text("tasks") != "0/0" || f.text("follow_ups") != "0/0" {
			t.Errorf("%q: %+v", s, f)
		}
	}
}

func TestSectionFor(t *testing.T) {
	golden.Table(t, "sectionfor", func(_ *testing.T, in []string) string {
		return new(Layout).Parse(in[0], []byte(in[1]), Meta{}).SectionFor("", in[2])
	})
}

func TestSummaryCheck(t *testing.T) {
	golden.Table(t, "summaries", func(_ *testing.T, in []string) string {
		p := &Put{Form: FactForm, Title: in[0], Text: in[1], Evidence: []string{"2026-02-04/cli.md"}}
		if err := new(Layout).Fit("_longterms/owner/profile.md", p); err != nil {
			return golden.Result("", err)
		}
		return string(p.alone.Source)
	})
}
