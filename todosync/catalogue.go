package todosync

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Catalogue holds the last seen state of every box. The zero value is an
// empty catalogue. A Catalogue is not safe for concurrent use.
type Catalogue struct {
	// Since is the first day with complete records. Completed boxes of earlier
	// days are recorded but complete no other box.
	Since string
	files map[string]*File
}

// Files returns all known files, sorted by path.
func (c *Catalogue) Files() []*File {
	return slices.SortedFunc(maps.Values(c.files), byPath)
}

func byPath(a, b *File) int { return strings.Compare(a.Path, b.Path) }

// clone returns a copy that can be changed independently.
func (c *Catalogue) clone() *Catalogue { return &Catalogue{c.Since, maps.Clone(c.files)} }

// Learn updates the catalogue with the current state of files, which it does
// not modify. A removed file needs only its path and Gone. Learn returns the
// newly completed boxes, ordered by path and line, and a map from the old to
// the new paths of moved files.
//
// The result depends only on the files, not on their order. A box that reaches
// the state requested by a wish becomes Ticked and completes no other box. If
// several files return to former versions, an older state of the tree was
// restored, for example by git, and their boxes complete nothing either.
func (c *Catalogue) Learn(files []*File, wishes []Wish, r *Rules) (done []Copy, moved map[string]string) {
	if c.files == nil {
		c.files = map[string]*File{}
	}
	files = slices.Clone(files)
	slices.SortFunc(files, byPath)
	l := learning{Catalogue: c, wishes: wishes, rules: r, lost: map[Digest][]*File{}, moved: map[string]string{}}
	for _, f := range files {
		if f.Gone {
			l.gone(f.Path)
		}
	}
	for _, f := range c.files {
		if f.Gone {
			l.lost[f.Hash] = append(l.lost[f.Hash], f)
		}
	}
	for _, list := range l.lost {
		slices.SortFunc(list, byPath)
	}
	// Compare each file with the state before any of the files was learnt.
	before := make([]*File, len(files))
	again := 0
	for i, f := range files {
		if f.Gone {
			continue
		}
		before[i] = l.origin(f)
		if f.once(before[i]) {
			again++
		}
	}
	l.broughtBack = again > 1
	for i, f := range files {
		if !f.Gone {
			l.learn(f, before[i])
		}
	}
	for from := range l.moved {
		if f := c.files[from]; f != nil && f.Gone {
			delete(c.files, from)
		}
	}
	return l.done, l.moved
}

// Forget removes the files of days before first.
func (c *Catalogue) Forget(first string) {
	maps.DeleteFunc(c.files, func(_ string, f *File) bool { return f.Day != "" && f.Day < first })
	c.Since = max(c.Since, first)
}

// untick reopens the boxes of a file that wishes ticked.
func (c *Catalogue) untick(path string, wishes []Wish, r *Rules) {
	f := c.files[path]
	if f == nil {
		return
	}
	now := *f
	now.Boxes = slices.Clone(f.Boxes)
	for i := range wishes {
		for _, n := range r.Candidates(&now, &wishes[i].Done) {
			if state := &now.Boxes[n].State; *state == Ticked || *state == Kept {
				*state = Open
			}
		}
	}
	c.files[path] = &now
}

// A learning is the state of one call of Learn.
type learning struct {
	*Catalogue
	wishes []Wish
	rules  *Rules
	lost   map[Digest][]*File // known missing files, by content, then by path
	left   []*File            // files that this call found missing, by path
	moved  map[string]string  // from → to
	done   []Copy

	broughtBack bool // several files returned to former versions
}

// gone keeps the last state of a missing file: the file may return or appear at
// another path.
func (l *learning) gone(path string) {
	if f := l.files[path]; f != nil && !f.Gone {
		was := *f
		was.Gone = true
		l.files[path] = &was
		l.left = append(l.left, &was)
	}
}

// origin returns the previous state of a file, or nil. It prefers a file with
// the same content that this call found missing, because that file was moved
// over the present path. Next is the state at the same path. Last are any
// missing file with the same content and a newly missing file of the same
// session.
func (l *learning) origin(f *File) *File {
	here := l.files[f.Path]
	byHash := func(list []*File) *File {
		i := slices.IndexFunc(list, func(was *File) bool { return was.Hash == f.Hash && was.Path != f.Path })
		if i < 0 {
			return nil
		}
		l.moved[list[i].Path] = f.Path
		return list[i]
	}
	if here != nil && here.Hash == f.Hash {
		return here
	}
	if was := byHash(l.left); was != nil {
		return was
	}
	if here != nil && !here.Gone {
		return here
	}
	if was := byHash(l.lost[f.Hash]); was != nil || here != nil {
		return cmp.Or(was, here)
	}
	for _, was := range l.left {
		if was.Session == f.Session && f.Session != "" && l.moved[was.Path] == "" {
			l.moved[was.Path] = f.Path
			return was
		}
	}
	return nil
}

func (l *learning) learn(f, was *File) {
	now := *f
	now.Boxes = slices.Clone(f.Boxes)
	if now.Day == "" {
		now.Boxes = slices.DeleteFunc(now.Boxes, func(b Box) bool { return b.ID == "" })
	}
	news := compare(&now, was)
	now.Past = pastOf(f, was)
	old := now.Day != "" && now.Day < l.Since || l.broughtBack && f.once(was)
	for _, i := range news {
		switch {
		case old:
		case l.wished(&now, i):
			now.Boxes[i].State = Ticked
		default:
			l.done = append(l.done, now.Copy(i))
		}
	}
	if len(now.Boxes) > 0 || was != nil {
		l.files[f.Path] = &now
	}
}

// past is the number of former versions kept per file.
const past = 8

// once reports whether a file has returned to a version older than its previous
// one.
func (f *File) once(was *File) bool {
	return was != nil && was.Hash != f.Hash && slices.Contains(was.Past, f.Hash)
}

// pastOf returns the former versions of a file, given its previous state.
func pastOf(f, was *File) []Digest {
	switch {
	case was == nil:
		return nil
	case was.Hash == f.Hash:
		return was.Past
	}
	list := slices.DeleteFunc(slices.Clone(was.Past), func(d Digest) bool { return d == was.Hash || d == f.Hash })
	list = append(list, was.Hash)
	return list[max(0, len(list)-past):]
}

// wished reports whether a box has reached the state requested by a wish.
func (l *learning) wished(f *File, box int) bool {
	c := f.Copy(box)
	return slices.ContainsFunc(l.wishes, func(w Wish) bool { return w.Path == f.Path && l.rules.Same(&w.Done, &c) })
}

// compare gives the boxes of a file their previous states and returns the newly
// completed ones. It matches a box by all its properties, then by id, then by
// text and position, then by text alone. Of identical boxes, as many as were
// done before are not new.
func compare(now, was *File) (news []int) {
	if was == nil {
		was = &File{}
	}
	type key struct {
		id, owner   string
		text, under Digest
		section     Section
	}
	keys := []func(*Box) (key, bool){
		func(b *Box) (key, bool) { return key{b.ID, b.Owner, b.Text, b.Under, b.Section}, true },
		func(b *Box) (key, bool) { return key{id: b.ID}, b.ID != "" },
		func(b *Box) (key, bool) { return key{text: b.Text, under: b.Under, section: b.Section}, true },
		func(b *Box) (key, bool) { return key{text: b.Text}, true },
	}
	settled, used := make([]bool, len(now.Boxes)), make([]bool, len(was.Boxes))
	for _, keyOf := range keys {
		old := map[key][]int{}
		for i := range was.Boxes {
			if k, ok := keyOf(&was.Boxes[i]); ok && !used[i] {
				old[k] = append(old[k], i)
			}
		}
		// Match boxes with an unchanged state first, then the others.
		for _, same := range []bool{true, false} {
			for i := range now.Boxes {
				b := &now.Boxes[i]
				k, ok := keyOf(b)
				if !ok || settled[i] {
					continue
				}
				j := slices.IndexFunc(old[k],
					func(j int) bool { return !used[j] && (was.Boxes[j].State.done() == b.State.done()) == same })
				if j < 0 {
					continue
				}
				j = old[k][j]
				settled[i], used[j] = true, true
				switch before := was.Boxes[j].State; {
				case same:
					b.State = before
				case b.State.done():
					news = append(news, i)
				case before == Ticked:
					b.State = Kept
				}
			}
		}
	}
	for i := range now.Boxes {
		if !settled[i] && now.Boxes[i].State.done() {
			news = append(news, i)
		}
	}
	slices.Sort(news)
	return news
}
