package vault

// A FileSystem describes the file system of a directory.
type FileSystem struct {
	Name   string // such as ext4; its number if it has no known name
	Remote string // why events do not report the changes of other machines; empty if they do
}
