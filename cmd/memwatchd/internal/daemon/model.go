package daemon

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// openModel returns the client of the configured model, or nil if there is none.
func (d *daemon) openModel() (client *llm.Client, err error) {
	l := &d.config.LLM
	if l.Endpoint == "" {
		return nil, nil
	}
	client = &llm.Client{Endpoint: l.Endpoint, Model: l.Model, Timeout: d.config.Tuning.ModelTimeout}
	client.Key, err = openKey("llm.key_file", l.KeyFile)
	d.warnUnencrypted("model", l.Endpoint)
	return client, err
}

// openKey returns a function that reads the key in a file, or nil if none is named. An
// unreadable key is an error, because the user who configured it is still present at
// startup.
func openKey(setting, path string) (func() (string, error), error) {
	if path == "" {
		return nil, nil
	}
	if _, err := config.ReadKey(path); err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return func() (string, error) { return config.ReadKey(path) }, nil
}

// warnUnencrypted warns if requests to a server are not encrypted.
func (d *daemon) warnUnencrypted(server, address string) {
	if u, err := url.Parse(address); err == nil && config.IsExposed(u) {
		d.logger.Warn("requests to the "+server+" are not encrypted", "host", u.Hostname())
	}
}

// maySendToModel reports whether a text may be sent to the model: private text only
// if that is configured, text with a credential never.
func (d *daemon) maySendToModel(v memory.Visibility, text string) bool {
	return (v == memory.PublicOK || d.config.LLM.Private) && secrets.MatchingRule(text) == ""
}

// checkModelText returns an error if a text from the model cannot be written.
func checkModelText(text string) error {
	if secrets.MatchingRule(text) != "" {
		return errors.New("contains a credential or a redaction")
	}
	return memory.CheckText(text)
}

// modelStatus returns the status of the model's client; nil if there is none.
func (d *daemon) modelStatus() *api.ModelStatus {
	if d.model == nil {
		return nil
	}
	s := d.model.Status()
	s.Private = d.config.LLM.Private
	return &s
}
