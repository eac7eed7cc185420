package memory

// A Stamp is what a file looked like when it was read: two equal stamps of one
// path mean, as far as a file system tells without reading, the same content.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // nanoseconds since 1970; 0 where the platform has none
	Inode uint64
}
