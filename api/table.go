package api

// Operations is the table of all operations, in the order of help.
var Operations = []*Operation{
	Describe[SearchRequest, SearchAnswer](Operation{
		Name: "search", Summary: "Find entries by their words",
		Example: `certificate expired`, ReadOnly: true,
	}),
	Describe[GetRequest, GetAnswer](Operation{
		Name: "get", Summary: "Show a file, some of its lines, or one entry",
		Example: "MEMORY.md", ReadOnly: true,
	}),
	Describe[RecentRequest, SearchAnswer](Operation{
		Name: "recent", Summary: "List the newest entries",
		Example: "48", ReadOnly: true,
	}),
	Describe[RelatedRequest, RelatedAnswer](Operation{
		Name: "related", Summary: "List the links from and to a file or an entry",
		Example: "MEMORY.md", ReadOnly: true,
	}),
	Describe[LoadRequest, LoadAnswer](Operation{
		Name: "load", Summary: "Show what an agent reads when a session starts",
		Example: "--session cli_1", ReadOnly: true,
	}),
	Describe[ContextRequest, ContextAnswer](Operation{
		Name: "context", Summary: "Render a block of memory for a prompt",
		Example: "--format summary", ReadOnly: true,
	}),
	Describe[TodosRequest, TodosAnswer](Operation{
		Name: "todos", Summary: "List tasks, the same ones together",
		Command: "todo list", Example: "--state open", ReadOnly: true,
	}),
	Describe[TodoRequest, TodoAnswer](Operation{
		Name: "todo", Summary: "Tick a task wherever it stands, or open it again", Needs: InPrivate,
		Commands: []Command{{
			Words: "todo done", Summary: "Tick a task wherever it stands", Example: "Add an index on reports.created_at", Set: map[string]string{"state": "done"},
		}, {
			Words: "todo reopen", Summary: "Open a task again", Example: "Add an index on reports.created_at", Set: map[string]string{"state": "open"},
		}, {
			Words: "todo plan", Summary: "Show which boxes are going to be ticked because their task was done elsewhere, and what they wait for",
			Set: map[string]string{"dry_run": "true"}, Without: []string{"text", "id", "state", "session"},
		}},
	}),
	Describe[CompleteRequest, CompleteAnswer](Operation{
		Name: "complete", Summary: "List names that begin with a text: of files, subjects, namespaces, sessions, headings or tags",
		ReadOnly: true, Programs: true,
	}),
	Describe[NoteRequest, NoteAnswer](Operation{
		Name: "note", Summary: "Append a note to the log of the day", Needs: Someone,
		Example: `--topic "API design" REST, not GraphQL: the clients are simple`,
	}),
	Describe[CaptureRequest, CaptureAnswer](Operation{
		Name: "capture", Summary: "Append one to three bullets to the log of the day: what was asked for, or achieved", Needs: Someone,
		Example: `"The login works again" "It was the clock of the server"`,
	}),
	Describe[RememberRequest, RememberAnswer](Operation{
		Name: "remember", Summary: "Keep one thing for long, because the user asked for it", Needs: InPrivate,
		Commands: []Command{{
			Words: "remember", Summary: "Keep one thing for long", Example: `--title Editor "Neovim, since 2019"`,
			Set: map[string]string{"explicit": "true"}, // typing the command is the explicit request
		}},
	}),
	Describe[ForgetRequest, ForgetAnswer](Operation{
		Name: "forget", Summary: "Forget something for good: list what has a text, then remove some of it", Needs: InPrivate,
		Example: `"the old phone number"`, Long: true,
	}),
	Describe[SessionRequest, SessionAnswer](Operation{
		Name: "session", Summary: "Merge what a session has to say into its file, which everybody may read", Needs: Someone,
		Command: "session write", Example: `--session cli_1 '{"summary": "Chose a layout", "tasks": [{"text": "Write it down"}]}'`,
	}),
	Describe[EditRequest, EditAnswer](Operation{
		Name: "edit", Summary: "Replace a text in a file that has it once", Needs: InPrivate, Programs: true,
	}),
	Describe[WriteRequest, EditAnswer](Operation{
		Name: "write", Summary: "Make a file, or replace what is in one", Needs: InPrivate, Programs: true,
	}),
	Describe[ProfileRequest, SummaryAnswer](Operation{
		Name: "profile", Summary: "Sum up what is known of somebody, and say what that is based on", Needs: InPrivate,
		Example: "--evidence 2026-02-04/cli_1.md Prefers short answers",
	}),
	Describe[ProjectRequest, SummaryAnswer](Operation{
		Name: "project", Summary: "Sum up a project, and say what that is based on", Needs: InPrivate,
		Example: "--evidence 2026-02-04/cli_1.md atlas Ships in May",
	}),
	Describe[ItemPutRequest, ItemAnswer](Operation{
		Name: "item_put", Summary: "Keep something by a key", Needs: Someone,
		Command: "item put", Example: "profile timezone Asia/Shanghai",
	}),
	Describe[ItemGetRequest, ItemAnswer](Operation{
		Name: "item_get", Summary: "Show what is kept by a key",
		Command: "item get", Example: "profile timezone", ReadOnly: true,
	}),
	Describe[ItemListRequest, ItemListAnswer](Operation{
		Name: "item_list", Summary: "List what is kept by keys",
		Command: "item list", Example: "preference", ReadOnly: true,
	}),
	Describe[ItemDeleteRequest, ItemDeleteAnswer](Operation{
		Name: "item_delete", Summary: "Delete what is kept by a key", Needs: InPrivate,
		Command: "item delete", Example: "profile timezone",
	}),
	Describe[ItemDeleteNamespaceRequest, ItemDeleteAnswer](Operation{
		Name: "item_delete_namespace", Summary: "Delete all that is kept by keys of a namespace", Needs: InPrivate,
		Command: "item delete-namespace", Example: "task_state",
	}),
	Describe[ItemVisibilityRequest, ItemAnswer](Operation{
		Name: "item_visibility", Summary: "Say where what is kept by a key may be shown", Needs: InPrivate,
		Command: "item visibility", Example: "k3f9ab public_ok",
	}),
	Describe[ResolveRequest, IdentityAnswer](Operation{
		Name: "resolve", Summary: "Tell whose memory belongs to what a channel calls a user",
		Command: "identity resolve", Example: "telegram:123456", ReadOnly: true,
	}),
	Describe[LinkRequest, IdentityAnswer](Operation{
		Name: "link", Summary: "Link what a channel calls a user to a subject",
		Command: "identity link", Example: "telegram:123456 acct:42", Admin: true,
	}),
	Describe[UnlinkRequest, IdentityAnswer](Operation{
		Name: "unlink", Summary: "Take a link away",
		Command: "identity unlink", Example: "telegram:123456", Admin: true,
	}),
	Describe[LinksRequest, LinksAnswer](Operation{
		Name: "links", Summary: "List what is linked to whom",
		Command: "identity list", Admin: true, ReadOnly: true,
	}),
	Describe[CompressRequest, CompressAnswer](Operation{
		Name: "compress", Summary: "Sum up old sessions and daily notes, and archive them", Needs: TheOwner,
		Example: "--cutoff 7d --dry-run", Admin: true, Long: true,
	}),
	Describe[JournalRequest, JournalAnswer](Operation{
		Name: "journal", Summary: "List what was written to files, and why", Needs: TheOwner,
		Example: "--since 7d", Admin: true, ReadOnly: true,
	}),
	Describe[UndoRequest, UndoAnswer](Operation{
		Name: "undo", Summary: "Take back what was written to files", Needs: TheOwner,
		Example: "--since 1h --dry-run", Admin: true, Long: true,
	}),
	Describe[CompactRequest, CompactAnswer](Operation{
		Name: "compact", Summary: "Make room in long-term files: move what is least used to the archive", Needs: TheOwner,
		Example: "--dry-run --explain", Admin: true, Long: true,
	}),
	Describe[RestoreRequest, RestoreAnswer](Operation{
		Name: "restore", Summary: "Bring an archived entry back to where it was", Needs: InPrivate,
		Example: "_longterms/owner/_archive/2026-02.desk.md#wifi", Admin: true, Long: true,
	}),
	Describe[WipeRequest, WipeAnswer](Operation{
		Name: "wipe_subject", Summary: "Delete all that is remembered of a subject", Needs: InPrivate, Command: "item wipe",
		Example: "--subject acct:42 acct:42", Admin: true, Long: true, People: true,
	}),
	Describe[CheckRequest, CheckAnswer](Operation{
		Name: "check", Summary: "Compare files and index, and list what is wrong with files",
		Example: "--fix", Admin: true, Long: true,
	}),
	Describe[SyncRequest, SyncAnswer](Operation{
		Name: "sync", Summary: "Wait until everything that was saved is found",
		ReadOnly: true, Long: true,
	}),
	Describe[RebuildRequest, RebuildAnswer](Operation{
		Name: "rebuild", Summary: "Make the index anew from the files",
		Admin: true, Long: true,
	}),
	Describe[StatusRequest, StatusAnswer](Operation{
		Name: "status", Summary: "Tell how the daemon, its files and its index are doing",
		ReadOnly: true,
	}),
	Describe[OperationsRequest, OperationsAnswer](Operation{
		Name: "operations", Summary: "Tell what may be asked here, by this scope",
		ReadOnly: true, Programs: true, Always: true,
	}),
	Describe[EventsRequest, Event](Operation{
		Name: "events", Summary: "Tell what happens, as it happens",
		Admin: true, ReadOnly: true, Long: true, Stream: true,
	}),
}
