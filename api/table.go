package api

// Operations is the table of all operations, in the order of help.
var Operations = []*Operation{
	NewOperation[SearchRequest](Operation{
		Name: "search", Summary: "Search entries by words", ReadOnly: true,
		Commands: []Command{{
			Words: "search", Summary: "Search entries by words", Example: `certificate expired`,
		}, {
			Words: "find", Summary: "Search while you type, and open a hit in your editor", Example: "certificate",
			Without: []string{"phrase", "roots", "typing", "typos", "exclude", "limit", "offset", "mode",
				"recency_bias", "as_of",
				"all", "types", "any_tag", "sections", "state", "session", "contact", "count", "explain", "sync"},
		}},
	}),
	NewOperation[GetRequest](Operation{
		Name: "get", Summary: "Show a file, some of its lines, or one entry",
		Example: "MEMORY.md", ReadOnly: true,
	}),
	NewOperation[RecentRequest](Operation{
		Name: "recent", Summary: "List the newest entries",
		Example: "48", ReadOnly: true,
	}),
	NewOperation[RelatedRequest](Operation{
		Name: "related", Summary: "List the links from and to a file or an entry",
		Example: "MEMORY.md", ReadOnly: true,
	}),
	NewOperation[LoadRequest](Operation{
		Name: "load", Summary: "Return the files for the start of a session, with their text",
		Example: "--session cli_1", ReadOnly: true,
	}),
	NewOperation[ContextRequest](Operation{
		Name: "context", Summary: "Render memory as a text block for a prompt",
		Example: "--max-chars 5000", ReadOnly: true,
	}),
	NewOperation[TodosRequest](Operation{
		Name: "todos", Summary: "List tasks, with the copies of each task grouped",
		Command: "todo list", Example: "--state open", ReadOnly: true,
	}),
	NewOperation[TodoRequest](Operation{
		Name: "todo", Summary: "Mark a task as done in all its files, or reopen it", Needs: InPrivate, InInbox: true,
		Commands: []Command{{
			Words: "todo done", Summary: "Mark a task as done in all its files",
			Example: "Add an index on reports.created_at", Set: map[string]string{"state": "done"},
		}, {
			Words: "todo reopen", Summary: "Reopen a task", Example: "Add an index on reports.created_at",
			Set: map[string]string{"state": "open"},
		}},
	}),
	NewOperation[TodoAddRequest](Operation{
		Name: "todo_add", Summary: "Add a task to the daily log", Needs: AnySubject,
		Command: "todo add", Example: "--due tomorrow Call the landlord",
	}),
	NewOperation[CompleteRequest](Operation{
		Name: "complete", Summary: "List names with a prefix: files, subjects, namespaces, sessions, headings or tags",
		ReadOnly: true,
		Commands: []Command{{
			Words: "tags", Summary: "List the tags, with the number of entries of each", Example: "--prefix project:",
			Set: map[string]string{"what": "tag"}, Without: []string{"steps"},
		}},
	}),
	NewOperation[FilesRequest](Operation{
		Name: "files", Summary: "List the files, or sum their entries and words", ReadOnly: true,
		Commands: []Command{{
			Words: "ls", Summary: "List the files, with the date and the number of their entries", Example: "notes",
			Without: []string{"totals"},
		}, {
			Words: "stats", Summary: "Show the number of files, entries and words, by kind and month",
			Set: map[string]string{"totals": "true"}, Without: []string{"after", "limit"},
		}},
	}),
	NewOperation[NoteRequest](Operation{
		Name: "note", Summary: "Append a note to the daily log", Needs: AnySubject,
		Example: `--topic "API design" REST, not GraphQL: the clients are simple`,
	}),
	NewOperation[CaptureRequest](Operation{
		Name: "capture", Summary: "Append one to three bullets about requests or results to the daily log",
		Needs:   AnySubject,
		Example: `"The login works again" "It was the clock of the server"`,
	}),
	NewOperation[RememberRequest](Operation{
		Name: "remember", Summary: "Save a fact permanently, at the user's explicit request", Needs: InPrivate,
		Commands: []Command{{
			Words: "remember", Summary: "Save a fact permanently", Example: `--title Editor "Neovim, since 2019"`,
			Set: map[string]string{"explicit": "true"}, // typing the command is the explicit request
		}},
	}),
	NewOperation[ForgetRequest](Operation{
		Name: "forget", Summary: "Remove entries permanently: list the entries that contain a text, then remove the chosen ones", Needs: InPrivate, InInbox: true,
		Example: `"the old phone number"`, Long: true,
	}),
	NewOperation[SessionRequest](Operation{
		Name: "session", Summary: "Merge the content of a session into its file", Needs: AnySubject,
		Command: "session write", Example: `--session cli_1 '{"summary": "Chose a layout", "tasks": [{"text": "Write it down"}]}'`,
	}),
	NewOperation[EditRequest](Operation{
		Name: "edit", Summary: "Replace a text that occurs exactly once in a file", Needs: InPrivate, InInbox: true,
		ProgramsOnly: true,
	}),
	NewOperation[WriteRequest](Operation{
		Name: "write", Summary: "Create a file, or replace the content of a file", Needs: InPrivate, InInbox: true,
		ProgramsOnly: true,
	}),
	NewOperation[ProfileRequest](Operation{
		Name: "profile", Summary: "Save a summary about a subject, with its evidence", Needs: InPrivate,
		Example: "--evidence 2026-02-04/cli_1.md Prefers short answers",
	}),
	NewOperation[ProjectRequest](Operation{
		Name: "project", Summary: "Save a summary of a project, with its evidence", Needs: InPrivate,
		Example: "--evidence 2026-02-04/cli_1.md atlas Ships in May",
	}),
	NewOperation[ItemPutRequest](Operation{
		Name: "item_put", Summary: "Store an item under a key", Needs: AnySubject,
		Command: "item put", Example: "profile timezone Asia/Shanghai",
	}),
	NewOperation[ItemGetRequest](Operation{
		Name: "item_get", Summary: "Show the item with a key",
		Command: "item get", Example: "profile timezone", ReadOnly: true,
	}),
	NewOperation[ItemListRequest](Operation{
		Name: "item_list", Summary: "List items",
		Command: "item list", Example: "preference", ReadOnly: true,
	}),
	NewOperation[ItemDeleteRequest](Operation{
		Name: "item_delete", Summary: "Delete an item, or all of a namespace", Needs: InPrivate, InInbox: true,
		Command: "item delete", Example: "profile timezone",
	}),
	NewOperation[ImportRequest](Operation{
		Name: "import", Summary: "Write records of another program to private files", Needs: TheOwner,
		Admin: true, Long: true, HumansOnly: true,
		Commands: []Command{{
			Words: "import chatgpt", Summary: "Import conversations of ChatGPT",
			Example: "chatgpt-export.zip --dry-run", Set: map[string]string{"source": "chatgpt"},
		}, {
			Words: "import claude", Summary: "Import conversations and projects of Claude",
			Example: "claude-export.zip --dry-run", Set: map[string]string{"source": "claude"},
		}, {
			Words: "import claude-code", Summary: "Import sessions of Claude Code",
			Example: "~/.claude/projects --since 30d", Set: map[string]string{"source": "claude-code"},
		}, {
			Words: "import codex", Summary: "Import sessions of Codex", Example: "~/.codex/sessions --since 30d",
			Set: map[string]string{"source": "codex"},
		}, {
			Words: "import mem0", Summary: "Import memories of mem0", Example: "mem0.json",
			Set: map[string]string{"source": "mem0"},
		}, {
			Words: "import server-memory", Summary: "Import the graph of the MCP server memory",
			Example: "memory.json", Set: map[string]string{"source": "server-memory"},
		}, {
			Words: "import claude-mem", Summary: "Import an export of claude-mem", Example: "claude-mem.json",
			Set: map[string]string{"source": "claude-mem"},
		}, {
			Words: "import jsonl", Summary: "Import JSON lines of export, or of other programs",
			Example: "short_term.jsonl long_term.jsonl", Set: map[string]string{"source": "jsonl"},
		}},
	}),
	NewOperation[ExportRequest](Operation{
		Name: "export", Summary: "Export all readable memory as JSON lines or Markdown",
		ReadOnly: true, Long: true, HumansOnly: true,
		Commands: []Command{{
			Words: "export", Summary: "Export all readable memory as JSON lines or Markdown",
			Example: "--format md --output backup", Without: []string{"cursor", "entries"}, // set by the command
		}},
	}),
	NewOperation[ResolveRequest](Operation{
		Name: "resolve", Summary: "Show the subject of a user of a channel",
		Command: "identity resolve", Example: "telegram:123456", ReadOnly: true,
	}),
	NewOperation[LinkRequest](Operation{
		Name: "link", Summary: "Link a user of a channel to a subject", Needs: Operator,
		Command: "identity link", Example: "telegram:123456 acct:42", Admin: true,
	}),
	NewOperation[UnlinkRequest](Operation{
		Name: "unlink", Summary: "Remove the link of a user of a channel", Needs: Operator,
		Command: "identity unlink", Example: "telegram:123456", Admin: true,
	}),
	NewOperation[LinksRequest](Operation{
		Name: "links", Summary: "List the links between users of channels and subjects", Needs: Operator,
		Command: "identity list", Admin: true, ReadOnly: true,
	}),
	NewOperation[CompressRequest](Operation{
		Name: "compress", Summary: "Summarize and archive old sessions and daily notes", Needs: TheOwner,
		Example: "--cutoff 7d --dry-run", Admin: true, Long: true,
	}),
	NewOperation[JournalRequest](Operation{
		Name: "journal", Summary: "List the changes to files, with their causes", Needs: TheOwner,
		Example: "--since 7d", Admin: true, ReadOnly: true,
	}),
	NewOperation[HistoryRequest](Operation{
		Name: "history", Summary: "List the earlier versions of a file", Needs: TheOwner,
		Admin: true, ReadOnly: true,
		Commands: []Command{{
			Words: "history", Summary: "List the earlier versions of a file", Example: "MEMORY.md",
		}, {
			Words: "history show", Summary: "Show an earlier version of a file", Without: []string{"limit"},
		}},
	}),
	NewOperation[UndoRequest](Operation{
		Name: "undo", Summary: "Undo changes to files", Needs: TheOwner,
		Example: "--since 1h --dry-run", Admin: true, Long: true,
	}),
	NewOperation[ConflictsRequest](Operation{
		Name: "conflicts", Summary: "List the conflict copies that sync tools left, and what their merge would change", Needs: TheOwner,
		Admin: true, ReadOnly: true,
		Command: "conflicts list", Example: "memory/2026-02-05.md",
	}),
	NewOperation[ConflictsMergeRequest](Operation{
		Name: "conflicts_merge", Summary: "Merge conflict copies into their files, entry by entry", Needs: TheOwner,
		Command: "conflicts merge", Example: "--dry-run", Admin: true, Long: true,
	}),
	NewOperation[ShareStatusRequest](Operation{
		Name: "share_status", Summary: "Show the state of the store that several machines share", Needs: TheOwner,
		Admin: true, ReadOnly: true, Long: true, HumansOnly: true,
		Command: "share status",
	}),
	NewOperation[SharePushRequest](Operation{
		Name: "share_push", Summary: "Publish changes to the shared store now", Needs: TheOwner,
		Admin: true, Long: true, HumansOnly: true,
		Commands: []Command{{
			Words: "share init", Summary: "Create the collections of the shared store, publish all entries, and repair differences", Set: map[string]string{"step": "init"},
		}, {
			Words: "share push", Summary: "Publish changes to the shared store now",
			Set: map[string]string{"step": "push"},
		}},
	}),
	NewOperation[CompactRequest](Operation{
		Name: "compact", Summary: "Move the least used entries of full long-term files to the archive", Needs: TheOwner,
		Example: "--dry-run --explain", Admin: true, Long: true,
	}),
	NewOperation[WipeRequest](Operation{
		Name: "wipe_subject", Summary: "Delete all memory of a subject", Needs: InPrivate, Command: "item wipe",
		Example: "--subject acct:42 acct:42", Admin: true, Long: true, HumansOnly: true,
	}),
	NewOperation[CheckRequest](Operation{
		Name: "check", Summary: "Compare the files with the index, and list problems in files", Needs: Operator,
		Example: "--fix", Admin: true, Long: true,
	}),
	NewOperation[SyncRequest](Operation{
		Name: "sync", Summary: "Wait until the index contains everything that was saved",
		ReadOnly: true, Long: true,
	}),
	NewOperation[RebuildRequest](Operation{
		Name: "rebuild", Summary: "Rebuild the index from the files", Needs: Operator,
		Admin: true, Long: true,
	}),
	NewOperation[StatusRequest](Operation{
		Name: "status", Summary: "Show the state of the daemon, its files and its index",
		ReadOnly: true,
	}),
	NewOperation[OperationsRequest](Operation{
		Name: "operations", Summary: "List the operations that this listener permits for this scope",
		ReadOnly: true, ProgramsOnly: true, Always: true,
	}),
	NewOperation[EventsRequest](Operation{
		Name: "events", Summary: "Stream events as they happen", Needs: Operator,
		Admin: true, ReadOnly: true, Long: true, Stream: true,
	}),
}
