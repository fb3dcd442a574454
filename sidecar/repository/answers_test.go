package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A sidecar is killed while its journal has an acknowledgement that is not written yet, before or after it
// noted its decision. Another sidecar tells the author; when the first one comes back, it does not tell them
// again.
func TestC50_A58_AnsweredOnce(t *testing.T) {
	t.Parallel()
	for _, noted := range []bool{false, true} {
		t.Run(fmt.Sprint("noted=", noted), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			name, id := h.update("")
			h.cutAt("when the answer may be written")
			h.run()
			h.until(h.wasCut)
			h.end()
			assert.Zero(t, h.answersTo(id))
			_ = os.Remove(h.target.at(processed, name))
			_ = os.Remove(h.target.at(logName))
			path, known := h.peers.Enabled.ledger(h.target.Path), h.peers.Enabled.lines(h.target)
			require.Len(t, known, 1)
			require.NoError(t, os.Remove(path))
			if noted {
				one := known[0]
				one.Stage, one.Became, one.Owes = done, "acknowledged", true
				require.NoError(t, os.WriteFile(path, []byte(one.text()), 0o600))
			}

			first, journal := h.by, h.journal
			h.by, h.journal = "another", filepath.Join(t.TempDir(), "state")
			h.runs = func(string) bool { return false }
			require.NoError(t, os.Mkdir(h.journal, 0o700))
			h.run()
			h.until(func() bool { return h.marked(name) && h.answersTo(id) == 1 })
			h.end()

			h.by, h.journal = first, journal
			h.run()
			defer h.end()
			_, later := h.update("")
			h.until(func() bool { return h.answersTo(later) == 1 }) // answers are written in their order
			assert.Equal(t, 1, h.answersTo(id))
			log, err := os.ReadFile(h.target.at(logName))
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(log), "Processed: .aea/"+name+" -> "), "%s", log)
			assert.NotContains(t, string(log), "Rejected")
		})
	}
}

// A sidecar that ends in order first writes the answers that it was given, including the one that it was about
// to write: nobody may ever come back to write them.
func TestA58_AnswersBeforeTheEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const most = 12
	given := func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		toWrite := 0
		for _, file := range h.files {
			if file {
				toWrite++
			}
		}
		return toWrite == most
	}
	ends := make(chan struct{})
	h.onRead = func() { <-ends }
	h.run()
	for i := range most {
		h.update(fmt.Sprint("n", i))
	}
	h.until(given)
	h.signal()
	close(ends)
	h.end()
	assert.Len(t, h.answers(), most)
}

// An answer that cannot be written because the journal cannot be read is written once it can be. An answer to a
// message that the journal no longer has is given up.
func TestAnswers_journalCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprint("gone=", gone), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.readFails = errors.New("disk I/O error")
			if gone {
				h.readFails = fmt.Errorf("message: %w", journal.ErrNotFound)
			}
			h.run()
			defer h.end()
			_, first := h.update("")
			if gone {
				h.until(func() bool {
					h.mu.Lock()
					defer h.mu.Unlock()
					return h.readFails == nil
				})
				_, later := h.update("later")
				h.until(func() bool { return h.answersTo(later) == 1 }) // answers are written in their order
			} else {
				h.until(func() bool { return h.answersTo(first) == 1 })
			}
			assert.Equal(t, !gone, h.answersTo(first) == 1)
			assert.Empty(t, h.peers.outgoing)
		})
	}
}

// Words that go into a file keep nothing that acts on a terminal or changes how they are read.
func TestAnswers_plain(t *testing.T) {
	t.Parallel()
	const text = "a\x1b[2J\u202eb\u2066c\u200bd\u0085\tе́\r\ne\u2028f 👩\u200d💻 می\u200cخواهم\U000e0041"
	assert.Equal(t, "a [2Jbcd  е́  e f 👩\u200d💻 می\u200cخواهم", oneLine(text))
	assert.Equal(t, "a[2Jbcd\tе́\ne\nf 👩\u200d💻 می\u200cخواهم", plainText(text))
}

// A sidecar that is stopped while it writes an answer keeps nobody from taking over a message whose sidecar has
// ended. Only the answer itself waits for it.
func TestC50_AnotherIsStoppedWhileItWrites(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	name, id := h.update("")
	h.cutAt("when the answer may be written")
	h.run()
	h.until(h.wasCut)
	h.end()
	known := h.peers.Enabled.lines(h.target)
	require.Len(t, known, 1)
	one := known[0]
	one.Stage, one.Became, one.Owes = done, "acknowledged", true
	require.NoError(t, os.WriteFile(h.peers.Enabled.ledger(h.target.Path), []byte(one.text()), 0o600))

	stopped := answerLog{path: h.peers.Enabled.answerLog()}
	f, err := stopped.current()
	require.NoError(t, err)
	h.by, h.journal = "another", filepath.Join(t.TempDir(), "state")
	h.runs = func(string) bool { return false }
	require.NoError(t, os.Mkdir(h.journal, 0o700))
	h.run()
	defer h.end()
	h.until(func() bool {
		known := h.peers.Enabled.lines(h.target)
		return len(known) == 1 && known[0].By == "another"
	})
	release(f)
	h.until(func() bool { return h.marked(name) && h.answersTo(id) == 1 })
}

// Who looks without the lock may see half a line, and reads the whole one when it is there.
func TestAnswers_lookSeesHalfALine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "answers")
	a := answerLog{path: path}
	require.NoError(t, a.look(), "there is no file yet")
	assert.False(t, a.of["m"].Written)
	var text string
	for _, part := range []string{`{"to":"n"}` + "\n" + `{"to":"m","by":"one"`, `,"written":true}` + "\n"} {
		assert.False(t, a.of["m"].Written)
		text += part
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, a.look())
	}
	assert.True(t, a.of["m"].Written)
	assert.Contains(t, a.of, message.ID("n"))
	require.NoError(t, os.Remove(path))
	require.NoError(t, a.look())
	assert.False(t, a.of["m"].Written)
}

// update puts an update that wants an acknowledgement.
func (h *house) update(descriptor string) (name, id string) {
	m, yes := letter(h.asker, h.target, "update"), true
	m.Wanted = &yes
	name, err := h.target.Put(m, descriptor)
	require.NoError(h.t, err)
	return name, m.ID
}

func (h *house) answersTo(id string) (n int) {
	for _, a := range h.answers() {
		if a.ReplyTo == id {
			n++
		}
	}
	return n
}

// Of two sidecars, the one whose answer is there has answered. One that ended before it wrote its answer has
// not, and when it comes back it finds that the other has.
func TestC50_WhoHasAnswered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dir", "answers")
	one, two := &answerLog{path: path}, &answerLog{path: path}
	begin := func(a *answerLog, by string, written, there bool) (others bool) {
		require.NoError(t, a.locked(func(f *os.File) error {
			if others = a.others("m", by, func(string) bool { return there }); others {
				return nil
			}
			return a.note(f, answer{To: "m", By: by, ID: "of " + by, Written: written})
		}))
		return others
	}
	assert.False(t, begin(one, "one", false, false))
	assert.True(t, begin(two, "two", true, true), "its file is there")
	assert.False(t, begin(two, "two", true, false), "it ended before it was")
	assert.True(t, begin(one, "one", false, false), "and comes back")
	assert.False(t, begin(two, "two", true, false), "its own")

	// A line torn by a full disk, and a file that was shortened meanwhile.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"to":"x"`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, one.locked(func(f *os.File) error {
		for i := range answersMost / 100 {
			require.NoError(t, one.note(f, answer{To: message.ID(fmt.Sprint("n", i)), By: "one", ID: strings.Repeat("x", 100), Written: true}))
		}
		return nil
	}))
	last := message.ID(fmt.Sprint("n", answersMost/100-1))
	for range 2 {
		require.NoError(t, two.locked(func(*os.File) error {
			assert.True(t, two.others(last, "two", func(string) bool { return false }))
			return nil
		}))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(answersMost))
	require.NoError(t, one.locked(func(f *os.File) error {
		assert.True(t, one.others(last, "two", func(string) bool { return false }))
		// Another sidecar that is stopped while it writes keeps nobody waiting for long.
		assert.ErrorIs(t, two.locked(func(*os.File) error { return nil }), errBusy)
		return nil
	}))
}
