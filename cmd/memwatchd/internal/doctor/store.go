package doctor

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/weaviate"
)

// storeTime bounds the request to the shared store.
const storeTime = 3 * time.Second

// inspectStore reports whether the shared store answers, the difference of its clock,
// its ports that other machines can reach, and the size of the changes that wait for
// it.
func inspectStore(e *examination) (list findings) {
	w := &e.config.Share.Weaviate
	u, err := url.Parse(w.URL)
	if w.URL == "" || err != nil {
		return nil
	}
	client := &weaviate.Client{URL: w.URL, Timeout: storeTime}
	defer client.Close()
	if client.Roots, err = config.ReadCertificates(w.CAFile); err != nil {
		list.add(problem, "Correct share.weaviate.ca_file.", "", "The certificates of the shared store are unknown: %v.", err)
		return list
	}
	began := time.Now()
	theirs, err := client.Ready(context.Background())
	if err != nil {
		list.add(warning, "Until it does, answers lack the entries of other machines.", "",
			"The shared store at %s does not answer: %v.", u.Host, err)
	} else if !theirs.IsZero() { // in whole seconds
		difference := max(began.Sub(theirs)-time.Second, time.Until(theirs))
		if difference > maxClockDifference {
			list.add(warning, "Synchronize the clocks of all machines with the network.", "timedatectl",
				"The clock of the shared store differs by %s.", difference.Round(time.Second))
		}
	}
	if port, err := strconv.Atoi(u.Port()); err == nil && config.IsLoopback(u.Hostname()) {
		ports := openPorts(port)
		if len(ports) > 0 {
			list.add(warning, "Some of its ports need no key. Block them with a firewall: see docs/weaviate-server.md.", "",
				"The shared store listens on all interfaces, on port %s.", strings.Join(ports, ", "))
		}
	}
	limit := int64(e.config.Share.SpoolMax)
	if e.status != nil && e.status.Share != nil && e.status.Share.Bytes > limit/2 {
		s := e.status.Share
		list.add(warning, "Beyond the limit they are dropped, and all entries are compared with the store when it answers.",
			"", "%s wait for the shared store: %s of share.spool_max, %s.", term.Plural(s.Spooled, "change"),
			term.FormatBytes(s.Bytes), term.FormatBytes(limit))
	}
	return list.orPassed("The shared store at %s answers.", u.Host)
}

// maxClockDifference is the difference of the clocks of two machines that changes no
// result: times of entries from other machines are compared with local ones.
const maxClockDifference = time.Minute
