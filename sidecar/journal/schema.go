package journal

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// errDamaged says that SQLite found the database inconsistent.
var errDamaged = errors.New("journal is damaged")

// migrations returns the steps from an empty database to the schema of this program. The n-th leads
// to version n, which PRAGMA user_version holds. Never change a released step: add a new one.
func migrations() []string {
	names, err := fs.Glob(schemaFiles, "schema/*.sql") // sorted
	if err != nil {
		panic(err) // only for a malformed pattern
	}
	var steps []string
	for _, name := range names {
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			panic(err) // embedded in the program
		}
		steps = append(steps, string(text))
	}
	return steps
}

// migrate brings the schema to the version that steps lead to, in one transaction, so that a new
// journal is not synced once for each step.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("schema version: %w", err)
	}
	if version > len(steps) {
		return newer(version, len(steps))
	}
	if version == len(steps) {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("migrate to schema %d: %w", len(steps), err)
	}
	for ; version < len(steps); version++ {
		if _, err := tx.ExecContext(ctx, steps[version]); err != nil {
			_ = tx.Rollback() // the error that led here says more
			return fmt.Errorf("migrate to schema %d: %w", version+1, err)
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
	if err != nil {
		_ = tx.Rollback()
	} else {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("migrate to schema %d: %w", version, err)
	}
	return nil
}

func newer(version, known int) error {
	return fmt.Errorf("%w: its schema is %d, this program knows %d", ErrNewer, version, known)
}

// assertDurable refuses a connection that does not have the settings that we asked for. SQLite says
// nothing if it cannot set one, and with weaker settings a power cut loses rows that were
// confirmed.
func assertDurable(ctx context.Context, db *sql.DB) error {
	for _, want := range []struct{ pragma, value string }{
		{"journal_mode", "wal"},
		{"synchronous", "2"},
		{"foreign_keys", "1"},
	} {
		var value string
		if err := db.QueryRowContext(ctx, "PRAGMA "+want.pragma).Scan(&value); err != nil {
			return fmt.Errorf("%s: %w", want.pragma, err)
		}
		if value != want.value {
			return fmt.Errorf("%s is %q, must be %q (is this a local file system?)", want.pragma, value, want.value)
		}
	}
	return nil
}

// quickCheck has SQLite check the whole database.
func quickCheck(ctx context.Context, db *sql.DB) error {
	var answer string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer); err != nil {
		return fmt.Errorf("quick_check: %w", err)
	}
	if answer != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, answer)
	}
	return nil
}
