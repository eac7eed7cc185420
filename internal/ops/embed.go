package ops

import (
	"context"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// errNoEndpoint reports that no embeddings endpoint is configured.
var errNoEndpoint = api.Errorf(api.Unavailable, "no embeddings endpoint is configured").
	WithHint("set embed.endpoint and embed.model")

// embed returns the state of semantic search.
func (m adminOps) embed(ctx context.Context, _ Call, r *api.EmbedRequest) (*api.EmbedAnswer, error) {
	answer := &api.EmbedAnswer{Status: m.Indexer.Report().Embed}
	if !r.Plan {
		if answer.Status == nil {
			return nil, errNoEndpoint
		}
		return answer, nil
	}
	answer.Plan = new(api.EmbedPlan)
	type text struct {
		partition memory.Partition
		key       index.TextKey
	}
	counted := map[text]bool{}
	for _, f := range m.Index.Files(func(*index.FileInfo) bool { return true }) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		doc, err := m.Files.Load(f.Path)
		if err != nil {
			continue // removed
		}
		for t := range index.Texts(doc) {
			if counted[text{t.Partition, t.Key}] {
				continue
			}
			counted[text{t.Partition, t.Key}] = true
			amount := &answer.Plan.Private
			if t.Partition.Visibility == memory.PublicOK {
				amount = &answer.Plan.Public
			}
			amount.Texts++
			amount.Characters += utf8.RuneCountInString(t.Text)
			amount.Tokens += (len(t.Text) + 3) / 4
		}
	}
	return answer, nil
}
