package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"path"
	"slices"
	"strings"
	"time"
)

type file struct {
	name       string // with slashes
	data       []byte
	executable bool
}

// archive returns a compressed archive of the files below a directory with the
// given name. Equal files produce equal archives: entries are sorted by name,
// owned by root and have the same time.
func archive(name string, files []file, when time.Time) ([]byte, error) {
	files = slices.Clone(files)
	directories := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "." && !directories[dir]; dir = path.Dir(dir) {
			directories[dir] = true
			files = append(files, file{name: dir + "/"})
		}
	}
	files = append(files, file{name: ""})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: name + "/" + f.name, Mode: 0o644, Size: int64(len(f.data)),
			ModTime: when.UTC().Truncate(time.Second), Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		switch {
		case strings.HasSuffix(h.Name, "/"):
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		case f.executable:
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(t.Close(), z.Close())
	return b.Bytes(), err
}
