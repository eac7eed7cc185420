package ops

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// States of imported records.
const (
	importCreated   = "created"
	importRewritten = "rewritten" // a newer version replaced the one in the memory
	importSame      = "unchanged"
	importEdited    = "edited" // the text in the memory was edited, or is newer, and stays
	importOlder     = "older"  // than the period of the request
	importFailed    = "failed"
)

// An importedRecord is a record and the result of its import.
type importedRecord struct {
	api.ImportRecord
	result api.ImportedRecord

	// revise adds the record to a file of entries, see [importBatch.knownEntries], and
	// returns its state.
	revise func(doc *memory.Document, r *memory.Revision, known map[string]int) (state string, err error)
}

func (p *importedRecord) fail(err error) {
	if err != nil {
		p.result.State, p.result.Reason = importFailed, asError(err).Error()
	}
}

// An importBatch is the records of a request.
type importBatch struct {
	adminOps
	call    Call
	program string
	dryRun  bool

	known   map[string]string // paths of imported files, by the ends of their names
	whole   []*importedRecord // that become files, and their changes
	changes []vault.Change
	files   []*importedFile
	group   string // of the changes of files of entries
}

// An importedFile is a file in which records become entries.
type importedFile struct {
	call    Call
	targets []writeTarget
	records []*importedRecord
}

// importRecords writes records of another program. A record that becomes a file or an entry
// is new, the same as before, newer, or was changed by a person, whose text stays.
func (m adminOps) importRecords(ctx context.Context, c Call, r *api.ImportRequest) (*api.ImportAnswer, error) {
	since, _, err := m.parsePeriod("since", r.Since)
	if err != nil {
		return nil, err
	}
	if err := m.waitAllIndexed(ctx, &c); err != nil { // a file of a record may have been moved
		return nil, err
	}
	b := &importBatch{adminOps: m, call: c, program: r.Source, dryRun: r.DryRun, known: map[string]string{}}
	for _, f := range m.Index.Files(func(f *index.FileInfo) bool { return f.Readable(c.View) }) {
		b.known[f.Path[strings.LastIndexAny(f.Path, "-/")+1:]] = f.Path
	}
	var list []*importedRecord
	number := 0
	for line := range strings.Lines(r.Records) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		p := &importedRecord{result: api.ImportedRecord{Line: number, State: importOlder}}
		list = append(list, p)
		err := p.decode(line)
		if err == nil && !cmp.Or(p.Updated, p.Created).Before(since) {
			err = b.place(ctx, p)
		}
		p.fail(err)
	}
	for i, err := range m.Writer.WriteAll(ctx, b.changes) {
		if err != nil {
			b.whole[i].fail(writeError(err))
		}
	}
	for _, f := range b.files {
		b.writeEntries(ctx, *f)
	}
	answer := &api.ImportAnswer{Records: []api.ImportedRecord{}, DryRun: r.DryRun}
	for _, p := range list {
		answer.Add(&api.ImportAnswer{Records: []api.ImportedRecord{p.result}})
	}
	return answer, ctx.Err()
}

// ImportTranscript imports the records of a transcript, one a line, as private text of the
// owner.
func (m *Memory) ImportTranscript(ctx context.Context, program, records string) (*api.ImportAnswer, error) {
	private := memory.Private.String()
	c, err := m.readOps().resolveCall(api.Caller{Scope: api.Scope{Subject: &m.Owner, Context: &private}})
	if err != nil {
		return nil, err
	}
	return m.adminOps().importRecords(ctx, c, &api.ImportRequest{Source: program, Records: records})
}

// decode sets the record, without the credentials that it contained, and their kinds.
func (p *importedRecord) decode(line string) error {
	var value any
	if err := json.Unmarshal([]byte(line), &value); err != nil {
		return api.Errorf(api.Invalid, "invalid JSON: %v", err)
	}
	masked, err := json.Marshal(removeSecrets(value, &p.result.Credentials))
	if err == nil {
		err = api.DecodeJSON(masked, &p.ImportRecord)
	}
	slices.Sort(p.result.Credentials)
	p.result.Credentials = slices.Compact(p.result.Credentials)
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(p.ID) == "":
		return api.Errorf(api.Invalid, "id is missing")
	case max(p.Created.Year(), p.Updated.Year()) >= maxYear:
		return api.Errorf(api.Invalid, "a time is not in the years 1 to %d", maxYear-1)
	case p.Entry == nil && p.Item == nil && len(p.Parts) == 0:
		return api.Errorf(api.Invalid, "parts, entry or item is missing")
	}
	return nil
}

// removeSecrets returns a JSON value without credentials, and adds their kinds to rules.
func removeSecrets(value any, rules *[]string) any {
	switch v := value.(type) {
	case string:
		text, found := secrets.Remove(v)
		*rules = append(*rules, found...)
		return text
	case []any:
		for i := range v {
			v[i] = removeSecrets(v[i], rules)
		}
	case map[string]any:
		for key := range v {
			v[key] = removeSecrets(v[key], rules)
		}
	}
	return value
}

// place finds the file of a record, and adds the record to its change.
func (b *importBatch) place(ctx context.Context, p *importedRecord) error {
	switch {
	case p.Entry != nil:
		return b.placeEntry(ctx, p)
	case p.Item != nil:
		return b.placeItem(ctx, p)
	}
	return b.placeFile(p)
}

// placeFile adds the change that writes a record to a file of its own: the one that contains
// an earlier version, or a new one.
func (b *importBatch) placeFile(p *importedRecord) error {
	record := &memory.Imported{Program: b.program, ID: p.ID, Title: cutLine(p.Title, maxTopic),
		Created: p.Created, Updated: p.Updated, Tags: p.Tags}
	for i, part := range p.Parts {
		if !slices.Contains([]string{"", "person", "agent", "attachment"}, part.Author) {
			return api.Errorf(api.Invalid, "part %d: author: %q is not one of person, agent, attachment", i+1, part.Author)
		}
		record.Parts = append(record.Parts, memory.ImportedPart(part))
	}
	data := record.File(b.Layout)
	at := cmp.Or(b.known[record.Suffix()], record.Path(b.Location))
	p.result.Path = at
	next := b.Parse(vault.File{Path: at, Data: data, ModTime: b.Now()})
	switch reason := b.Writer.Vault.Skips(at, false); {
	case reason != "":
		return api.Errorf(api.Unavailable, "%s is excluded from memory: %s", at, reason)
	case next.Unsound, next.Partition.Visibility != memory.PrivateOnly, next.For(b.call.View) == nil:
		return api.Errorf(api.Invalid, "the record cannot be written as a private file")
	}
	b.whole = append(b.whole, p)
	b.changes = append(b.changes, vault.Change{Path: at, Cause: "import", Requested: true,
		Edit: func(old *vault.File) ([]byte, error) {
			write := !b.dryRun
			switch {
			case old == nil:
				p.result.State = importCreated
			case bytes.Equal(old.Data, data):
				p.result.State, write = importSame, false
			case memory.EditedImport(old.Data):
				p.result.State, write = importEdited, false
			default:
				p.result.State = importRewritten
			}
			if !write {
				return nil, nil
			}
			return data, nil
		}})
	return nil
}

// frontVisibility matches the visibility in a frontmatter.
var frontVisibility = lazyregexp.New(`(?m)^visibility:.*\n`)

// placeEntry adds an entry to its file, which is one of imports if the file is not the
// owner's. A file of other readers stays, and the entry is written beside it.
func (b *importBatch) placeEntry(ctx context.Context, p *importedRecord) error {
	e, at := p.Entry, p.Entry.Path
	if at == "" {
		dir, err := b.subjectDir(ctx, &b.call)
		if err != nil {
			return err
		}
		at = dir + "/" + e.Summary + ".md"
	}
	_, isMarkdown := memory.CutMarkdown(at)
	excluded := cmp.Or(badPath(at), b.Writer.Vault.Skips(at, false), b.Layout.Skip(at))
	if !isMarkdown || excluded != "" || !ownPlace(b.call, b.Layout.Place(at)) || strings.HasPrefix(at, "_longterms/_") {
		at, e.Front, e.Visibility = memory.ImportsDir+"/"+b.program+"/"+memory.FileSlug(at)+".md", "", ""
	}
	_, name, _ := cutID(e.ID)
	name = strings.Join(strings.Fields(name), "-")
	id := name
	if strings.HasPrefix(name, "~") { // it follows from the text
		id = ""
	}
	attributes := map[string]string{"id": id, "type": e.Type, "importance": formatNumber(e.Importance),
		"source": e.Source, "written_by": e.WrittenBy, "created": attributeTime(p.Created),
		"updated": attributeTime(p.Updated)}
	maps.Copy(attributes, e.Attributes)
	attributes["confidence"] = cmp.Or(confidenceText(e.Confidence), attributes["confidence"])
	content := e.Content
	for _, tag := range e.Tags {
		content, _ = b.Layout.AddTag(content, strings.TrimPrefix(strings.TrimSpace(tag), "#"))
	}
	put := &memory.Put{Text: content, Attributes: attributes, Evidence: e.Evidence}
	if err := b.Layout.FitImported(at, put); err != nil {
		return writeError(err)
	}
	section := convertEach(e.Section, memory.CleanLine)
	p.revise = func(doc *memory.Document, r *memory.Revision, known map[string]int) (string, error) {
		i, ok := known["#"+name]
		if !ok && id == "" {
			i, ok = known[put.Entry().Norm]
		}
		switch {
		case !ok:
			r.Append(section, put)
			return importCreated, nil
		case i < 0 || id == "": // elsewhere, or with this text
			return importSame, nil
		}
		old := &doc.Entries[i]
		state := compareImport(old, old.Norm, put.Entry().Norm, p.Updated)
		if state == importRewritten {
			r.Replace(i, put, time.Time{})
		}
		return state, nil
	}
	visibility := orPrivate(e.Visibility)
	fresh := []byte(frontVisibility().ReplaceAllString(e.Front, ""))
	b.addEntry(p, importedFile{call: b.call, targets: b.targets(b.call, at, visibility, visibility, fresh)})
	return nil
}

// attributeTime returns a time as an attribute, empty for an unknown time.
func attributeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// compareImport returns the state of a record whose entry has a text and would get the text
// next, which was written at a time.
func compareImport(e *memory.Entry, text, next string, at time.Time) string {
	origin := e.Attributes[memory.OriginAttribute]
	switch {
	case text == next:
		return importSame
	case origin != "" && origin != memory.TextDigest(text), !at.After(e.Time):
		return importEdited
	}
	return importRewritten
}

// placeItem adds a keyed item to the file of its subject, namespace and readers.
func (b *importBatch) placeItem(ctx context.Context, p *importedRecord) error {
	item, c := p.Item, b.call
	item.Subject, item.Key = cmp.Or(item.Subject, c.Scope.Subject), strings.TrimSpace(item.Key)
	item.Source = cmp.Or(oneLine(item.Source), "import")
	put := api.ItemPutRequest{Namespace: item.Namespace, Key: item.Key, Confidence: item.Confidence,
		Visibility: orPrivate(api.VisibilityName(item.Visibility))}
	err := cmp.Or(api.RequestOf(put).Check(), memory.ValidSubject(item.Subject), b.checkItem(item, item.Source))
	if err != nil {
		return err
	}
	c.Scope = memory.Scope{Subject: item.Subject, Context: memory.Private}
	if err := b.renewView(&c); err != nil {
		return err
	}
	if _, err := b.subjectDir(ctx, &c); err != nil {
		return err
	}
	at, initial := itemPath(item.Subject, item.Namespace), memory.NewItems(item.Subject)
	other := memory.BesideFile(at, memory.PublicFile)
	if put.Visibility == memory.PublicOK.String() {
		at, other, initial = other, at, memory.WithVisibility(initial, put.Visibility)
	}
	if beside, err := b.Files.Load(other); err == nil && len(itemsNamed(beside, item.Key)) > 0 {
		return api.Errorf(api.Conflict, "the item is in %s, with other readers; set its visibility first", other)
	}
	p.revise = func(doc *memory.Document, r *memory.Revision, _ map[string]int) (string, error) {
		return b.reviseItem(doc, r, p)
	}
	b.addEntry(p, importedFile{call: c, targets: []writeTarget{{path: at, initial: initial, audience: put.Visibility}}})
	return nil
}

// reviseItem writes a keyed item in place of the first one of the same key.
func (b *importBatch) reviseItem(doc *memory.Document, r *memory.Revision, p *importedRecord) (string, error) {
	item, at, state := p.Item, -1, importCreated
	updated := cmp.Or(p.Updated, b.Now().UTC().Truncate(time.Second))
	id := memory.NewID(takenIDs(doc), item.Namespace, item.Key, item.Value, attributeTime(updated))
	if named := itemsNamed(doc, item.Key); len(named) > 0 {
		at = named[0]
		e := &doc.Entries[at]
		_, value, _ := e.Item()
		state = compareImport(e, value, item.Value, p.Updated)
		id = e.ID
	}
	put := &memory.Put{Form: memory.ValueForm, Title: item.Key, Text: item.Value, Attributes: map[string]string{
		"id": strings.TrimPrefix(id, "~"), "confidence": confidenceText(item.Confidence), "source": item.Source,
		"created": attributeTime(cmp.Or(p.Created, updated)), "updated": attributeTime(updated),
		memory.OriginAttribute: memory.TextDigest(item.Value)}}
	err := b.Layout.Fit(doc.Place.Path, put)
	switch {
	case err != nil:
		return "", writeError(err)
	case at < 0:
		r.Insert(doc.ItemInsertionPoint(), put)
	case state == importRewritten:
		r.Replace(at, put, time.Time{})
	}
	return state, nil
}

// addEntry adds a record to the records of its file.
func (b *importBatch) addEntry(p *importedRecord, file importedFile) {
	at := slices.IndexFunc(b.files, func(f *importedFile) bool {
		return f.targets[0].path == file.targets[0].path && f.targets[0].audience == file.targets[0].audience
	})
	if at < 0 {
		at = len(b.files)
		b.files = append(b.files, &file)
	}
	b.files[at].records = append(b.files[at].records, p)
}

// writeEntries writes the records of a file as one change, or if that fails one by one.
func (b *importBatch) writeEntries(ctx context.Context, f importedFile) {
	err := eachTarget(f.targets, func(t writeTarget) error {
		_, written, err := b.editFile(ctx, f.call, fileEdit{writeTarget: t, cause: "import", group: b.group,
			dryRun: b.dryRun, change: func(doc *memory.Document, r *memory.Revision) error {
				known := b.knownEntries(doc, f.targets)
				for _, p := range f.records {
					state, err := p.revise(doc, r, known)
					p.result.Path, p.result.State = t.path, state
					p.fail(err)
				}
				return nil
			}})
		b.group = cmp.Or(b.group, written.ID)
		return err
	})
	for i := range f.records {
		switch single := (importedFile{f.call, f.targets, f.records[i : i+1]}); {
		case err != nil && len(f.records) > 1:
			b.writeEntries(ctx, single)
		case err != nil:
			f.records[i].fail(err)
		}
	}
}

// knownEntries returns the indexes of the entries of a file by #id and by text, and -1 for
// those in its archived copies and in other targets of the import.
func (b *importBatch) knownEntries(doc *memory.Document, targets []writeTarget) map[string]int {
	known := map[string]int{}
	paths := b.archivedCopies(doc.Place.Path, func(*index.FileInfo) bool { return true })
	for _, t := range targets {
		paths = append(paths, t.path)
	}
	for _, at := range paths {
		if other, err := b.Files.Load(at); err == nil {
			for i := range other.Entries {
				known["#"+other.Entries[i].ID], known[other.Entries[i].Norm] = -1, -1
			}
		}
	}
	for i := range doc.Entries {
		known["#"+doc.Entries[i].ID], known[doc.Entries[i].Norm] = i, i
	}
	return known
}
