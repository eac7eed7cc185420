package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// account is the user and group of the process in the image. It has no name.
const account = 65532

// image returns an archive of an OCI layout with an image for each platform of
// Linux. The image contains nothing but the program and the directories that it
// writes to: the memory, and its state.
func (m *maker) image(d *description) ([]file, error) {
	index := mutate.IndexMediaType(v1.ImageIndex(empty.Index), types.OCIImageIndex)
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		one, err := m.platformImage(d.on(p))
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	dir := filepath.Join(m.built, "image")
	root, err := layout.Write(dir, empty.Index) // names the index of the platforms, as a registry does
	if err != nil {
		return nil, err
	}
	if err := root.AppendIndex(index); err != nil {
		return nil, err
	}
	files, err := tree(dir, "")
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].name = files[i].name[1:]
	}
	name := fmt.Sprintf("%s-%s-oci", program, d.Version)
	packed, err := archive(name, files, m.when)
	return []file{{name: name + ".tar.gz", data: packed}}, err
}

func (m *maker) platformImage(d *description) (v1.Image, error) {
	data, err := os.ReadFile(filepath.Join(m.built, d.Platform.String(), program))
	if err != nil {
		return nil, err
	}
	layer, err := m.layer(data)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON),
		types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	config := &v1.ConfigFile{
		Architecture: d.Arch, OS: d.Platform.os, Created: v1.Time{Time: m.when.UTC()},
		Config: v1.Config{
			User:       fmt.Sprintf("%d:%d", account, account),
			Entrypoint: []string{"/usr/bin/memwatchd"},
			Cmd:        []string{"serve"},
			WorkingDir: "/memory",
			Env: []string{
				"HOME=/state", "XDG_RUNTIME_DIR=/state/run", "MEMWATCHD_MEMORY_DIR=/memory",
				"PATH=/usr/bin",
			},
			Volumes: map[string]struct{}{"/memory": {}, "/state": {}},
			Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/memwatchd", "status"},
				Interval: time.Minute, StartPeriod: 10 * time.Second},
			Labels: map[string]string{
				"org.opencontainers.image.title":       d.Title,
				"org.opencontainers.image.description": d.Summary,
				"org.opencontainers.image.source":      d.Homepage,
				"org.opencontainers.image.licenses":    d.License,
				"org.opencontainers.image.version":     d.Number,
				"org.opencontainers.image.revision":    d.Commit,
				"io.modelcontextprotocol.server.name":  d.RegistryName,
			},
		},
	}
	// ConfigFile replaces the whole file, also the list of layers.
	layers, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS, config.History = layers.RootFS, []v1.History{{Created: config.Created, CreatedBy: "make dist"}}
	return mutate.ConfigFile(image, config)
}

// layer returns the layer with the program and the directories.
func (m *maker) layer(data []byte) (v1.Layer, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "usr/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "usr/bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "usr/bin/memwatchd", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "memory/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: account, Gid: account},
		{Name: "state/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: account, Gid: account},
		{Name: "state/run/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: account, Gid: account},
	} {
		h.ModTime = m.when
		if err := t.WriteHeader(&h); err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := t.Write(data); err != nil {
				return nil, err
			}
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}
