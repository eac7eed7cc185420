package importer

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Limits of an archive. Text is rarely compressed to less than a fifteenth.
const (
	maxArchive = 8 << 30 // bytes in all of its files that are read
	maxFiles   = 100000
	maxRatio   = 200
	minRatio   = 1 << 20 // bytes of a file to which the ratio does not apply
)

// An Input is a file of an export.
type Input struct {
	Name string // for messages and ids; never the name of a file to write
	Open func() (io.ReadCloser, error)
}

var errArchive = errors.New("the archive is not read")

// IsArchive reports whether the first bytes of a file are those of a zip archive.
func IsArchive(start []byte) bool { return strings.HasPrefix(string(start), "PK\x03\x04") }

// Archive returns the files of a zip archive that belong to the format. Reading a
// file fails if it is compressed more than text is, or if the files that were read
// are too large. The names in the archive select files and are not used as paths.
func Archive(f Format, r io.ReaderAt, size int64) ([]Input, error) {
	archive, err := zip.NewReader(r, size)
	switch {
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, fmt.Errorf("%w: %w", errArchive, err)
	case len(archive.File) > maxFiles:
		return nil, fmt.Errorf("%w: it has more than %d files", errArchive, maxFiles)
	}
	var list []Input
	left := int64(maxArchive)
	for _, file := range archive.File {
		name := strings.ReplaceAll(file.Name, `\`, "/")
		if file.Mode().IsRegular() && f.Match(path.Base(name)) {
			list = append(list, Input{name, func() (io.ReadCloser, error) {
				in, err := file.Open()
				if err != nil {
					return nil, fmt.Errorf("%w: %w", errArchive, err)
				}
				return &limited{in, &left, int64(min(file.CompressedSize64, maxArchive))*maxRatio + minRatio}, nil
			}})
		}
	}
	return list, nil
}

// A limited reader fails at the limits of an archive, which the sizes in its
// directory cannot raise.
type limited struct {
	io.ReadCloser
	archive *int64 // bytes left in all files
	file    int64  // bytes left in this file
}

// Read implements io.Reader.
func (l *limited) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	*l.archive -= int64(n)
	l.file -= int64(n)
	switch {
	case l.file < 0:
		return 0, fmt.Errorf("%w further: a file is compressed more than %d times", errArchive, maxRatio)
	case *l.archive < 0:
		return 0, fmt.Errorf("%w further: its files have more than %d bytes", errArchive, int64(maxArchive))
	}
	return n, err
}
