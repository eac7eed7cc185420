package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// A description contains the facts that the files of tools/packaging/ mention, so that
// each is written once: those of tools/packaging/about.json, and those of the release.
type description struct {
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Summary      string   `json:"summary"` // one line
	Description  string   `json:"description"`
	Homepage     string   `json:"homepage"`
	Repository   string   `json:"repository"` // owner and name
	Module       string   `json:"module"`
	Image        string   `json:"image"` // without a tag
	RegistryName string   `json:"registry_name"`
	License      string   `json:"license"` // SPDX
	Author       string   `json:"author"`
	Keywords     []string `json:"keywords"`

	Version   string     `json:"-"` // with v
	Number    string     `json:"-"` // the version without v
	Commit    string     `json:"-"`
	Time      string     `json:"-"` // of the commit, RFC 3339
	Platforms []platform `json:"-"`

	// For the packages of one platform.
	Platform platform `json:"-"`
	Arch     string   `json:"-"` // of the platform
	Dir      string   `json:"-"` // contains the files of a Linux package
	Plugin   string   `json:"-"` // directory of a plugin
}

// describe returns the description of the release. The program must have been
// built, because it contains the version.
func (m *maker) describe() (*description, error) {
	data, err := os.ReadFile(filepath.Join(m.source, "tools", "packaging", "about.json"))
	if err != nil {
		return nil, err
	}
	d := &description{}
	r := json.NewDecoder(bytes.NewReader(data))
	r.DisallowUnknownFields()
	if err := r.Decode(d); err != nil {
		return nil, fmt.Errorf("tools/packaging/about.json: %w", err)
	}
	d.Commit, err = output(m.source, nil, "git", "rev-parse", "HEAD")
	d.Version, d.Number = m.version, strings.TrimPrefix(m.version, "v")
	d.Time, d.Platforms = m.when.UTC().Format(time.RFC3339), platforms
	return d, err
}

func (d *description) on(p platform) *description {
	one := *d
	one.Platform, one.Arch = p, p.arch
	return &one
}

// render returns the files below a directory of tools/packaging/, which are templates
// of the description. Their names start with name.
func (m *maker) render(d *description, dir, name string) ([]file, error) {
	files, err := tree(filepath.Join(m.source, "tools", "packaging", filepath.FromSlash(dir)), name)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		t, err := template.New(f.name).Funcs(template.FuncMap{"json": quoteJSON}).Parse(string(f.data))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, d); err != nil {
			return nil, err
		}
		files[i].data = b.Bytes()
		if text := b.Bytes(); strings.HasSuffix(f.name, ".json") && !json.Valid(text) {
			return nil, fmt.Errorf("tools/packaging/%s: %s is not valid JSON", dir, f.name)
		}
	}
	return files, nil
}

func quoteJSON(v any) (string, error) {
	var b strings.Builder
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	err := w.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
