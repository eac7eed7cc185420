module github.com/memwatchd/memwatchd/tools/agents

go 1.26.0
