// This program searches the memory of the default daemon, and uses nothing else
// of the module than its client.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

func main() {
	daemon := &client.Client{AsOwner: true}
	found, err := client.Call(context.Background(), daemon, api.SearchRequest{Query: strings.Join(os.Args[1:], " ")})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Printf("%s:%d: %s\n", hit.Path, hit.Line, hit.Text)
	}
	store := &client.Store{Client: daemon}
	items, err := store.List(context.Background(), "owner", "preference",
		client.ReadOptions{Context: client.ContextPrivate})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(items), "preferences")
}
