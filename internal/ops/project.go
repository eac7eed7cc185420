package ops

import (
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// projectTag precedes the name of a project in tags.
const projectTag = "project:"

// projectTags returns the tags of new text in a project.
func projectTags(project string) []string {
	if project == "" {
		return nil
	}
	return []string{projectTag + project}
}

// draftTags returns the tags of a draft in the form of the frontmatter.
func (m writeOps) draftTags(given []string) (tags []string, err error) {
	if len(given) > api.MaxValues {
		return nil, api.Errorf(api.Invalid, "tags: %d elements, maximum %d", len(given), api.MaxValues)
	}
	if err := m.checkText("tags", given...); err != nil {
		return nil, err
	}
	for _, tag := range given {
		tags = append(tags, memory.HeadingLine(tag))
	}
	return tags, nil
}

// A projectOrder returns the rank of text in a file with some tags, for readers
// in a project.
type projectOrder func(path string, tags []string) int

// The ranks of text.
const (
	ownProject   = iota
	noProject    // belongs to no project
	otherProject // belongs to other projects only
)

// orderFor returns the order for readers in a project. Text belongs to the
// projects in its tags, and to those whose pattern of paths matches its file. If
// project is empty, all text has the same rank.
func (m readOps) orderFor(project string) projectOrder {
	if project == "" {
		return func(string, []string) int { return noProject }
	}
	own := projectTag + strings.ToLower(project)
	return func(path string, tags []string) int {
		rank := noProject
		for _, tag := range tags {
			switch name, ok := strings.CutPrefix(tag, projectTag); {
			case tag == own:
				return ownProject
			case ok && name != "":
				rank = otherProject
			}
		}
		if m.ProjectsOf == nil {
			return rank
		}
		for _, name := range m.ProjectsOf(path) {
			if projectTag+name == own {
				return ownProject
			}
			rank = otherProject
		}
		return rank
	}
}

// rankDoc returns the best rank of a readable entry of a file.
func (o projectOrder) rankDoc(c Call, doc *memory.Document) int {
	rank := otherProject + 1
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Readable(c.View) && e.Block != memory.EmptyHeading {
			rank = min(rank, o(doc.Place.Path, e.Tags))
		}
	}
	if rank <= otherProject {
		return rank
	}
	var tags []string // of a file with frontmatter only
	if c.View.Readable(doc.Own) {
		for _, tag := range doc.Front.Tags {
			tags = append(tags, memory.FoldTag(tag))
		}
	}
	return o(doc.Place.Path, tags)
}
