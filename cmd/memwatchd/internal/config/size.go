package config

import (
	"strconv"
	"strings"
)

// size is a number of bytes, written with a unit.
type size int64

var units = []struct {
	name  string
	bytes size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func parseSize(s string) (size, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n >= 0 && n <= (1<<62)/int64(u.bytes) {
			return size(n) * u.bytes, nil
		}
	}
	return 0, strconv.ErrSyntax
}

func (s size) String() string {
	for _, u := range units {
		if s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return "0B"
}
