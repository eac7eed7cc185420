package memory

import (
	"slices"
	"strings"
	"time"
)

// ClockHeading is the heading of what is noted at a time: the time of day, as the
// last heading that has one writes it, 12 hours with AM and PM where there is
// none; behind it the topic, if there is one.
func (d *Document) ClockHeading(at time.Time, topic string) string {
	format := "3:04 PM"
	if d != nil && d.fullClock() {
		format = "15:04"
	}
	s := at.Format(format)
	if topic = HeadingText(topic); topic != "" {
		s += " - " + topic
	}
	return s
}

// fullClock reports whether the last heading with a time of day counts 24 hours.
func (d *Document) fullClock() bool {
	for _, h := range slices.Backward(d.Headings) {
		if _, _, _, ok := headingClock(h.Text); ok {
			g := clockRE.FindStringSubmatch(strings.TrimLeft(h.Text, " \t*_"))
			return g[4] == ""
		}
	}
	return false
}

// ParseClock reads a time of day, such as 10:30 AM or 22:30.
func ParseClock(s string) (hour, minute int, ok bool) {
	hour, minute, _, ok = headingClock(s)
	return hour, minute, ok && clockRE.FindString(s) == s && strings.ContainsAny(s[len(s)-1:], "0123456789mM.")
}
