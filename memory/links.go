package memory

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// hasScheme reports whether s starts with a URL scheme.
func hasScheme(s string) bool { return schemeRE.MatchString(s) }

var schemeRE = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// resolveLink sets the possible paths of a link: from the root, from the file, from
// the places of the file before archiving, and the archive paths of all these.
// Paths outside the root are ignored.
func (p *docParser) resolveLink(link *Link) {
	if link.Target == "" || hasScheme(link.Target) || strings.HasPrefix(link.Target, "//") {
		return
	}
	target, err := url.PathUnescape(link.Target)
	if err != nil {
		target = link.Target
	}
	if link.wiki && path.Ext(target) != ".md" {
		target += ".md"
	}
	add := func(s string) {
		s = path.Clean(s)
		if s != "." && s != ".." && !strings.HasPrefix(s, "../") && !strings.HasPrefix(s, "/") &&
			strings.IndexByte(s, 0) < 0 && !slices.Contains(link.Paths, s) {
			link.Paths = append(link.Paths, s)
		}
	}
	link.Paths = make([]string, 0, 4)
	rooted := strings.TrimLeft(target, "/")
	add(rooted)
	if rooted == target {
		dir, _ := path.Split(p.d.Place.Path)
		add(dir + target)
		for _, dir := range p.d.Place.earlierDirs() {
			add(dir + target)
		}
	}
	for _, s := range link.Paths[:len(link.Paths):len(link.Paths)] {
		p.addArchived(s, add)
	}
}

// addArchived adds the archive paths of the file at a path.
func (p *docParser) addArchived(s string, add func(string)) {
	if below, ok := strings.CutPrefix(s, longtermsDir+"/"); ok {
		dir, rest, ok := strings.Cut(below, "/")
		if ok && !strings.HasPrefix(rest, archiveDir+"/") {
			add(longtermsDir + "/" + dir + "/" + archiveDir + "/" + rest)
		}
		return
	}
	s = strings.TrimPrefix(s, memoryDir+"/")
	day, name, ok := strings.Cut(s, "/")
	if !ok { // a daily note is archived in its day, too
		base, md := trimMD(s)
		day, ok = DailyName(base)
		ok = ok && md
		name = s
	}
	if !ok || !IsDay(day) || strings.Contains(name, "/") {
		return
	}
	if strings.HasPrefix(p.d.Place.Path, longtermsDir+"/") {
		add(archivedDay(p.d.Place.Dir, day, name))
	}
	if ValidSubject(p.d.Front.SubjectID) == nil {
		add(archivedDay(SubjectDir(p.d.Front.SubjectID), day, name))
	}
	add(archivedDay(p.dir, day, name))
}

// earlierDirs returns the directories that may have contained an archived file.
func (p Place) earlierDirs() []string {
	switch {
	case p.isDailyNote():
		return []string{memoryDir + "/"}
	case p.Kind == Archive && p.Day != "":
		return []string{p.Day + "/", memoryDir + "/" + p.Day + "/"}
	}
	return nil
}
