package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// A Gemini CLI that is alone in its directory: its chat is found by that, and its words are reported.
func TestFollower_gemini(t *testing.T) {
	p := newPlace(t, Gemini)
	a, _ := p.start(t)
	assert.Equal(t, p.home, a.Home)
	_, err := a.Find()
	require.ErrorIs(t, err, ErrNoTranscript)

	l := p.follow(t, a)
	l.until(t, "error "+ErrNoTranscript.Error())
	p.chat(t, "11111111-aaaa", time.Now())
	l.until(t, "bound 11111111-aaaa")
	assert.Equal(t, ByBeingAlone, l.bound.How)
	l.machine.Expect("ours")
	p.say("11111111-aaaa", "ours", "words")
	l.until(t, "prompt ours", "words words")
	turn, open := l.machine.Turn()
	require.True(t, open, "no end is written down")
	assert.True(t, turn.Prompts[0].Ours)

	found, err := a.Find()
	require.NoError(t, err)
	assert.Equal(t, l.bound.Path, found.Path)
	found, err = a.FindThread("11111111-aaaa")
	require.NoError(t, err)
	assert.Equal(t, l.bound.Path, found.Path)
	_, err = a.FindThread("11111111-bbbb")
	require.ErrorIs(t, err, ErrNoTranscript)

	tick()
	p.chat(t, "22222222-bbbb", time.Now()) // /clear
	l.until(t, "left", "bound 22222222-bbbb")
	p.say("22222222-bbbb", "theirs", "more")
	l.until(t, "words more")
	p.chat(t, "33333333-cccc", time.Now(), "subagent")
	p.say("33333333-cccc", "of the main agent", "to itself")
	p.say("22222222-bbbb", "last", "the last")
	l.until(t, "words the last")
	assert.NotContains(t, l.seen, "words to itself")
}

// Two agents in one directory that started together: neither chat is bound to one of them until a text identifies
// it, and a /clear of one is not attributed to the other.
func TestFollower_twoGeminisInOneDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Gemini)
	a, _ := p.start(t)
	_, end := p.start(t)
	p.chat(t, "11111111-aaaa", time.Now())
	p.chat(t, "22222222-bbbb", time.Now())
	l := p.follow(t, a)
	l.until(t, "error "+ErrAmbiguous.Error())

	l.follower.Seek("ours", time.Now())
	p.say("22222222-bbbb", "ours", "words")
	l.until(t, "bound 22222222-bbbb")
	assert.Equal(t, ByTypedText, l.bound.How)
	tick()
	p.say("11111111-aaaa", "another's", "x")
	p.chat(t, "33333333-cccc", time.Now())
	p.say("22222222-bbbb", "again", "more words")
	l.until(t, "words more words")
	assert.NotContains(t, l.seen, "left")

	end() // alone from here on
	p.say("22222222-bbbb", "still", "here")
	l.until(t, "words here")
	assert.NotContains(t, l.seen, "left")
	assert.NotContains(t, l.seen, "words x")
}

// A Gemini CLI that starts adds a note to the previous chat whenever it has time for it. The agent itself is in its
// own chat, even before it has begun that.
func TestFollower_aNoteInTheChatBefore(t *testing.T) {
	const note = `{"$set":{"summary":"what it was about","memoryScratchpad":{"version":1}}}`
	p := newPlace(t, Gemini)
	_, end := p.start(t)
	p.chat(t, "11111111-aaaa", time.Now().Add(-time.Hour))
	said := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339Nano)
	p.add("11111111-aaaa", fmt.Sprintf(`{"id":"u0","timestamp":%q,"type":"user","content":[{"text":"of yore"}]}`, said))
	p.add("11111111-aaaa", fmt.Sprintf(`{"$set":{"lastUpdated":%q}}`, said))
	end()
	a, _ := p.start(t)
	p.add("11111111-aaaa", note)
	l := p.follow(t, a)
	l.until(t, "error "+ErrNoTranscript.Error())
	p.chat(t, "22222222-bbbb", time.Now())
	l.until(t, "bound 22222222-bbbb")
	p.say("22222222-bbbb", "ours", "words")
	tick()
	p.add("11111111-aaaa", note)
	l.until(t, "prompt ours", "words words")
	p.say("22222222-bbbb", "again", "more words")
	l.until(t, "words more words")
	assert.NotContains(t, l.seen, "left")

	tick()
	p.say("11111111-aaaa", "taken up again", "old words") // /resume
	l.until(t, "left", "bound 11111111-aaaa")
}

// A Gemini CLI that starts removes the chats in which nothing has been said. The agent of such a chat continues it
// without the first line.
func TestFollower_geminiWithoutAHead(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Gemini)
	a, _ := p.start(t)
	p.chat(t, "11111111-aaaa", time.Now())
	l := p.follow(t, a)
	l.until(t, "bound 11111111-aaaa")
	p.start(t)
	require.NoError(t, os.Remove(p.path("11111111-aaaa")))
	p.say("11111111-aaaa", "one", "first")
	l.until(t, "words first")
	p.say("11111111-aaaa", "two", "second")
	l.until(t, "words second")

	l = p.follow(t, a)
	l.until(t, "error "+ErrAmbiguous.Error())
	l.follower.Seek("three", time.Now())
	p.say("11111111-aaaa", "three", "third")
	l.until(t, "bound 11111111", "words third")
	found, err := a.FindThread("11111111-aaaa")
	require.NoError(t, err)
	assert.Equal(t, l.bound.Path, found.Path)
}

func TestFollower_opencode(t *testing.T) {
	p := newPlace(t, OpenCode)
	a, end := p.start(t)
	l := p.follow(t, a)
	l.until(t, "error "+ErrNoTranscript.Error())
	l.machine.Expect("ours")
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("ours", "the answer") })
	l.until(t, "bound ses_1", "turn ended")
	require.Len(t, l.ended, 1)
	assert.True(t, l.ended[0].Prompts[0].Ours)
	assert.Equal(t, "the answer", l.ended[0].Words)
	assert.Equal(t, "1.18.33", l.bound.Version)
	assert.Equal(t, filepath.Join(p.home, "opencode.db")+"#ses_1", l.bound.Path)
	for _, find := range []func() (Transcript, error){
		a.Find, func() (Transcript, error) { return a.FindThread("ses_1") },
		func() (Transcript, error) { return a.FindText("ours", time.Now().Add(-time.Second), nil) },
	} {
		found, err := find()
		require.NoError(t, err)
		assert.Equal(t, l.bound.Path, found.Path)
	}

	p.talk(t, "ses_side", "ses_1", func(c *chatter) { c.turn("of the main agent", "to itself") })
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("more", "second") })
	l.until(t, "words second", "turn ended")
	p.talk(t, "ses_2", "", func(c *chatter) { c.turn("after /new", "third") })
	l.until(t, "bound ses_2", "turn ended")
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("back again", "fourth") })
	l.until(t, "bound ses_1", "turn ended")
	var words []string
	for _, turn := range l.ended {
		words = append(words, turn.Words)
	}
	assert.Equal(t, []string{"the answer", "second", "third", "fourth"}, words)

	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("the last", "last words") })
	end()
	l.until(t, "words last words")
	select {
	case err := <-l.served:
		assert.ErrorIs(t, err, ErrGone)
	case <-time.After(time.Minute):
		t.Fatal("it still follows")
	}
}

// Old events are past.
func TestFollower_opencodePast(t *testing.T) {
	p := newPlace(t, OpenCode)
	a, _ := p.start(t)
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("old", "old words") })
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("newer", "newer words") })
	l := p.follow(t, a)
	l.until(t, "bound ses_1")
	assert.Equal(t, []string{
		"past prompt old", "past words old words", "past turn ended", "past prompt newer", "past words newer words", "past turn ended", "bound ses_1",
	}, l.seen)
}

// Two agents in one directory share one database.
func TestFollower_twoOpencodesInOneDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t, OpenCode)
	a, _ := p.start(t)
	p.start(t)
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("one", "its own") })
	p.talk(t, "ses_2", "", func(c *chatter) { c.turn("two", "x") })
	l := p.follow(t, a)
	l.until(t, "error "+ErrAmbiguous.Error())
	l.follower.Seek("ours", time.Now())
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("ours", "words") })
	l.until(t, "bound ses_1", "turn ended")
	assert.Equal(t, ByTypedText, l.bound.How)
	p.talk(t, "ses_2", "", func(c *chatter) { c.turn("three", "x") })
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("four", "more words") })
	l.until(t, "words more words")
	assert.NotContains(t, l.seen, "left")
	assert.NotContains(t, l.seen, "words x")
}

// A neighbour may begin a conversation between two scans for neighbours. A new scan finds it before the
// conversation is taken for the agent's.
func TestBeside_aNeighbourThatHasJustCome(t *testing.T) {
	t.Parallel()
	p := newPlace(t, OpenCode)
	a, _ := p.start(t)
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("one", "x") })
	b := newBeside(a)
	defer b.close()
	now := time.Now()
	own, err := b.find(now, "")
	require.NoError(t, err)
	assert.Equal(t, "ses_1", own.Thread)
	p.start(t)
	p.talk(t, "ses_2", "", func(c *chatter) { c.turn("two", "y") })
	_, err = b.find(now.Add(rescan-1), own.Path)
	require.ErrorIs(t, err, ErrAmbiguous)
}

// The system reports open files without the links through which an agent names its home.
func TestDatabase_behindALink(t *testing.T) {
	t.Parallel()
	p := newPlace(t, OpenCode)
	a, _ := p.start(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(p.root, link))
	linked := *p
	linked.root = link
	b, _ := linked.start(t)
	path, open := a.databasePath()
	assert.False(t, open)
	same, _ := b.databasePath()
	assert.Equal(t, path, same)
	assert.Len(t, neighboursOf(a, time.Now()).starts, 1)
	assert.Len(t, neighboursOf(b, time.Now()).starts, 1)

	path = filepath.Join(p.home, "opencode-dev.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	same, open = recognised(t, OpenCode, "XDG_DATA_HOME="+link, path).databasePath()
	assert.True(t, open)
	assert.Equal(t, path, same)
}

// An agent that starts opens its database a little later, and perhaps not the default one.
func TestDatabase_thatIsOpenedLater(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := newRowArchive(Agent{Kind: OpenCode, Home: home, Tried: []int{os.Getpid()}}).(rowArchive)
	assert.Equal(t, filepath.Join(home, "opencode.db"), s.base.path)
	path := filepath.Join(home, "opencode-dev.db")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = s.since(time.Time{})
	require.ErrorIs(t, err, ErrNoTranscript, "it is empty")
	assert.Equal(t, path, s.base.path)
}

// Reading never delays the agent: it writes, and removes its log, as if it were alone. We leave there what is only
// in its log.
func TestDatabase_theAgentIsNotHeldUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t, OpenCode)
	a, end := p.start(t)
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("one", "x") })
	l := p.follow(t, a)
	l.until(t, "bound ses_1")
	for i := range 20 {
		p.talk(t, "ses_1", "", func(c *chatter) { c.turn(fmt.Sprint("question ", i), "x") })
		var busy, log, done int
		require.NoError(t, p.db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done))
		assert.Zero(t, busy)
	}
	l.until(t, "prompt question 19")

	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("in the log", "alone") })
	l.until(t, "words alone")
	before, err := os.ReadFile(p.db.path + "-wal")
	require.NoError(t, err)
	end()
	require.ErrorIs(t, <-l.served, ErrGone) // ours is closed too
	after, err := os.ReadFile(p.db.path + "-wal")
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// A database of another layout is reported as such, and no database is created where there is none.
func TestDatabase_whatCannotBeRead(t *testing.T) {
	p := newPlace(t, OpenCode)
	a, _ := p.start(t)
	p.talk(t, "ses_1", "", func(c *chatter) { c.turn("one", "x") })
	_, err := p.db.Exec("ALTER TABLE event RENAME TO happened")
	require.NoError(t, err)
	l := p.follow(t, a)
	l.until(t, "error transcript")
	var unreadable *UnreadableError
	require.True(t, errors.As(l.err, &unreadable))
	assert.Contains(t, unreadable.Why, "no such table: event")
	_, err = p.db.Exec("ALTER TABLE session RENAME COLUMN directory TO place")
	require.NoError(t, err)
	_, err = a.Find()
	require.True(t, errors.As(err, &unreadable), "%v", err)

	other := newPlace(t, OpenCode)
	require.NoError(t, other.db.Close())
	b, _ := other.start(t)
	require.NoError(t, os.Remove(filepath.Join(other.home, "opencode.db")))
	_, err = b.Find()
	require.ErrorIs(t, err, ErrNoTranscript)
	left, err := os.ReadDir(other.home)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// workplace is a directory in which agents of one kind work, and the home that they share.
type workplace struct {
	kind Kind
	dir  string
	home string
	root string
	db   *store
	seqs map[string]int
	ids  int
}

// store is the database as opencode itself opens it.
type store struct {
	*sql.DB
	path string
}

func newPlace(t *testing.T, kind Kind) *workplace {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := &workplace{kind: kind, root: root, dir: filepath.Join(root, "work"), seqs: map[string]int{}}
	require.NoError(t, os.MkdirAll(p.dir, 0o700))
	if kind == Gemini {
		p.home = filepath.Join(root, ".gemini")
		require.NoError(t, os.MkdirAll(filepath.Join(p.home, "tmp", "work-1", "chats"), 0o700))
		names := fmt.Sprintf(`{"projects":{%q:"work-1"}}`, p.dir)
		require.NoError(t, os.WriteFile(filepath.Join(p.home, "projects.json"), []byte(names), 0o600))
		return p
	}
	p.home = filepath.Join(root, "opencode")
	require.NoError(t, os.MkdirAll(p.home, 0o700))
	path := filepath.Join(p.home, "opencode.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	p.db = &store{db, path}
	_, err = db.Exec(`
		CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, version text NOT NULL,
			time_created integer NOT NULL, time_updated integer NOT NULL);
		CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL, data text NOT NULL);
		CREATE UNIQUE INDEX event_aggregate_seq_idx ON event (aggregate_id, seq);`)
	require.NoError(t, err)
	return p
}

// start starts a process that looks like such an agent; the test ends it.
func (p *workplace) start(t *testing.T) (a Agent, end func()) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Args[0] = string(p.kind)
	cmd.Env = []string{"HOME=" + p.root, "XDG_DATA_HOME=" + p.root}
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	require.Eventually(t, func() bool { return len(process.Arguments(cmd.Process.Pid)) == 2 }, time.Minute, time.Millisecond)
	a, err := Recognise(message.Process{PID: cmd.Process.Pid})
	require.NoError(t, err)
	require.Equal(t, p.kind, a.Kind)
	require.Equal(t, p.dir, a.Dir)
	return a, end
}

func (p *workplace) life(a Agent) *life {
	return &life{kind: p.kind, agent: a, home: p.home, served: make(chan error, 1)}
}

func (p *workplace) follow(t *testing.T, a Agent) *life {
	t.Helper()
	l := p.life(a)
	l.follow(t, true)
	return l
}

func (p *workplace) path(thread string) string {
	id, _, _ := strings.Cut(thread, "-")
	return filepath.Join(p.home, "tmp", "work-1", "chats", "session-2026-11-21T16-00-"+id+".jsonl")
}

// chat begins a chat of Gemini CLI.
func (p *workplace) chat(t *testing.T, thread string, began time.Time, kind ...string) {
	t.Helper()
	kind = append(kind, "main")
	p.add(thread, fmt.Sprintf(`{"sessionId":%q,"projectHash":"x","startTime":%q,"kind":%q}`, thread, began.UTC().Format(time.RFC3339Nano), kind[0]))
}

func (p *workplace) say(thread, prompt, words string) {
	stamp := func() string { tick(); return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }
	p.ids++
	p.add(thread, fmt.Sprintf(`{"id":"u%d","timestamp":%q,"type":"user","content":[{"text":%q}]}`, p.ids, stamp(), prompt))
	p.add(thread, fmt.Sprintf(`{"id":"g%d","timestamp":%q,"type":"gemini","model":"m","content":%q}`, p.ids, stamp(), words))
}

func (p *workplace) add(thread, line string) {
	f, err := os.OpenFile(p.path(thread), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// talk writes events of a conversation of opencode, one by one.
func (p *workplace) talk(t *testing.T, thread, parent string, play func(c *chatter)) {
	t.Helper()
	tick()
	p.ids++
	c := newChatter(time.Now())
	c.ids = p.ids * 1000
	if p.seqs[thread] == 0 {
		c.add("session.created.1", `{"info":{"id":%q,"parentID":%q,"directory":%q,"version":"1.18.33"}}`, thread, parent, p.dir)
		_, err := p.db.Exec("INSERT INTO session VALUES (?, nullif(?, ''), ?, '1.18.33', ?, ?)", thread, parent, p.dir, c.ms, c.ms)
		require.NoError(t, err)
	}
	play(c)
	for _, one := range c.rows {
		seq := p.seqs[thread]
		p.seqs[thread]++
		_, err := p.db.ExecContext(context.Background(), "INSERT INTO event VALUES (?, ?, ?, ?, ?)",
			fmt.Sprint(thread, seq), thread, seq, one.kind, string(one.data))
		require.NoError(t, err)
	}
	_, err := p.db.Exec("UPDATE session SET time_updated = ? WHERE id = ?", time.Now().UnixMilli(), thread)
	require.NoError(t, err)
}
