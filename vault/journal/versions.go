package journal

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/state"
)

// A versionStore keeps contents of files, one file for each content, below a name that
// begins with a part of the digest of the content. A content is stored as a whole or as
// the lines that differ from a whole one, the base, whose name follows the own one. So
// a content needs at most one other, and its cost follows the change. A file begins with
// the SHA-256 of the content, which is not the one in the name if an earlier build cut text out.
//
// The caller serializes the calls.
type versionStore struct {
	dir      string
	versions map[string]storedVersion // by name
	based    map[string]int64         // total size of the versions with a base, by base
	total    int64                    // size of all versions

	fault func() error // called before each change of a file by keepOnly, unless nil; for tests

	cachedName string // of the whole version that was read last
	cached     []byte
}

type storedVersion struct {
	base string // "" for a whole one
	size int64  // of the file
}

// ErrNoVersion reports that a content is not in the journal.
var ErrNoVersion = errors.New("this version is not stored")

// nameLength is the length of the part of a digest that names a version.
const nameLength = 32

func versionName(digest string) string { return digest[:min(len(digest), nameLength)] }

// openVersions reads the names and sizes of the stored versions, and removes the rest of
// interrupted writes.
func openVersions(dir string) (*versionStore, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &versionStore{dir: dir, versions: map[string]storedVersion{}, based: map[string]int64{}}
	for _, e := range entries {
		name, base, _ := strings.Cut(e.Name(), ".")
		info, err := e.Info()
		switch {
		case len(name) != nameLength || err != nil: // no version
		case strings.HasSuffix(e.Name(), state.TempSuffix), s.has(name): // an interrupted replace; whole versions are first
			os.Remove(filepath.Join(dir, e.Name()))
		default:
			s.register(name, storedVersion{base, info.Size()})
		}
	}
	return s, nil
}

func (s *versionStore) has(name string) bool {
	_, ok := s.versions[name]
	return ok
}

func (s *versionStore) register(name string, v storedVersion) {
	s.unregister(name)
	s.versions[name] = v
	s.total += v.size
	if v.base != "" {
		s.based[v.base] += v.size
	}
}

func (s *versionStore) unregister(name string) {
	old := s.versions[name]
	s.total -= old.size
	if old.base != "" {
		s.based[old.base] -= old.size
	}
	delete(s.versions, name)
}

// path returns the path of a version's file.
func (s *versionStore) path(name string, v storedVersion) string {
	if v.base != "" {
		name += "." + v.base
	}
	return filepath.Join(s.dir, name)
}

// An encodedVersion is a version that is not written yet.
type encodedVersion struct {
	storedVersion
	data []byte
}

// encode returns a content in its stored form. near is the name of a version that is
// probably similar, or "". Once the versions with a base are larger than the base, the
// next one is stored as a whole, which keeps the total near its minimum.
func (s *versionStore) encode(name string, content []byte, near string) encodedVersion {
	if v, ok := s.versions[near]; ok && v.base != "" {
		near = v.base
	}
	if v, ok := s.versions[near]; ok && near != name {
		if base, err := s.read(near); err == nil {
			e := encodeAs(near, base, content)
			if s.based[near]+e.size <= v.size {
				return e
			}
		}
	}
	return encodeAs("", nil, content)
}

// compressors contains unused compressors. Each has a megabyte of buffers.
var compressors = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed)
	return w
}}

// encodeAs returns a content as runs, each of a part of the base and a text that follows
// it: the offset and length of the part, the length of the text, and the text.
func encodeAs(baseName string, base, content []byte) encodedVersion {
	sum := sha256.Sum256(content)
	b := bytes.NewBuffer(sum[:])
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(b)
	var runs []byte
	at := 0 // offset in base
	add := func(end int, text []byte) {
		for _, n := range []int{at, end - at, len(text)} {
			runs = binary.AppendUvarint(runs, uint64(n))
		}
		runs = append(runs, text...)
	}
	line, end := 1, 0
	lines := diff.SplitLines(base)
	for _, h := range diff.Hunks(base, content) {
		for ; line < h.Line; line++ {
			end += len(lines[line-1])
		}
		add(end, h.New)
		at = end + len(h.Old)
	}
	add(len(base), nil)
	w.Write(runs)
	w.Close()
	return encodedVersion{storedVersion{baseName, int64(b.Len())}, b.Bytes()}
}

// read returns the content of a version.
func (s *versionStore) read(name string) ([]byte, error) {
	v, ok := s.versions[name]
	if !ok {
		return nil, ErrNoVersion
	}
	if name == s.cachedName {
		return s.cached, nil
	}
	var base []byte
	if v.base != "" {
		var err error
		base, err = s.read(v.base)
		if err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(s.path(name, v))
	if err != nil {
		return nil, err
	}
	content, err := decodeVersion(data, base)
	if err != nil {
		return nil, fmt.Errorf("version %s: %w", name, err)
	}
	if v.base == "" {
		s.cachedName, s.cached = name, content
	}
	return content, nil
}

var errDamaged = errors.New("damaged: digest mismatch")

// decodeVersion restores a content from runs, each a range of the base followed by new bytes,
// and compares its digest.
func decodeVersion(data, base []byte) ([]byte, error) {
	if len(data) < sha256.Size {
		return nil, errDamaged
	}
	runs, err := io.ReadAll(flate.NewReader(bytes.NewReader(data[sha256.Size:])))
	if err != nil {
		return nil, errDamaged
	}
	content := []byte{}
	for len(runs) > 0 {
		var n [3]uint64
		for i := range n {
			value, used := binary.Uvarint(runs)
			if used <= 0 {
				return nil, errDamaged
			}
			n[i], runs = value, runs[used:]
		}
		size := uint64(len(base))
		if n[0] > size || n[1] > size-n[0] || n[2] > uint64(len(runs)) {
			return nil, errDamaged
		}
		content = append(append(content, base[n[0]:n[0]+n[1]]...), runs[:n[2]]...)
		runs = runs[n[2]:]
	}
	if sha256.Sum256(content) != [sha256.Size]byte(data[:sha256.Size]) {
		return nil, errDamaged
	}
	return content, nil
}

// replace stores a version again, near another one. The file exists at any time.
func (s *versionStore) replace(name, near string, content []byte) error {
	old, e := s.path(name, s.versions[name]), s.encode(name, content, near)
	if err := s.change(func() error { return state.Write(s.path(name, e.storedVersion), e.data) }); err != nil {
		return err
	}
	s.register(name, e.storedVersion)
	if old == s.path(name, e.storedVersion) {
		return nil
	}
	return s.change(func() error { return os.Remove(old) })
}

// change changes a file. Tests let it fail.
func (s *versionStore) change(do func() error) error {
	if s.fault != nil {
		if err := s.fault(); err != nil {
			return err
		}
	}
	return do()
}

// keepOnly removes all versions that are not used. Versions whose base goes are stored again
// before. Every used version can be read at any time.
func (s *versionStore) keepOnly(used map[string]bool) error {
	used[""] = true             // the base of whole versions
	near := map[string]string{} // versions that were stored in place of a base, by the base
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.versions)) {
		base := s.versions[name].base
		if !used[name] || used[base] {
			continue
		}
		if content, err := s.read(name); err == nil { // else it keeps its base
			errs = append(errs, s.replace(name, near[base], content))
			near[base] = cmp.Or(s.versions[name].base, name)
		}
	}
	return errors.Join(append(errs, s.retain(used), s.sweep(), syncPath(s.dir))...)
}

// sweep removes the files in the directory that are no versions, such as those of an
// interrupted change of a version.
func (s *versionStore) sweep() error {
	entries, err := os.ReadDir(s.dir)
	errs := []error{err}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		path := filepath.Join(s.dir, e.Name())
		if v, ok := s.versions[name]; e.Type().IsRegular() && len(name) == nameLength && !(ok && path == s.path(name, v)) {
			errs = append(errs, s.change(func() error { return os.Remove(path) }))
		}
	}
	return errors.Join(errs...)
}

// retain removes all versions that are not needed: neither used themselves nor the base of a used
// one.
func (s *versionStore) retain(used map[string]bool) error {
	needed := map[string]bool{}
	for name, v := range s.versions {
		if used[name] {
			needed[name], needed[v.base] = true, true
		}
	}
	var errs []error
	for name, v := range s.versions {
		if needed[name] {
			continue
		}
		err := s.change(func() error { return os.Remove(s.path(name, v)) })
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		s.unregister(name)
	}
	return errors.Join(errs...)
}
