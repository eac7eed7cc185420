package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// serve starts a daemon on an empty memory for an example, and returns its
// socket.
func serve() (socket string, stop func()) {
	dir, err := os.MkdirTemp("/tmp", "mw") // short, because a socket path has at most 107 bytes
	if err != nil {
		log.Fatal(err)
	}
	program := filepath.Join(dir, "bin", "memwatchd")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "../../cmd/memwatchd").CombinedOutput(); err != nil {
		log.Fatalf("%v: %s", err, out)
	}
	server := exec.Command(program, "serve", "--dir", filepath.Join(dir, "memory"))
	server.Env = []string{
		"HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_CACHE_HOME=" + dir + "/cache",
		"XDG_CONFIG_HOME=" + dir + "/config", "MEMWATCHD_MEMORY_TIMEZONE=UTC",
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "memory"), 0o700), server.Start()); err != nil {
		log.Fatal(err)
	}
	socket = filepath.Join(dir, "memwatchd", "memwatchd.sock")
	daemon := &client.Client{Socket: socket}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := client.Call(context.Background(), daemon, api.StatusRequest{}); err == nil {
			break
		} else if time.Now().After(end) {
			log.Fatal(err)
		}
	}
	return socket, func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
		os.RemoveAll(dir)
	}
}

// ExampleClient shows that open fields of a request take the client's scope and
// the daemon's defaults.
func ExampleClient() {
	socket, stop := serve()
	defer stop()
	ctx := context.Background()
	daemon := &client.Client{Socket: socket, Scope: api.Scope{Subject: new("acct:42"), Context: new("private")}}

	if _, err := client.Call(ctx, daemon, api.RememberRequest{Title: "Wifi", Text: "The password is on the fridge", Explicit: true}); err != nil {
		log.Fatal(err)
	}
	found, err := client.Call(ctx, daemon, api.SearchRequest{Query: "password", Count: new(false)})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Path, hit.Title)
	}

	// In a public context the entry does not exist.
	found, err = client.Call(ctx, daemon, api.SearchRequest{Query: "password", Scope: api.Scope{Context: new("public")}})
	fmt.Println(found.Total, err)

	// A failure is an error with a code.
	_, err = client.Call(ctx, daemon, api.GetRequest{Path: "2026-02-04/none.md"})
	if e, ok := errors.AsType[*api.Error](err); ok {
		fmt.Println(e.Code, e)
	}
	// Output:
	// _longterms/acct_42/_index.md Wifi
	// 0 <nil>
	// not_found file "2026-02-04/none.md" not found
}

// ExampleStore shows a bot that stores facts about its users. In a group it
// reads only public items.
func ExampleStore() {
	socket, stop := serve()
	defer stop()
	ctx := context.Background()
	store := &client.Store{Client: &client.Client{Socket: socket}}

	const who = "ext:telegram:123"
	for key, visibility := range map[string]client.Visibility{"timezone": client.PublicOK, "doctor": client.PrivateOnly} {
		if _, err := store.Put(ctx, who, "profile", key, "…", client.PutOptions{Visibility: visibility}); err != nil {
			log.Fatal(err)
		}
	}
	for _, where := range []client.RequestContext{client.ContextPrivate, client.ContextPublic} {
		items, err := store.List(ctx, who, "profile", client.ReadOptions{Context: where})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("in " + where.String() + ":")
		for _, item := range items {
			fmt.Println("  " + item.Key)
		}
	}

	// An empty subject has no memory, and reading it is not an error.
	_, ok, err := store.Get(ctx, "", "profile", "timezone", client.ReadOptions{Context: client.ContextPrivate})
	fmt.Println("nobody:", ok, err)
	if err := store.WipeSubject(ctx, who); err != nil {
		log.Fatal(err)
	}
	items, err := store.List(ctx, who, "", client.ReadOptions{Context: client.ContextPrivate})
	fmt.Println("wiped:", len(items), err)
	// Output:
	// in private:
	//   doctor
	//   timezone
	// in public:
	//   timezone
	// nobody: false <nil>
	// wiped: 0 <nil>
}
