package agents

import (
	"bytes"
	_ "embed"
)

// skillText is the skill for the command memwatchd. Each line that begins with it is a
// command.
//
//go:embed skill.md
var skillText []byte

// skillStart begins the skill, and skillBlock each block of commands in it.
var (
	skillStart = []byte("---\nname: " + serverName + "\n")
	skillBlock = []byte("```sh\n")
)

// skillFile is the form of a skill: a file of instructions with shell commands,
// for agents without hooks. memwatchd owns the whole file.
type skillFile struct{}

func (skillFile) addCommand(_ Agent, _ []byte, c Command) ([]byte, error) {
	return bytes.ReplaceAll(skillText, []byte("\n"+serverName+" "), []byte("\n"+c.String()+" ")), nil
}

func (s skillFile) removeCommand(_ Agent, data []byte) ([]byte, error) {
	_, err := s.listCommands(data)
	return nil, err
}

func (skillFile) listCommands(data []byte) ([]Command, error) {
	if len(data) == 0 {
		return nil, nil
	}
	_, block, ok := bytes.Cut(data, skillBlock)
	if !ok || !bytes.HasPrefix(data, skillStart) {
		return nil, errorAt(string(data), 0, "the file is not the skill of memwatchd: remove it")
	}
	line, _, _ := bytes.Cut(block, []byte("\n"))
	command := parseCommand(string(line))
	if command == nil {
		return nil, errorAt(string(data), len(data)-len(block), "the first command of the skill cannot be read")
	}
	return []Command{command}, nil
}
