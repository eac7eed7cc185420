package todosync

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Catalogue is what every box was when it was last seen. The zero value has
// seen nothing. It is not safe for concurrent use.
type Catalogue struct {
	// Since is the first day of which everything was seen. What is older is
	// learnt without a conclusion.
	Since string
	files map[string]*File
}

// File is what is known of a file, nil for nothing. It must not be modified.
func (c *Catalogue) File(path string) *File { return c.files[path] }

// Files lists what is known, by path.
func (c *Catalogue) Files() []*File {
	return slices.SortedFunc(maps.Values(c.files), byPath)
}

func byPath(a, b *File) int { return strings.Compare(a.Path, b.Path) }

// clone is a catalogue that can be changed without changing this one.
func (c *Catalogue) clone() *Catalogue { return &Catalogue{c.Since, maps.Clone(c.files)} }

// Learn makes the catalogue match what files are now; they are not modified. Of
// one that is gone nothing is needed but its path, and that it is gone. It
// returns what became done, in the order of paths and lines, and where files
// went that have moved.
//
// The result depends on the files alone, not on their order. A box that becomes
// what one of the wishes wanted is ticked, and completes nothing else. Nor does
// anything in files that are again what they once were, if there are several:
// that is an older state of all that has been brought back, as by git.
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
	// Each is compared with what was known before any of them was learnt.
	before := make([]*File, len(files))
	again := 0
	for i, f := range files {
		if f.Gone {
			continue
		}
		if before[i] = l.origin(f); f.once(before[i]) {
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

// Forget drops what is older than a day.
func (c *Catalogue) Forget(first string) {
	maps.DeleteFunc(c.files, func(_ string, f *File) bool { return f.Day != "" && f.Day < first })
	c.Since = max(c.Since, first)
}

// untick makes the boxes of a file open again that wishes ticked.
func (c *Catalogue) untick(path string, wishes []Wish, r *Rules) {
	f := c.files[path]
	if f == nil {
		return
	}
	now := *f
	now.Boxes = slices.Clone(f.Boxes)
	for i := range wishes {
		for _, n := range r.candidates(&now, &wishes[i].Done) {
			if state := &now.Boxes[n].State; *state == Ticked || *state == Kept {
				*state = Open
			}
		}
	}
	c.files[path] = &now
}

// A learning is one change of the catalogue.
type learning struct {
	*Catalogue
	wishes []Wish
	rules  *Rules
	lost   map[Digest][]*File // what is gone, by content, then by path
	left   []*File            // what has just gone, by path
	moved  map[string]string  // from → to
	done   []Copy

	broughtBack bool // several files are what they once were
}

// gone keeps what a file was: it may come back, or turn up elsewhere.
func (l *learning) gone(path string) {
	if f := l.files[path]; f != nil && !f.Gone {
		was := *f
		was.Gone = true
		l.files[path] = &was
		l.left = append(l.left, &was)
	}
}

// origin is what a file was: what was here; else, what was the same byte for byte
// and is gone, or the same session and has just gone. What has just gone, and
// was the same byte for byte, comes first: it was moved over what was here.
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

// past is how many versions of a file are known again.
const past = 8

// once reports whether a file is what it was some time before it was last seen.
func (f *File) once(was *File) bool {
	return was != nil && was.Hash != f.Hash && slices.Contains(was.Past, f.Hash)
}

// pastOf is what a file was before, given what it was last.
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

// wished reports whether a box has become what a wish wanted.
func (l *learning) wished(f *File, box int) bool {
	c := f.Copy(box)
	return slices.ContainsFunc(l.wishes, func(w Wish) bool { return w.Path == f.Path && l.rules.Same(&w.Done, &c) })
}

// compare gives the boxes of a file the states that they had, and returns those
// that are done and were not. A box is known again by all that is known of it, else by its
// id, its words and where they stand, or its words. Of boxes that are alike, as many as
// were done are not news.
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
		// First those that are as they were, then those that are not.
		for _, same := range []bool{true, false} {
			for i := range now.Boxes {
				b := &now.Boxes[i]
				k, ok := keyOf(b)
				if !ok || settled[i] {
					continue
				}
				j := slices.IndexFunc(old[k], func(j int) bool { return !used[j] && (was.Boxes[j].State.done() == b.State.done()) == same })
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
