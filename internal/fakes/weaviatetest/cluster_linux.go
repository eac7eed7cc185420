package weaviatetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ClusterKey is the API key of a [Cluster].
const ClusterKey = "key-of-the-test-cluster"

// startTimeout bounds the time until a node is ready, on a busy machine.
const startTimeout = 2 * time.Minute

// A Cluster is a number of real servers on the loopback interface. Its data port
// and gRPC, which listen on all interfaces, require credentials.
type Cluster struct{ Nodes []*Node }

// A Node is a server of a cluster. It ends with the process that started it.
type Node struct {
	URL string

	binary, dir string
	env, args   []string
	gossip      int
	cmd         *exec.Cmd
}

// NewCluster starts a cluster of n nodes of the server that the environment
// variable WEAVIATE names, or skips the test if it names none. The cluster ends
// with the test.
func NewCluster(t *testing.T, n int) *Cluster {
	t.Helper()
	binary := os.Getenv("WEAVIATE")
	if binary == "" {
		t.Skip("WEAVIATE does not name a server: run make cluster")
	}
	c, err := startCluster(t.Context(), binary, t.TempDir(), n)
	t.Cleanup(c.Close)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startCluster starts a cluster of n nodes, whose data are below dir. The caller
// must close it, also after an error.
func startCluster(ctx context.Context, binary, dir string, n int) (*Cluster, error) {
	c := &Cluster{}
	first, err := freePorts(6 * n)
	if err != nil {
		return c, err
	}
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf("node%d:%d", i, first+6*i+4))
	}
	for i := range n {
		port := first + 6*i
		node := &Node{URL: fmt.Sprintf("http://127.0.0.1:%d", port), binary: binary, gossip: port + 2,
			dir: filepath.Join(dir, fmt.Sprint("node", i))}
		node.args = []string{"--scheme", "http", "--host", "127.0.0.1", "--port", fmt.Sprint(port),
			"--read-timeout=60s", "--write-timeout=60s"}
		node.env = []string{
			"PERSISTENCE_DATA_PATH=" + node.dir, "DEFAULT_VECTORIZER_MODULE=none", "ENABLE_MODULES=",
			"API_BASED_MODULES_DISABLED=true",
			"DISABLE_TELEMETRY=true", "GO_PROFILING_DISABLE=true", "LOG_LEVEL=error", "AUTOSCHEMA_ENABLED=true",
			"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=false", "AUTHENTICATION_APIKEY_ENABLED=true",
			"AUTHENTICATION_APIKEY_ALLOWED_KEYS=" + ClusterKey, "AUTHENTICATION_APIKEY_USERS=test",
			"CLUSTER_BASIC_AUTH_USERNAME=node", "CLUSTER_BASIC_AUTH_PASSWORD=" + ClusterKey,
			fmt.Sprintf("CLUSTER_HOSTNAME=node%d", i), "CLUSTER_IN_LOCALHOST=true",
			"CLUSTER_ADVERTISE_ADDR=127.0.0.1", "CLUSTER_BIND_ADDR=127.0.0.1",
			fmt.Sprintf("GRPC_PORT=%d", port+1), fmt.Sprintf("CLUSTER_GOSSIP_BIND_PORT=%d", port+2),
			fmt.Sprintf("CLUSTER_DATA_BIND_PORT=%d", port+3),
			fmt.Sprintf("RAFT_PORT=%d", port+4), fmt.Sprintf("RAFT_INTERNAL_RPC_PORT=%d", port+5),
			"RAFT_JOIN=" + strings.Join(members, ","), fmt.Sprintf("RAFT_BOOTSTRAP_EXPECT=%d", n),
			fmt.Sprintf("REPLICATION_MINIMUM_FACTOR=%d", n),
		}
		if i > 0 {
			node.env = append(node.env, fmt.Sprintf("CLUSTER_JOIN=127.0.0.1:%d", first+2))
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c, c.Start(ctx)
}

// Start starts all nodes and waits until they are ready.
func (c *Cluster) Start(ctx context.Context) error {
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			return err
		}
		// The next node exits if it cannot join this one.
		if err := node.awaitGossip(ctx); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := node.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close kills all nodes.
func (c *Cluster) Close() {
	for _, node := range c.Nodes {
		node.Kill()
	}
}

// Start starts a node. Its process group is its own, and the kernel kills it when
// the caller's process ends.
func (n *Node) Start() error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(n.dir+".log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	n.cmd = exec.Command(n.binary, n.args...)
	n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr = append(os.Environ(), n.env...), log, log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return n.cmd.Start()
}

// Kill kills a node and waits for its end.
func (n *Node) Kill() {
	if n.cmd != nil && n.cmd.Process != nil {
		syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL)
		n.cmd.Wait()
		n.cmd = nil
	}
}

// Freeze stops the execution of a node until Thaw.
func (n *Node) Freeze() error { return syscall.Kill(-n.cmd.Process.Pid, syscall.SIGSTOP) }

// Thaw continues the execution of a node.
func (n *Node) Thaw() error { return syscall.Kill(-n.cmd.Process.Pid, syscall.SIGCONT) }

// Wipe removes the data of a node that does not run.
func (n *Node) Wipe() error { return os.RemoveAll(n.dir) }

// Log returns the path of the log of a node.
func (n *Node) Log() string { return n.dir + ".log" }

func (n *Node) awaitGossip(ctx context.Context) error {
	return n.await(ctx, func() bool {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", n.gossip), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// AwaitReady waits until a node accepts requests.
func (n *Node) AwaitReady(ctx context.Context) error {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	return n.await(ctx, func() bool {
		response, err := client.Get(n.URL + "/v1/.well-known/ready")
		if err == nil {
			response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
}

func (n *Node) await(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; see %s", n.URL, ctx.Err(), n.Log())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// freePorts returns the first of n successive free ports. A node expects the data
// port of another above its gossip port, and likewise for Raft. The ports are
// outside the range from which the kernel chooses.
func freePorts(n int) (int, error) {
	for range 100 {
		first := 20000 + rand.IntN(10000)
		free := 0
		for free < n {
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", first+free))
			if err != nil {
				break
			}
			l.Close()
			free++
		}
		if free == n {
			return first, nil
		}
	}
	return 0, fmt.Errorf("no %d successive ports are free", n)
}
