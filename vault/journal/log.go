package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/internal/state"
)

// A fileLog makes new files in a directory durable with one sync: it appends their
// contents to one file, syncs that, and only then writes them, without a sync. After a
// power failure, openLog writes them again. All methods are safe for concurrent use.
type fileLog struct {
	dir string

	busy sync.RWMutex // read by entries in progress, held by flush

	mu    sync.Mutex
	size  int64           // of the entries since the last flush
	files map[string]bool // written since the last flush, by name

	syncing sync.Mutex // held during a sync
	synced  int64      // size as of the last sync; guarded by syncing, and reset by flush
}

// A logEntry is a step in the log. Old names are removed, and new files written.
type logEntry struct {
	Removed []string          `json:"removed,omitempty"`
	Files   map[string][]byte `json:"files,omitempty"`
}

// logName is the name of the log, and maxLog the size at which it is flushed.
const (
	logName = "recent.log"
	maxLog  = 1 << 20
)

// openLog opens the log of a directory, and repeats its steps.
func openLog(dir string) (*fileLog, error) {
	l := &fileLog{dir: dir, files: map[string]bool{}}
	file, err := os.OpenFile(l.path(), os.O_RDONLY|os.O_CREATE, 0o600) // flush makes its name durable
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	file.Close()
	files := map[string][]byte{}
	for len(data) >= 8 && err == nil {
		size, sum := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
		data = data[8:]
		var e logEntry
		if uint64(size) > uint64(len(data)) || crc32.ChecksumIEEE(data[:size]) != sum ||
			json.Unmarshal(data[:size], &e) != nil {
			break // the power failed while this entry was written
		}
		data = data[size:]
		for _, name := range e.Removed {
			delete(files, name)
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		for name, text := range e.Files {
			files[name] = text
		}
	}
	for name, text := range files {
		if err == nil {
			l.files[name] = true
			err = writeFile(filepath.Join(dir, name), text)
		}
	}
	if err == nil {
		err = l.flush(-1)
	}
	return l, err
}

func (l *fileLog) path() string { return filepath.Join(l.dir, logName) }

// begin appends files to the log. The caller then calls finish with the same files.
func (l *fileLog) begin(files map[string][]byte) (end int64, err error) {
	if err := l.flush(maxLog); err != nil {
		return 0, err
	}
	l.busy.RLock()
	end, err = l.append(logEntry{Files: files})
	if err != nil {
		l.busy.RUnlock()
	}
	return end, err
}

// finish makes files durable and writes them. On error it leaves none. Concurrent calls
// share a sync.
func (l *fileLog) finish(end int64, files map[string][]byte) error {
	defer l.busy.RUnlock()
	err := l.sync(end)
	var names []string
	for name, data := range files {
		names = append(names, name)
		if err == nil {
			err = writeFile(filepath.Join(l.dir, name), data)
		}
	}
	if err != nil {
		l.removeFiles(names)
	}
	return err
}

// rename renames a file. After a power failure, the file may have its old name.
func (l *fileLog) rename(from, to string) error {
	l.busy.RLock()
	defer l.busy.RUnlock()
	data, err := os.ReadFile(filepath.Join(l.dir, from))
	if err == nil {
		err = os.Rename(filepath.Join(l.dir, from), filepath.Join(l.dir, to))
	}
	if err == nil {
		l.append(logEntry{Removed: []string{from}, Files: map[string][]byte{to: data}})
	}
	return err
}

// remove removes a file. After a power failure, the file may exist again.
func (l *fileLog) remove(name string) error {
	l.busy.RLock()
	defer l.busy.RUnlock()
	return l.removeFiles([]string{name})
}

func (l *fileLog) removeFiles(names []string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(l.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.append(logEntry{Removed: names})
	return nil
}

// append appends an entry and returns its end for sync.
func (l *fileLog) append(e logEntry) (end int64, err error) {
	text, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	frame = append(binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(text)), text...)
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.OpenFile(l.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	start, err := file.Seek(0, io.SeekEnd) // less than l.size after a flush that failed at its end
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	_, err = file.Write(frame)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Truncate(l.path(), start) // half an entry would hide later ones
		return 0, err
	}
	for _, name := range e.Removed {
		delete(l.files, name)
	}
	for name := range e.Files {
		l.files[name] = true
	}
	l.size += int64(len(frame))
	return l.size, nil
}

// sync makes the log durable up to an end.
func (l *fileLog) sync(end int64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.synced >= end {
		return nil
	}
	l.mu.Lock()
	size := l.size
	l.mu.Unlock()
	if err := syncPath(l.path()); err != nil {
		return err
	}
	l.synced = size
	return nil
}

// flush makes the files durable and empties the log, which then contains no text of
// them, if the log is larger than a size.
func (l *fileLog) flush(above int64) error {
	l.mu.Lock()
	small := l.size <= above
	l.mu.Unlock()
	if small {
		return nil
	}
	l.busy.Lock()
	defer l.busy.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	dirs := map[string]bool{l.dir: true}
	var group errgroup.Group
	for name := range l.files {
		path := filepath.Join(l.dir, name)
		dirs[filepath.Dir(path)] = true
		group.Go(func() error { return syncPath(path) })
	}
	err := group.Wait()
	for dir := range dirs {
		err = errors.Join(err, syncPath(dir))
	}
	if err == nil {
		err = os.WriteFile(l.path(), nil, 0o600)
	}
	if err == nil {
		err = syncPath(l.path()) // forgotten text must not come back after a power failure
	}
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	clear(l.files)
	l.size, l.synced = 0, 0
	return nil
}

// syncPath makes a file or the names in a directory durable, if it exists.
func syncPath(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// writeFile replaces a file.
func writeFile(path string, data []byte) error {
	err := os.WriteFile(path+state.TempSuffix, data, 0o600)
	if err == nil {
		err = os.Rename(path+state.TempSuffix, path)
	}
	if err != nil {
		os.Remove(path + state.TempSuffix)
	}
	return err
}
