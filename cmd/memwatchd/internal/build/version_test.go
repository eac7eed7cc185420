package build

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBuild checks the build information for each way to obtain the sources.
func TestBuild(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	at := time.Date(2026, 2, 4, 10, 30, 0, 0, time.UTC)
	module := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for name, c := range map[string]struct {
		info     *debug.BuildInfo
		archived string
		want     Info
	}{
		"a tag that was checked out": {
			module("v1.2.0", "vcs.revision", hash, "vcs.time", "2026-02-04T10:30:00Z", "vcs.modified", "false"), "$Format:%H %cI$\n",
			Info{Version: "v1.2.0", Commit: hash, Time: at},
		},
		"a checkout with changes": {
			module("v0.0.0-20260204103000-0123456789ab+dirty", "vcs.revision", hash, "vcs.time", "2026-02-04T10:30:00Z", "vcs.modified", "true"), "",
			Info{Version: "v0.0.0-20260204103000-0123456789ab+dirty", Commit: hash, Time: at, Modified: true},
		},
		"a tag that was downloaded":    {module("v1.2.0"), "$Format:%H %cI$\n", Info{Version: "v1.2.0"}},
		"a commit that was downloaded": {module("v1.2.1-0.20260204103000-0123456789ab"), "", Info{Version: "v1.2.1-0.20260204103000-0123456789ab", Commit: hash[:12], Time: at}},
		"an archive of git":            {module("(devel)"), hash + " 2026-02-04T11:30:00+01:00\n", Info{Version: "(devel)", Commit: hash, Time: at}},
		"other sources":                {module("(devel)"), "$Format:%H %cI$\n", Info{Version: "(devel)"}},
		"nothing":                      {new(debug.BuildInfo), "", Info{Version: "(devel)", Go: runtime.Version()}},
	} {
		if c.want.Go == "" {
			c.want.Go = "go1.26.0"
		}
		c.want.Platform = runtime.GOOS + "/" + runtime.GOARCH
		if diff := cmp.Diff(c.want, infoOf(c.info, c.archived)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := Info{Version: "v1.2.0", Commit: hash[:12], Time: at, Modified: true, Go: "go1.26.0", Platform: "linux/amd64"}.String()
	want := "memwatchd v1.2.0\ncommit  0123456789ab of 2026-02-04T10:30:00Z, modified\nbuilt   with go1.26.0 for linux/amd64\n"
	if got != want {
		t.Errorf("a person is told %q, want %q", got, want)
	}
}
