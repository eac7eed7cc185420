package e2e

import (
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// The conformance suite of the Model Context Protocol, with the scenarios of revision
// 2026-07-28, and the version of Node that it needs.
const (
	conformanceSuite = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	conformanceNode  = "node@22.23.3"
)

// TestConformance runs the server scenarios of the conformance suite against the
// endpoint on TCP, and checks that only those in testdata/conformance.yaml fail.
// Run it with make conformance.
func TestConformance(t *testing.T) {
	if os.Getenv("CONFORMANCE") == "" {
		t.Skip("only with CONFORMANCE=1, as make conformance sets it")
	}
	needs(t, "npx")
	const token = "0123456789abcdef"
	free, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	address := free.Addr().String()
	free.Close()
	l := newLive(t, t.TempDir(), "")
	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, "token"), token)
	testkit.WriteFile(t, l.config, fmt.Sprintf("memory: {dir: %q, timezone: %s}\n"+
		"ipc: {listeners: [{path: %q}, {address: %q, token_file: %q, subject: owner, context: private}]}\n",
		l.root, testkit.Zone, l.socket, address, filepath.Join(dir, "token")))
	for path, text := range agentFiles {
		l.write(path, text)
	}
	l.start()

	// The suite cannot send the token.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	defer proxy.Close()
	suite := exec.Command("npx", "--yes", "--package", conformanceNode, "--package", conformanceSuite, "--",
		"conformance", "server", "--url", proxy.URL+"/mcp", "--suite", "all",
		"--expected-failures", "testdata/conformance.yaml")
	suite.Env = append(os.Environ(), "NPM_CONFIG_CACHE="+t.TempDir())
	out, err := suite.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
