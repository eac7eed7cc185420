package main

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// nfpm writes deb and rpm packages. It is the last version whose modules all
// resolve through the module proxy.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0"

// materials returns the software bill of materials of a built program, in
// CycloneDX: the modules that the compiler recorded in it.
func (m *maker) materials(d *description, path string) ([]file, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	component := func(kind cyclonedx.ComponentType, name, version string) cyclonedx.Component {
		url := "pkg:golang/" + name + "@" + version
		return cyclonedx.Component{BOMRef: url, Type: kind, Name: name, Version: version, PackageURL: url}
	}
	components := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary, "std",
		strings.TrimPrefix(info.GoVersion, "go"))}
	for _, dep := range info.Deps {
		components = append(components, component(cyclonedx.ComponentTypeLibrary, dep.Path, dep.Version))
	}
	main := component(cyclonedx.ComponentTypeApplication, d.Module, d.Version)
	main.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: d.License}}}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: d.Time, Component: &main}
	bom.Components = &components
	var b bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, err
	}
	return []file{{name: fmt.Sprintf("%s-%s-%s.cdx.json", program, d.Version, d.Platform), data: b.Bytes()}}, nil
}

// node returns the npm package with the program for one platform.
func (m *maker) node(d *description, bin file) ([]file, error) {
	files, err := m.render(d, "npm/platform", "")
	if err != nil {
		return nil, err
	}
	bin.name = "bin/" + program
	return m.npm("memwatchd-npm-"+d.Platform.Node()+"-"+d.Number, append(files, bin))
}

func (m *maker) npm(name string, files []file) ([]file, error) {
	license, err := tree(filepath.Join(m.source, "LICENSE"), "LICENSE")
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].name = strings.TrimPrefix(files[i].name, "/")
	}
	packed, err := archive("package", append(files, license...), m.when)
	return []file{{name: name + ".tgz", data: packed}}, err
}

// bundle returns the MCP bundle for one platform.
func (m *maker) bundle(d *description, bin file) ([]file, error) {
	files, err := m.render(d, "mcp/manifest.json", "manifest.json")
	if err != nil {
		return nil, err
	}
	bin.name = "server/" + program
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range append(files, bin) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: m.when.UTC()}
		h.SetMode(0o644)
		if f.executable {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return []file{{name: fmt.Sprintf("%s-%s-%s.mcpb", program, d.Version, d.Platform), data: b.Bytes()}}, nil
}

// linux returns the deb and rpm packages for a platform of Linux.
func (m *maker) linux(d *description, contents []file) ([]file, error) {
	if d.Platform.os != "linux" {
		return nil, nil
	}
	d.Dir = filepath.Join(m.built, "linux-"+d.Arch)
	units, err := m.render(d, "linux", "linux")
	if err != nil {
		return nil, err
	}
	for _, f := range append(slices.Clone(contents), units...) {
		path := filepath.Join(d.Dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return nil, err
		}
		if err := os.Chtimes(path, m.when, m.when); err != nil {
			return nil, err
		}
	}
	var files []file
	for _, packager := range []string{"deb", "rpm"} {
		out := filepath.Join(d.Dir, program+"."+packager)
		env := []string{"CGO_ENABLED=0", "GOFLAGS=", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", m.when.Unix())}
		_, err := output(m.source, env, "go", "run", nfpm, "package", "--config",
			filepath.Join(d.Dir, "linux", "nfpm.yaml"),
			"--packager", packager, "--target", out)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: fmt.Sprintf("%s-%s-%s.%s", program, d.Version, d.Platform, packager),
			data: data})
	}
	return files, nil
}

// descriptions returns the files for registries and installers that contain no
// program.
func (m *maker) descriptions(d *description) ([]file, error) {
	main, err := m.render(d, "npm/main", "")
	if err != nil {
		return nil, err
	}
	for i := range main {
		main[i].executable = strings.HasSuffix(main[i].name, ".js")
	}
	files, err := m.npm("memwatchd-npm-"+d.Number, main)
	if err != nil {
		return nil, err
	}
	plugins, err := m.plugins(d)
	if err != nil {
		return nil, err
	}
	files = append(files, plugins)
	for _, name := range []string{"oci/compose.yaml", "homebrew/memwatchd.rb", "mcp/server.json"} {
		more, err := m.render(d, name, filepath.Base(name))
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	script, err := tree(filepath.Join(m.source, "tools", "packaging", "install.sh"), "install.sh")
	if err != nil {
		return nil, err
	}
	script[0].data = bytes.Replace(script[0].data, []byte("@VERSION@"), []byte(d.Version), 1)
	return append(files, script...), nil
}
