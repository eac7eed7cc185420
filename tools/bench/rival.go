package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	_ "github.com/mattn/go-sqlite3"
)

// The rival is FTS5 of SQLite, with a row for each entry. It runs in a separate
// process, which reads and parses the files like the daemon and calls the
// library directly: no socket, no JSON, no snippets. Texts are split by
// unicode61 without stemming. Runs of Chinese characters are inserted as single
// characters and pairs, like in the index of memwatchd.

// A contest is the input of the rival process.
type contest struct {
	Root, Dir string
	Quizzes   []quiz
	Warm      []question
}

// rivalFigures is the output of the rival process.
type rivalFigures struct {
	Version  string
	Failed   string // error that prevented the measurement
	Build    time.Duration
	Inserts  time.Duration // part of Build within SQLite
	Optimize time.Duration // after Build, before the questions
	Entries  int
	Size     int64                // with the text
	Bare     int64                // without the text
	Took     map[string]latencies // by quiz
	Free     map[string]latencies // by plain quiz, without scopes
}

func runRival(ctx context.Context, c contest) (*rivalFigures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, rivalCommand)
	cmd.Stdin = strings.NewReader(string(told))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the process with SQLite: %w", err)
	}
	var f rivalFigures
	return &f, json.Unmarshal(out, &f)
}

const rivalCommand = "fts5"

// serveRival is the main function of the rival process.
func serveRival(in io.Reader, out io.Writer) error {
	var c contest
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return err
	}
	f := &rivalFigures{Took: map[string]latencies{}, Free: map[string]latencies{}}
	if err := f.compete(context.Background(), c); err != nil {
		f.Failed = err.Error()
	}
	return json.NewEncoder(out).Encode(f)
}

func (f *rivalFigures) compete(ctx context.Context, c contest) error {
	db, err := f.build(ctx, filepath.Join(c.Dir, "fts5.db"), c.Root, rivalTable)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT sqlite_version()`).Scan(&f.Version); err != nil {
		return err
	}
	for _, q := range c.Warm {
		if err := askRival(ctx, db, q, false); err != nil {
			return err
		}
	}
	for _, z := range c.Quizzes {
		f.Took[z.Name], err = timeRival(ctx, db, z, false)
		if err != nil {
			return err
		}
		if z.Plain {
			f.Free[z.Name], err = timeRival(ctx, db, z, true)
			if err != nil {
				return err
			}
		}
	}
	var bare rivalFigures
	other, err := bare.build(ctx, filepath.Join(c.Dir, "bare.db"), c.Root,
		strings.Replace(rivalTable, "tokenize", "content='', contentless_unindexed=1, tokenize", 1))
	if err != nil {
		return err
	}
	f.Bare = bare.Size
	return other.Close()
}

// patience bounds the time of a quiz that has at least a hundred answers.
const patience = 20 * time.Second

func timeRival(ctx context.Context, db *sql.DB, z quiz, free bool) (latencies, error) {
	var took latencies
	for begin := time.Now(); len(took) < len(z.List) && (len(took) < 100 || time.Since(begin) < patience); {
		start := time.Now()
		if err := askRival(ctx, db, z.List[len(took)], free); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// build writes the entries of a tree to a new table, optimizes it, and measures
// both and the size.
func (f *rivalFigures) build(ctx context.Context, file, root, table string) (*sql.DB, error) {
	start := time.Now()
	db, err := openRival(file)
	if err != nil {
		return nil, err
	}
	err = f.fill(ctx, db, root, table)
	f.Build = time.Since(start)
	start = time.Now()
	if err == nil {
		_, err = db.Exec(`INSERT INTO entries(entries) VALUES ('optimize')`)
	}
	f.Optimize = time.Since(start)
	if err == nil {
		f.Size, err = settle(db, file)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

const rivalTable = `CREATE VIRTUAL TABLE entries USING fts5(text, path UNINDEXED, line UNINDEXED, owner UNINDEXED, private UNINDEXED,
	kind UNINDEXED, type UNINDEXED, day UNINDEXED, tags UNINDEXED, tokenize = 'unicode61')`

func openRival(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_synchronous=NORMAL&_cache_size=-65536")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`PRAGMA mmap_size = 4294967296`)
	return db, err
}

// fill writes the entries of a tree, a thousand in each transaction.
func (f *rivalFigures) fill(ctx context.Context, db *sql.DB, root, table string) error {
	if _, err := db.Exec(table); err != nil {
		return err
	}
	var tx *sql.Tx
	var insert *sql.Stmt
	begin := func() (err error) {
		tx, err = db.Begin()
		if err == nil {
			insert, err = tx.Prepare(`INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		}
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	err := parseTree(ctx, root, func(list []entry) error {
		start := time.Now()
		defer func() { f.Inserts += time.Since(start) }()
		for _, e := range list {
			day := ""
			if !e.Time.IsZero() {
				day = e.Time.Format(time.DateOnly)
			}
			_, err := insert.Exec(spaced(e.Text), e.Path, e.Line, e.Owner, e.Private, e.Kind, e.Type, day,
				" "+strings.Join(e.Tags, " ")+" ")
			if err != nil {
				return err
			}
			f.Entries++
			if f.Entries%1000 == 0 {
				if err := errors.Join(tx.Commit(), begin()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

// settle moves the log into the database and returns the size of the database.
func settle(db *sql.DB, file string) (int64, error) {
	if _, err := db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return 0, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// spaced returns a text with spaces around its Chinese characters and each pair
// of them.
func spaced(text string) string {
	var b strings.Builder
	var last rune
	for _, c := range text {
		if !unicode.Is(unicode.Han, c) {
			if last != 0 {
				b.WriteByte(' ')
			}
			b.WriteRune(c)
			last = 0
			continue
		}
		b.WriteByte(' ')
		if last != 0 {
			b.WriteRune(last)
			b.WriteRune(c)
			b.WriteByte(' ')
		}
		b.WriteRune(c)
		last = c
	}
	return b.String()
}

// askRival retrieves the ten best entries that contain any of the words, with
// their place and text. If free is set, the search ignores owners.
func askRival(ctx context.Context, db *sql.DB, q question, free bool) error {
	var match []string
	for _, w := range q.Words {
		match = append(match, `"`+strings.ReplaceAll(w, `"`, `""`)+`"`)
	}
	where, args := []string{"entries MATCH ?"}, []any{strings.Join(match, " OR ")}
	only := func(condition string, arg any) {
		where, args = append(where, condition), append(args, arg)
	}
	if !free {
		where = append(where, "owner IN ('"+strings.Join(owners, "', '")+"')")
	}
	if q.Public {
		where = append(where, "private = 0")
	}
	if q.Kind != "" {
		only("kind = ?", q.Kind)
	}
	if q.Type != "" {
		only("type = ?", q.Type)
	}
	if q.Dir != "" {
		only("path GLOB ?", q.Dir+"/*.md")
	}
	if q.Tag != "" {
		only("instr(tags, ?) > 0", " "+q.Tag+" ")
	}
	if !q.Since.IsZero() {
		only("day >= ?", q.Since.Format(time.DateOnly))
	}
	rows, err := db.QueryContext(ctx,
		`SELECT path, line, text, rank FROM entries WHERE `+strings.Join(where, " AND ")+` ORDER BY rank LIMIT 10`,
		args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var path, text string
		var line int
		var rank float64
		if err := rows.Scan(&path, &line, &text, &rank); err != nil {
			return err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("nothing found for %q", q.Words)
	}
	return nil
}
