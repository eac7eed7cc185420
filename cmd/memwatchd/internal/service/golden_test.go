package service

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is made to the golden files")

// TestServices compares the services in testdata/services with the texts that
// follow them.
func TestServices(t *testing.T) {
	for name, s := range services(t) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "services", name+".txtar")
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			made := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			add := func(files []File, err error) {
				if err != nil {
					files = []File{{"error", err.Error() + "\n"}}
				}
				for _, f := range files {
					made.Files = append(made.Files, txtar.File{Name: f.Name, Data: []byte(f.Text)})
				}
			}
			add(s.Units())
			agent, err := s.LaunchdAgent("/Users/ana")
			add([]File{agent}, err)
			got := txtar.Format(made)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(a)), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func services(t *testing.T) map[string]*Service {
	t.Helper()
	files, err := filepath.Glob("testdata/services/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	services := map[string]*Service{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := new(Service)
		d := json.NewDecoder(bytes.NewReader(a.Files[0].Data))
		d.DisallowUnknownFields()
		if err := d.Decode(s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		services[strings.TrimSuffix(filepath.Base(file), ".txtar")] = s
	}
	return services
}

// TestUnmodified checks that Unmodified accepts every unit and rejects each change
// of one byte.
func TestUnmodified(t *testing.T) {
	for name, s := range services(t) {
		files, err := s.Units()
		if err != nil {
			continue
		}
		for _, f := range files {
			if !Unmodified(f.Text) {
				t.Errorf("%s: %s counts as modified", name, f.Name)
			}
			for i := range f.Text {
				if Unmodified(f.Text[:i] + f.Text[i+1:]) {
					t.Errorf("%s: %s without byte %d counts as unmodified", name, f.Name, i)
				}
			}
			if Unmodified(f.Text + "#") {
				t.Errorf("%s: %s with an additional line counts as unmodified", name, f.Name)
			}
		}
	}
	if Unmodified("[Unit]\nDescription=memwatchd\n") {
		t.Error("a unit without a digest counts as unmodified")
	}
}

// TestOwnsUnit checks that a service owns its sockets, those of former
// configurations too, and none of other services.
func TestOwnsUnit(t *testing.T) {
	for _, c := range []struct {
		memory, unit string
		want         bool
	}{
		{"memwatchd", "memwatchd.service", true},
		{"memwatchd", "memwatchd.socket", true},
		{"memwatchd", "memwatchd:12.socket", true},
		{"memwatchd", "memwatchd-work.service", false},
		{"memwatchd", "memwatchd-work.socket", false},
		{"memwatchd", "memwatchd:x.socket", false},
		{"memwatchd", "memwatchd:2.socket.d", false},
		{"work", "memwatchd-work.service", true},
		{"work", "memwatchd-work:2.socket", true},
		{"work", "memwatchd-work.2.socket", false},
		{"work", "memwatchd.socket", false},
	} {
		if got := (&Service{Name: c.memory}).OwnsUnit(c.unit); got != c.want {
			t.Errorf("%s owns %s: got %v, want %v", c.memory, c.unit, got, c.want)
		}
	}
}

// FuzzAgent checks that the property list of an agent is valid XML and contains
// its strings unchanged.
func FuzzAgent(f *testing.F) {
	f.Add("work", "/a & b/<c>", "--dir", "/x\"y'")
	f.Fuzz(func(t *testing.T, name, program, arg, more string) {
		s := &Service{Name: name, Program: program, Args: []string{arg, more}}
		agent, err := s.LaunchdAgent("/Users/ana")
		if err != nil {
			t.Skip()
		}
		got := map[string]bool{}
		d := xml.NewDecoder(strings.NewReader(agent.Text))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, agent.Text)
			}
			if text, ok := token.(xml.CharData); ok {
				got[string(text)] = true
			}
		}
		for _, want := range []string{program, arg, more} {
			// XML has no way to write a few characters.
			if want != "" && !strings.ContainsAny(want, "\ufffd\ufffe\uffff") && !got[want] {
				t.Errorf("%q is lost in\n%s", want, agent.Text)
			}
		}
	})
}
