package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/memwatchd/memwatchd/api"
)

// The methods are in the order of the table in package api.

// Search returns the entries that match a query, the best match first.
func (c *Client) Search(ctx context.Context, r api.SearchRequest) (*api.SearchAnswer, error) {
	return executeTyped[api.SearchAnswer](ctx, c, r)
}

// Get returns a file, some of its lines, or one entry. A missing file and one
// that the scope may not read both give the code [api.NotFound].
func (c *Client) Get(ctx context.Context, r api.GetRequest) (*api.GetAnswer, error) {
	return executeTyped[api.GetAnswer](ctx, c, r)
}

// Recent lists the newest entries.
func (c *Client) Recent(ctx context.Context, r api.RecentRequest) (*api.SearchAnswer, error) {
	return executeTyped[api.SearchAnswer](ctx, c, r)
}

// Related lists the links from and to a file or an entry.
func (c *Client) Related(ctx context.Context, r api.RelatedRequest) (*api.RelatedAnswer, error) {
	return executeTyped[api.RelatedAnswer](ctx, c, r)
}

// Load returns the text that an agent reads at the start of a session.
func (c *Client) Load(ctx context.Context, r api.LoadRequest) (*api.LoadAnswer, error) {
	return executeTyped[api.LoadAnswer](ctx, c, r)
}

// Context renders a block of memory for a prompt.
func (c *Client) Context(ctx context.Context, r api.ContextRequest) (*api.ContextAnswer, error) {
	return executeTyped[api.ContextAnswer](ctx, c, r)
}

// Todos lists tasks, each with all its copies.
func (c *Client) Todos(ctx context.Context, r api.TodosRequest) (*api.TodosAnswer, error) {
	return executeTyped[api.TodosAnswer](ctx, c, r)
}

// Todo ticks all copies of a task, or reopens them. If more than one task
// matches, the error has the code [api.Conflict].
func (c *Client) Todo(ctx context.Context, r api.TodoRequest) (*api.TodoAnswer, error) {
	return executeTyped[api.TodoAnswer](ctx, c, r)
}

// Complete lists names with a prefix.
func (c *Client) Complete(ctx context.Context, r api.CompleteRequest) (*api.CompleteAnswer, error) {
	return executeTyped[api.CompleteAnswer](ctx, c, r)
}

// Files lists the readable files, or sums their entries and words.
func (c *Client) Files(ctx context.Context, r api.FilesRequest) (*api.FilesAnswer, error) {
	return executeTyped[api.FilesAnswer](ctx, c, r)
}

// TodoAdd adds a task to the log of today.
func (c *Client) TodoAdd(ctx context.Context, r api.TodoAddRequest) (*api.TodoAddAnswer, error) {
	return executeTyped[api.TodoAddAnswer](ctx, c, r)
}

// Note appends a note to the log of the day.
func (c *Client) Note(ctx context.Context, r api.NoteRequest) (*api.NoteAnswer, error) {
	return executeTyped[api.NoteAnswer](ctx, c, r)
}

// Capture appends one to three list items to the log of the day.
func (c *Client) Capture(ctx context.Context, r api.CaptureRequest) (*api.CaptureAnswer, error) {
	return executeTyped[api.CaptureAnswer](ctx, c, r)
}

// Remember stores a fact permanently, at the request of the user.
func (c *Client) Remember(ctx context.Context, r api.RememberRequest) (*api.RememberAnswer, error) {
	return executeTyped[api.RememberAnswer](ctx, c, r)
}

// Forget removes entries permanently, in two steps: the first request lists the
// entries, the second one confirms their removal.
func (c *Client) Forget(ctx context.Context, r api.ForgetRequest) (*api.ForgetAnswer, error) {
	return executeTyped[api.ForgetAnswer](ctx, c, r)
}

// WipeSubject deletes all memory of a subject.
func (c *Client) WipeSubject(ctx context.Context, r api.WipeRequest) (*api.WipeAnswer, error) {
	return executeTyped[api.WipeAnswer](ctx, c, r)
}

// Session merges a draft into the file of its session.
func (c *Client) Session(ctx context.Context, r api.SessionRequest) (*api.SessionAnswer, error) {
	return executeTyped[api.SessionAnswer](ctx, c, r)
}

// Edit replaces a text that occurs exactly once in a file. If the text is
// missing, the error has the code [api.NotFound]; if it occurs more than once,
// [api.Conflict].
func (c *Client) Edit(ctx context.Context, r api.EditRequest) (*api.EditAnswer, error) {
	return executeTyped[api.EditAnswer](ctx, c, r)
}

// Write creates a file or replaces its content. If the file has changed since
// the hash in the request, the error has the code [api.Conflict].
func (c *Client) Write(ctx context.Context, r api.WriteRequest) (*api.EditAnswer, error) {
	return executeTyped[api.EditAnswer](ctx, c, r)
}

// ItemPut stores or replaces an item.
func (c *Client) ItemPut(ctx context.Context, r api.ItemPutRequest) (*api.ItemAnswer, error) {
	return executeTyped[api.ItemAnswer](ctx, c, r)
}

// ItemGet returns an item by its key. If there is none in the scope, the error
// has the code [api.NotFound].
func (c *Client) ItemGet(ctx context.Context, r api.ItemGetRequest) (*api.ItemAnswer, error) {
	return executeTyped[api.ItemAnswer](ctx, c, r)
}

// ItemList lists the items of one namespace or of all namespaces.
func (c *Client) ItemList(ctx context.Context, r api.ItemListRequest) (*api.ItemListAnswer, error) {
	return executeTyped[api.ItemListAnswer](ctx, c, r)
}

// ItemDelete deletes an item.
func (c *Client) ItemDelete(ctx context.Context, r api.ItemDeleteRequest) (*api.ItemDeleteAnswer, error) {
	return executeTyped[api.ItemDeleteAnswer](ctx, c, r)
}

// ItemDeleteNamespace deletes all items of a namespace.
func (c *Client) ItemDeleteNamespace(ctx context.Context, r api.ItemDeleteNamespaceRequest) (*api.ItemDeleteAnswer,
	error) {
	return executeTyped[api.ItemDeleteAnswer](ctx, c, r)
}

// ItemVisibility sets the visibility of an item.
func (c *Client) ItemVisibility(ctx context.Context, r api.ItemVisibilityRequest) (*api.ItemAnswer, error) {
	return executeTyped[api.ItemAnswer](ctx, c, r)
}

// ItemImport stores the items of JSON lines, of any subjects.
func (c *Client) ItemImport(ctx context.Context, r api.ItemImportRequest) (*api.ItemImportAnswer, error) {
	return executeTyped[api.ItemImportAnswer](ctx, c, r)
}

// Import writes records of another program to private files.
func (c *Client) Import(ctx context.Context, r api.ImportRequest) (*api.ImportAnswer, error) {
	return executeTyped[api.ImportAnswer](ctx, c, r)
}

// Export returns a page of all readable text.
func (c *Client) Export(ctx context.Context, r api.ExportRequest) (*api.ExportAnswer, error) {
	return executeTyped[api.ExportAnswer](ctx, c, r)
}

// Resolve returns the subject of an external key.
func (c *Client) Resolve(ctx context.Context, r api.ResolveRequest) (*api.IdentityAnswer, error) {
	return executeTyped[api.IdentityAnswer](ctx, c, r)
}

// Link links an external key to a subject.
func (c *Client) Link(ctx context.Context, r api.LinkRequest) (*api.IdentityAnswer, error) {
	return executeTyped[api.IdentityAnswer](ctx, c, r)
}

// Unlink removes a link.
func (c *Client) Unlink(ctx context.Context, r api.UnlinkRequest) (*api.IdentityAnswer, error) {
	return executeTyped[api.IdentityAnswer](ctx, c, r)
}

// Links lists all links.
func (c *Client) Links(ctx context.Context, r api.LinksRequest) (*api.LinksAnswer, error) {
	return executeTyped[api.LinksAnswer](ctx, c, r)
}

// Profile writes a summary of the subject.
func (c *Client) Profile(ctx context.Context, r api.ProfileRequest) (*api.SummaryAnswer, error) {
	return executeTyped[api.SummaryAnswer](ctx, c, r)
}

// Project writes a summary of a project.
func (c *Client) Project(ctx context.Context, r api.ProjectRequest) (*api.SummaryAnswer, error) {
	return executeTyped[api.SummaryAnswer](ctx, c, r)
}

// Compress summarizes and archives old sessions and daily notes.
func (c *Client) Compress(ctx context.Context, r api.CompressRequest) (*api.CompressAnswer, error) {
	return executeTyped[api.CompressAnswer](ctx, c, r)
}

// Journal lists the changes to files, with their reasons.
func (c *Client) Journal(ctx context.Context, r api.JournalRequest) (*api.JournalAnswer, error) {
	return executeTyped[api.JournalAnswer](ctx, c, r)
}

// Conflicts lists the conflict copies that sync tools left.
func (c *Client) Conflicts(ctx context.Context, r api.ConflictsRequest) (*api.ConflictsAnswer, error) {
	return executeTyped[api.ConflictsAnswer](ctx, c, r)
}

// ConflictsMerge merges conflict copies into their files.
func (c *Client) ConflictsMerge(ctx context.Context, r api.ConflictsMergeRequest) (*api.ConflictsAnswer, error) {
	return executeTyped[api.ConflictsAnswer](ctx, c, r)
}

// ShareStatus returns the state of the shared store.
func (c *Client) ShareStatus(ctx context.Context, r api.ShareStatusRequest) (*api.ShareStatusAnswer, error) {
	return executeTyped[api.ShareStatusAnswer](ctx, c, r)
}

// SharePush publishes changes to the shared store now.
func (c *Client) SharePush(ctx context.Context, r api.SharePushRequest) (*api.SharePushAnswer, error) {
	return executeTyped[api.SharePushAnswer](ctx, c, r)
}

// ShareForgetHost removes the entries of another machine from the shared store.
func (c *Client) ShareForgetHost(ctx context.Context, r api.ShareForgetRequest) (*api.ShareForgetAnswer, error) {
	return executeTyped[api.ShareForgetAnswer](ctx, c, r)
}

// Undo undoes changes to files.
func (c *Client) Undo(ctx context.Context, r api.UndoRequest) (*api.UndoAnswer, error) {
	return executeTyped[api.UndoAnswer](ctx, c, r)
}

// Compact archives entries of long-term files to bring the files within their
// limits.
func (c *Client) Compact(ctx context.Context, r api.CompactRequest) (*api.CompactAnswer, error) {
	return executeTyped[api.CompactAnswer](ctx, c, r)
}

// Restore restores an archived entry to its original place.
func (c *Client) Restore(ctx context.Context, r api.RestoreRequest) (*api.RestoreAnswer, error) {
	return executeTyped[api.RestoreAnswer](ctx, c, r)
}

// Check compares the files with the index and lists the problems of files.
func (c *Client) Check(ctx context.Context, r api.CheckRequest) (*api.CheckAnswer, error) {
	return executeTyped[api.CheckAnswer](ctx, c, r)
}

// Sync waits until everything saved is indexed.
func (c *Client) Sync(ctx context.Context, r api.SyncRequest) (*api.SyncAnswer, error) {
	return executeTyped[api.SyncAnswer](ctx, c, r)
}

// Rebuild builds a new index from the files.
func (c *Client) Rebuild(ctx context.Context, r api.RebuildRequest) (*api.RebuildAnswer, error) {
	return executeTyped[api.RebuildAnswer](ctx, c, r)
}

// Status returns the state of the daemon, its files and its index.
func (c *Client) Status(ctx context.Context, r api.StatusRequest) (*api.StatusAnswer, error) {
	return executeTyped[api.StatusAnswer](ctx, c, r)
}

// Embed returns the state of semantic search.
func (c *Client) Embed(ctx context.Context, r api.EmbedRequest) (*api.EmbedAnswer, error) {
	return executeTyped[api.EmbedAnswer](ctx, c, r)
}

// Operations returns the operations that the listener permits.
func (c *Client) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsAnswer, error) {
	return executeTyped[api.OperationsAnswer](ctx, c, r)
}

// Events calls f for each event, with the results of [Client.Stream].
func (c *Client) Events(ctx context.Context, r api.EventsRequest, f func(*api.Event) error) error {
	return streamTyped(ctx, c, r, f)
}

// executeTyped executes the operation of a typed request.
func executeTyped[Answer, R any](ctx context.Context, c *Client, r R) (*Answer, error) {
	req := api.RequestOf(r)
	raw, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	return decodeAnswer[Answer](req, raw)
}

// streamTyped executes the operation of a typed request with an endless answer.
func streamTyped[Answer, R any](ctx context.Context, c *Client, r R, f func(*Answer) error) error {
	req := api.RequestOf(r)
	return c.Stream(ctx, req, func(raw json.RawMessage) error {
		answer, err := decodeAnswer[Answer](req, raw)
		if err != nil {
			return err
		}
		return f(answer)
	})
}

func decodeAnswer[Answer any](req *api.Request, raw json.RawMessage) (*Answer, error) {
	answer := new(Answer)
	if err := json.Unmarshal(raw, answer); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", req.Operation().Name, err)
	}
	return answer, nil
}
