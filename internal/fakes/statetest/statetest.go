// Package statetest searches the state of memwatchd for text, for tests.
package statetest

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FilesContaining returns the files below a directory that contain a text, packed or not,
// whether or not anything refers to them. It unpacks versions of the journal, also damaged
// ones as far as possible, and the files in its log.
func FilesContaining(dir, text string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		var data []byte
		if err == nil && e.Type().IsRegular() {
			data, err = os.ReadFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has just been removed
		}
		if contains(data, text) {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	})
	return list, err
}

func contains(data []byte, text string) bool {
	if bytes.Contains(data, []byte(text)) {
		return true
	}
	if len(data) > sha256.Size {
		version, _ := io.ReadAll(flate.NewReader(bytes.NewReader(data[sha256.Size:])))
		if bytes.Contains(version, []byte(text)) {
			return true
		}
	}
	for at := 0; at+8 < len(data); { // entries of a log
		var entry struct{ Files map[string][]byte }
		size := int(binary.BigEndian.Uint32(data[at:]))
		if size > len(data)-at-8 || json.Unmarshal(data[at+8:at+8+size], &entry) != nil {
			break
		}
		at += 8 + size
		for _, file := range entry.Files {
			if contains(file, text) {
				return true
			}
		}
	}
	return false
}
