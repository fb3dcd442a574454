package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// latencies is the number of deliveries, the latest of a chat, from which the percentiles are
// computed.
const latencies = 1024

// standingTurns counts, among the latest messages of a chat, the turns that were typed to nobody:
// the turn that met a limit, and others that wait or came to nothing.
const standingTurns = `SELECT count(*) FROM (
		SELECT seq FROM events WHERE chat = ?1 AND kind = 'message' ORDER BY seq DESC LIMIT ?2
	) latest JOIN messages m ON m.seq = latest.seq
	WHERE json_extract(m.doc, '$.type') = 'turn' AND json_extract(m.doc, '$.copy_of') IS NULL
		AND EXISTS (SELECT 1 FROM deliveries d WHERE d.message = m.seq)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message = m.seq AND d.typed)`

// latestTurns is more messages than ever wait in a chat, since agents wait for each other.
const latestTurns = 64

// Stats counts what passed through a chat since it started, whether it goes on or has ended,
// including what was pruned meanwhile. It does not count a turn that was typed to nobody. It does
// not set Captures, which the journal does not know. The latencies are those of the latest 1024
// deliveries of a turn that were submitted, from the end of the turn. If the chat is not in the
// journal, the error is ErrNotFound.
func (j *Journal) Stats(ctx context.Context, chat message.ID) (message.Stats, error) {
	stats := message.Stats{Chat: chat, Deliveries: make(map[message.ReceiptState]int)}
	err := j.reading(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT turns, depth FROM chats WHERE id = ?`, string(chat)).Scan(&stats.Turns, &stats.Depth)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		var standing int
		if err := tx.QueryRowContext(ctx, standingTurns, string(chat), latestTurns).Scan(&standing); err != nil {
			return err
		}
		stats.Turns -= standing
		tallies, err := collect(ctx, tx, scanTally, `SELECT state, n FROM tallies WHERE chat = ? AND n > 0`, string(chat))
		if err != nil {
			return err
		}
		for _, t := range tallies {
			stats.Deliveries[t.state] = t.n
		}
		waits, err := collect(ctx, tx, scanWait, `SELECT ns FROM waits WHERE chat = ? ORDER BY ns`, string(chat))
		if err != nil {
			return err
		}
		stats.LatencyP50, stats.LatencyP99 = percentile(waits, 50), percentile(waits, 99)
		return nil
	})
	if err != nil {
		return message.Stats{}, fmt.Errorf("journal: stats of chat %q: %w", chat, err)
	}
	return stats, nil
}

// Chat finds a chat, going on or ended, by its id, its short form or its name, in any case. Of
// several chats with the same name it returns the latest. A chat that goes on takes precedence over
// those that have ended. The error is ErrNotFound, or ErrAmbiguous with all candidates.
func (j *Journal) Chat(ctx context.Context, ref string) (message.Chat, error) {
	name := fold(ref)
	found, err := list(ctx, j, fmt.Sprintf("chat %q", name), scanDoc[message.Chat], `SELECT doc FROM chats WHERE seq IN (
			SELECT seq FROM chats WHERE id BETWEEN ?1 AND ?3
			UNION ALL SELECT seq FROM chats WHERE substr(id, -8) BETWEEN ?1 AND ?3
			UNION ALL SELECT * FROM (SELECT seq FROM chats WHERE name = ?1 AND name <> '' ORDER BY seq DESC LIMIT 1)
		) ORDER BY id <> ?1, ended, seq DESC LIMIT ?2`, name, mostNamed, upTo(name))
	if err != nil {
		return message.Chat{}, err
	}
	meant := func(c message.Chat) bool {
		return string(c.ID) == name || c.ID.Short() == name || strings.EqualFold(c.Name, name)
	}
	if slices.ContainsFunc(found, meant) { // not only the beginning of an id
		found = slices.DeleteFunc(found, func(c message.Chat) bool { return !meant(c) })
	}
	if slices.IndexFunc(found, func(c message.Chat) bool { return c.State == message.ChatOver }) == 1 {
		found = found[:1] // the only one that goes on
	}
	ids := make([]message.ID, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	if err := only(name, ids); err != nil {
		return message.Chat{}, fmt.Errorf("chat %q: %w", name, err)
	}
	return found[0], nil
}

// percentile returns the smallest of the sorted values that at least p per cent of them do not
// exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

type tally struct {
	state message.ReceiptState
	n     int
}

func scanTally(row scanner) (t tally, err error) {
	err = row.Scan(&t.state, &t.n)
	return t, err
}

func scanWait(row scanner) (wait time.Duration, err error) {
	err = row.Scan(&wait)
	return wait, err
}
