package memory

import (
	"testing"
	"time"
)

// TestNoteTime checks from where the entries of ordinary notes take their time.
func TestNoteTime(t *testing.T) {
	const modified = "2026-02-06T12:00:00Z"
	at, err := time.Parse(time.RFC3339, modified)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ path, text, want string }{
		{"notes/tea.md", "- tea\n", modified},
		{"notes/tea.md", "---\ndate: 2023-05-17\n---\n- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/tea.md", "---\ncreated: 2023-05-17 10:30\nmodified: 2024-01-02T03:04:05+02:00\n---\n- tea\n", "2024-01-02T01:04:05Z"},
		{"notes/tea.md", "---\ndate: [soon]\ncreated: 2023-05-17\n---\n- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/tea.md", "---\ndate: 2023-05-17\nupdated_at: 2025-01-01T00:00:00Z\n---\n- tea\n", "2025-01-01T00:00:00Z"},
		{"notes/tea.md", "---\ndate: 2023-05-17\n---\n- tea (added 2026-02-01)\n", "2026-02-01T00:00:00Z"},
		{"notes/tea.md", "---\ndate: 2023-05-17\nvisibility: private_only\n---\n- tea <!-- visibility=public_ok -->\n", modified},
		{"posts/2023-05-17-tea.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"posts/2023-05-17-tea.md", "---\ndate: 2024-01-01\n---\n- tea\n", "2024-01-01T00:00:00Z"},
		{"notes/tea with Ann 2023_05_17.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/20230517 tea.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/202305171230.md", "- tea\n", "2023-05-17T00:00:00Z"},
		{"notes/12023-05-17.md", "- tea\n", modified},
		{"notes/2023-13-17.md", "- tea\n", modified},
		{"notes/80230517.md", "- tea\n", modified},
		{"notes/2023051.md", "- tea\n", modified},
		{"MEMORY.md", "---\ndate: 2023-05-17\n---\n- tea\n", modified},
		{"2026-02-04/s.md", "---\ndate: 2023-05-17\n---\n- tea\n", "2026-02-04T00:00:00Z"},
	} {
		d := new(Layout).Parse(tc.path, []byte(tc.text), Meta{ModTime: at})
		if got := d.Entries[0].Time.Format(time.RFC3339); got != tc.want {
			t.Errorf("%s, %q: %s, want %s", tc.path, tc.text, got, tc.want)
		}
	}
}
