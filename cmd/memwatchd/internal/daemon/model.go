package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// openModel returns the client of the configured model, or nil if there is
// none. An unreadable key is an error, because the user who configured it is
// still present at startup.
func (d *daemon) openModel() (*llm.Client, error) {
	l := &d.config.LLM
	if l.Endpoint == "" {
		return nil, nil
	}
	client := &llm.Client{Endpoint: l.Endpoint, Model: l.Model, Timeout: d.config.Tuning.ModelTimeout}
	return client, d.prepareClient(client, l.KeyFile)
}

// prepareClient makes a client use the key in a file, if one is named. It warns if
// requests are not encrypted.
func (d *daemon) prepareClient(client *llm.Client, keyFile string) error {
	if keyFile != "" {
		client.Key = func() (string, error) { return config.ReadKey(keyFile) }
		if _, err := client.Key(); err != nil {
			return fmt.Errorf("%s.key_file: %w", cmp.Or(client.Setting, "llm"), err)
		}
	}
	if u, err := url.Parse(client.Endpoint); err == nil && config.IsExposed(u) {
		d.logger.Warn("requests to the model are not encrypted", "host", u.Hostname())
	}
	return nil
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
	s, l := d.model.Status(), &d.config.LLM
	return &api.ModelStatus{
		Endpoint: l.Endpoint, Model: l.Model, Private: l.Private,
		Requests: s.Requests, Failed: s.Failed, Failure: s.Failure, FailedAt: s.FailedAt.UTC(),
	}
}
