package importer

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
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
	Name  string // for messages and titles; never the name of a file to write
	place string // absolute path, also in an archive
	open  func() (io.ReadCloser, error)
}

var errArchive = errors.New("the archive is not read")

// Open returns the files of a format that a name stands for: a file, those of a zip archive
// or below a directory, or the standard input for -. The names in an archive select files and
// are not used as paths. If some directories cannot be read, Open returns an error with the files of
// the others.
func Open(f Format, name string, stdin io.Reader) (list []Input, err error) {
	if name == "-" {
		in := bufio.NewReaderSize(stdin, 64<<10)
		start, _ := in.Peek(in.Size()) // an error occurs again
		place := fmt.Sprintf("/standard input %x", sha256.Sum256(start))
		return []Input{{name, place, func() (io.ReadCloser, error) { return io.NopCloser(in), nil }}}, nil
	}
	place, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	place, err = filepath.EvalSymlinks(place)
	if err != nil {
		return nil, err
	}
	var failed error
	filepath.WalkDir(place, func(at string, entry fs.DirEntry, err error) error {
		failed = errors.Join(failed, err)
		if err == nil && entry.Type().IsRegular() && (at == place || f.Match(entry.Name())) {
			list = append(list, Input{name + strings.TrimPrefix(at, place), at,
				func() (io.ReadCloser, error) { return os.Open(at) }})
		}
		return nil
	})
	if len(list) == 1 && list[0].place == place {
		return openArchive(f, list)
	}
	return list, failed
}

// openArchive returns the files of an archive that belong to the format, or the list with
// another file. Reading a file fails if it is compressed more than text is, or if the files
// that were read are too large.
func openArchive(f Format, list []Input) ([]Input, error) {
	archive, err := zip.OpenReader(list[0].place) // which stays open
	switch {
	case errors.Is(err, zip.ErrFormat):
		return list, nil
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, err
	case len(archive.File) > maxFiles:
		return nil, fmt.Errorf("%s: %w: it has more than %d files", list[0].Name, errArchive, maxFiles)
	}
	var inside []Input
	left := int64(maxArchive)
	for _, file := range archive.File {
		name := strings.ReplaceAll(file.Name, `\`, "/")
		if file.Mode().IsRegular() && f.Match(path.Base(name)) {
			inside = append(inside, Input{list[0].Name + "/" + name, path.Join(list[0].place, name),
				func() (io.ReadCloser, error) {
					in, err := file.Open()
					return &limited{in, &left, int64(min(file.CompressedSize64, maxArchive))*maxRatio + minRatio}, err
				}})
		}
	}
	if len(inside) == 0 {
		return nil, fmt.Errorf("%s: it contains no file of %s", list[0].Name, f.Program)
	}
	return inside, nil
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
	if l.file < 0 || *l.archive < 0 {
		return 0, fmt.Errorf("%w further: a file is compressed more than %d times, or all have more than %d bytes",
			errArchive, maxRatio, int64(maxArchive))
	}
	return n, err
}

// Place returns the absolute path of the file, also in an archive.
func (in *Input) Place() string { return in.place }

// Records returns the records of the file. Times without a zone are in loc.
func (in *Input) Records(f Format, loc *time.Location) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		r, err := in.open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for record, err := range f.Read(Source{path.Base(in.Name), in.origin(), loc}, r) {
			list := []*api.ImportRecord{record}
			if err == nil && record.Entry == nil && record.Item == nil {
				list = split(record, maxText)
			}
			for _, r := range list {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// origin returns a name for the origin of the file: its own, as a part of the names of daily
// notes, with a digest of its place. Both files of an export as JSON lines have the origin of
// their directory.
func (in *Input) origin() string {
	place := strings.TrimSuffix(strings.TrimSuffix(in.place, "/short_term.jsonl"), "/long_term.jsonl")
	base := path.Base(filepath.ToSlash(place))
	base = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '_'
	}, strings.ToLower(strings.TrimSuffix(base, path.Ext(base))))
	sum := sha256.Sum256([]byte(place))
	return strings.Trim(base[:min(len(base), 40)]+"_"+hex.EncodeToString(sum[:4]), "_")
}
