module github.com/memwatchd/memwatchd/tools/bench

go 1.26.0

replace github.com/memwatchd/memwatchd => ../../

require (
	github.com/google/go-cmp v0.7.0
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/memwatchd/memwatchd v0.0.0-00010101000000-000000000000
	golang.org/x/sync v0.24.0
	golang.org/x/text v0.43.0
)

require (
	github.com/adrg/xdg v0.5.3 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
