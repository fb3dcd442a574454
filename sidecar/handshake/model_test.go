package handshake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// want is what a handshake must be, by the rules alone.
type want struct {
	kind            handshake.Kind
	asker, answerer handshake.Party
	due             time.Time
	state           handshake.State
	note            string
	changes         int // how often it changed
}

// Two hundred handshakes among a few parties, answered by the right and by wrong parties, in any
// order, twice and late, while time goes on, parties go and the sidecar restarts: each is as the
// rules say, changes once, and says afterwards who ended it.
func TestModel_TwoHundredInParallel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parties := []handshake.Party{lead, alice, bob}
		for i := range 5 {
			parties = append(parties, handshake.Party{Peer: message.ID(fmt.Sprintf("peer-%d", i)), Name: "twin"})
		}
		all := append([]handshake.Party{nobody, {Peer: message.Unverified}}, parties...)
		book, err := handshake.NewBook()
		require.NoError(t, err)
		now := noon
		model := map[string]*want{}
		var ids []string
		for len(ids) < 200 {
			n := rapid.IntRange(0, 2*len(parties)*len(parties)*31-1).Draw(t, "request") // one draw for everything: draws are slow
			take := func(of int) int { rest := n % of; n /= of; return rest }
			w := &want{kind: []handshake.Kind{handshake.Shutdown, handshake.Plan}[take(2)], state: handshake.Pending}
			w.asker, w.answerer = parties[take(len(parties))], parties[take(len(parties))]
			patience := time.Duration(take(31)) * time.Second
			if patience > 0 {
				w.due = now.Add(patience)
			}
			id := fmt.Sprintf("%08x", len(ids)*7919)
			h, err := book.Ask(now, handshake.Request{ID: id, Kind: w.kind, Asker: w.asker, Answerer: w.answerer, Patience: patience})
			if w.asker.Is(w.answerer) {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			require.True(t, h.Open())
			ids, model[id] = append(ids, id), w
		}
		finish := func(w *want, state handshake.State, note string) {
			w.state, w.note = state, note
			w.changes++
		}
		expect := func(ended []handshake.Handshake, due func(*want) bool) {
			told := map[string]bool{}
			for _, h := range ended {
				told[h.ID] = true
			}
			for id, w := range model {
				ends := w.state == handshake.Pending && due(w)
				if ends {
					finish(w, handshake.Expired, "")
				}
				if told[id] != ends {
					t.Fatalf("%s: expired is %v", id, told[id])
				}
			}
		}
		steps := rapid.IntRange(1, 400).Draw(t, "steps")
		for step := 1; step <= steps; step++ {
			switch rapid.IntRange(0, 19).Draw(t, "does") {
			default:
				id := rapid.SampledFrom(ids).Draw(t, "id")
				w := model[id]
				by := w.answerer
				if rapid.IntRange(0, 3).Draw(t, "wrongly") == 0 {
					by = rapid.SampledFrom(all).Draw(t, "by")
				}
				a := handshake.Answer{Kind: w.kind, ID: id, Approve: rapid.Bool().Draw(t, "approve"), Note: fmt.Sprint("step ", step)}
				if rapid.IntRange(0, 9).Draw(t, "other kind") == 0 {
					a.Kind = map[handshake.Kind]handshake.Kind{handshake.Plan: handshake.Shutdown, handshake.Shutdown: handshake.Plan}[a.Kind]
				}
				h, err := book.Answer(now, by, a)
				switch {
				case a.Kind != w.kind:
					require.ErrorAs(t, err, new(*handshake.UnknownError))
				case !by.Is(w.answerer):
					require.ErrorAs(t, err, new(*handshake.NotYoursError))
				case w.state != handshake.Pending:
					var settled *handshake.SettledError
					require.True(t, errors.As(err, &settled))
					require.Equal(t, w.state, settled.Handshake.State)
					require.Equal(t, w.note, settled.Handshake.Note)
				default:
					require.NoError(t, err)
					finish(w, map[bool]handshake.State{true: handshake.Approved, false: handshake.Rejected}[a.Approve], a.Note)
					require.Equal(t, w.state, h.State)
				}
			case 0, 1:
				now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			case 2:
				expect(book.Expire(now), func(w *want) bool { return !w.due.IsZero() && !now.Before(w.due) })
			case 3:
				switch rapid.IntRange(0, 19).Draw(t, "rarely") {
				case 0:
					who := rapid.SampledFrom(all).Draw(t, "who")
					expect(book.Gone(now, who), func(w *want) bool {
						return w.answerer.Is(who) || w.kind == handshake.Plan && w.asker.Is(who)
					})
				case 1, 2:
					book = restarted(t, book)
				case 3, 4:
					id := rapid.SampledFrom(ids).Draw(t, "given up")
					w := model[id]
					h, err := book.GiveUp(now, w.kind, id)
					require.NoError(t, err)
					if w.state == handshake.Pending {
						finish(w, handshake.Expired, "")
					}
					require.Equal(t, w.state, h.State)
				}
			}
		}
		book = restarted(t, book)
		var next time.Time
		for id, w := range model {
			h, err := book.Of(w.kind, id)
			require.NoError(t, err)
			require.Equal(t, w.state, h.State)
			require.Equal(t, w.note, h.Note)
			require.LessOrEqual(t, w.changes, 1)
			require.Contains(t, []handshake.State{handshake.Pending, handshake.Approved, handshake.Rejected}, h.Tracker().Status)
			if h.Open() && !w.due.IsZero() && (next.IsZero() || w.due.Before(next)) {
				next = w.due
			}
		}
		require.Equal(t, next, book.Next())
		require.Len(t, book.All(), 200)
	})
}

// restarted returns the book of a sidecar that reads what the one before it wrote.
func restarted(t *rapid.T, book *handshake.Book) *handshake.Book {
	text, err := json.Marshal(book.All())
	require.NoError(t, err)
	var read []handshake.Handshake
	require.NoError(t, json.Unmarshal(text, &read))
	fresh, err := handshake.NewBook(read...)
	require.NoError(t, err)
	require.Equal(t, book.All(), fresh.All())
	require.Equal(t, book.Next(), fresh.Next())
	return fresh
}
