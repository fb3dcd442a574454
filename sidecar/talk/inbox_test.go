package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestK11_K12_K13_K14_K26_C28_check(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	assert.Empty(t, p.unread(t, CheckOptions{Clear: true}))
	assert.False(t, p.Unread())
	for _, text := range numbered(5) {
		require.NoError(t, p.say(t, 9001, text))
		assert.True(t, p.Unread())
	}
	all := numbered(5)
	assert.Equal(t, all, texts(p.unread(t, CheckOptions{})))
	assert.Equal(t, all, texts(p.unread(t, CheckOptions{})), "without --clear the same again")
	assert.Equal(t, all[:2], texts(p.unread(t, CheckOptions{Limit: 2})))
	assert.Equal(t, all[:2], texts(p.unread(t, CheckOptions{Limit: 2, Clear: true})))
	assert.True(t, p.Unread(), "three are left")
	assert.Equal(t, all[2:], texts(p.unread(t, CheckOptions{Clear: true})))
	assert.False(t, p.Unread())
	assert.Empty(t, p.unread(t, CheckOptions{}))
}

func TestK44_checkWhereNothingEverListened(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	err := who.Port(9001).Check(CheckOptions{}, func([]Message) error { return nil })
	assert.Equal(t, ListenerNotRunning, codeOf(err))
	assert.EqualError(t, err, "No listener found for port 9001")
}

func TestK4_messageFileElsewhere(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	file := filepath.Join(t.TempDir(), "mine.jsonl")
	p := who.start(Wish{MessageFile: file})
	require.NoError(t, p.say(t, 9001, "there"))
	assert.Len(t, lines(t, file), 1)
	assert.NoFileExists(t, p.Inbox())
	assert.Equal(t, []string{"there"}, texts(p.unread(t, CheckOptions{Clear: true})))
	l, ok := p.Listening()
	require.True(t, ok)
	assert.Equal(t, file, l.MessageFile)
}

// Unread messages in a message file are still found after its listener stops, and the callback stays for them
// until a check takes them: while nobody listens, and while somebody listens for another file.
func TestK4_K13_K26_messageFileAfterStop(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(who *person, p Port){
		"stopped":               func(*person, Port) {},
		"of an earlier version": func(*person, Port) {},
		"no sidecar":            func(who *person, _ Port) { who.end() },
		"its own inbox":         func(who *person, p Port) { who.start(Wish{Port: p.Number}) },
		"the same file":         func(who *person, p Port) { who.start(Wish{Port: p.Number, MessageFile: p.remembered()[0]}) },
		"another file": func(who *person, p Port) {
			who.start(Wish{Port: p.Number, MessageFile: filepath.Join(t.TempDir(), "b")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who := newPerson(t).keep()
			p := who.start(Wish{MessageFile: filepath.Join(t.TempDir(), "mine.jsonl")})
			for _, text := range numbered(3) {
				require.NoError(t, p.say(t, 9001, text))
			}
			if name == "of an earlier version" { // which wrote the wish, and nothing else
				require.NoError(t, os.Remove(p.files()))
			}
			_, err := p.Unwant()
			require.NoError(t, err)
			_, err = who.Keeper.Look(t.Context())
			require.NoError(t, err)
			again(who, p)
			all := numbered(3)
			if _, listens := p.Listening(); listens {
				require.NoError(t, p.say(t, 9001, "later"))
				all = append(all, "later")
			}
			assert.True(t, p.Unread(), "there is something to check for")
			assert.Equal(t, all, texts(p.unread(t, CheckOptions{})))
			assert.Equal(t, all[:2], texts(p.unread(t, CheckOptions{Clear: true, Limit: 2})))
			assert.True(t, p.Unread(), "and still is")
			assert.Equal(t, all[2:], texts(p.unread(t, CheckOptions{Clear: true})))
			assert.False(t, p.Unread())
			assert.Empty(t, p.unread(t, CheckOptions{}))
		})
	}
}

// Messages in several files are printed, and cleared, in the order in which they came.
func TestK12_K14_severalMessageFiles(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	number, file := freePort(t), filepath.Join(t.TempDir(), "mine.jsonl")
	for i, path := range []string{"", file, "", file} {
		p := who.start(Wish{Port: number, MessageFile: path})
		require.NoError(t, p.say(t, 9001, fmt.Sprintf("message %d", i)))
		_, err := p.Unwant()
		require.NoError(t, err)
		_, err = who.Keeper.Look(t.Context())
		require.NoError(t, err)
	}
	p, all := who.Port(number), numbered(4)
	assert.Equal(t, all, texts(p.unread(t, CheckOptions{})))
	assert.Equal(t, all[:3], texts(p.unread(t, CheckOptions{Clear: true, Limit: 3})))
	assert.True(t, p.Unread())
	assert.Equal(t, all[3:], texts(p.unread(t, CheckOptions{Clear: true})))
	assert.False(t, p.Unread())
}

// Another port gets a former message file once nothing in it is unread, and not before. Then the file is
// forgotten, as is one that holds something else by now: it is neither read nor emptied, and the callback does
// not stay for it.
func TestK26_messageFileOfBeforeIsAnothers(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	file := filepath.Join(t.TempDir(), "mine.jsonl")
	p := who.start(Wish{MessageFile: file})
	require.NoError(t, p.say(t, 9001, "one"))
	_, err := p.Unwant()
	require.NoError(t, err)
	_, err = who.Keeper.Look(t.Context())
	require.NoError(t, err)
	number := freePort(t)
	refused := who.want(number, Wish{MessageFile: file})
	assert.Equal(t, FileError, codeOf(refused))
	assert.ErrorContains(t, refused, fmt.Sprintf("has unread messages of port %d", p.Number))
	assert.True(t, p.Unread())
	assert.Equal(t, []string{"one"}, texts(p.unread(t, CheckOptions{Clear: true})))
	q := who.start(Wish{Port: number, MessageFile: file})
	require.NoError(t, q.say(t, 9001, "two"))
	assert.Empty(t, p.unread(t, CheckOptions{Clear: true}))
	assert.False(t, p.Unread())
	assert.Equal(t, []string{"two"}, texts(q.unread(t, CheckOptions{})))
	_, err = q.Unwant()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("a diary\n"), 0o600))
	for _, one := range []Port{p, q} {
		assert.Empty(t, one.unread(t, CheckOptions{Clear: true}))
		assert.False(t, one.Unread())
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "a diary\n", string(text))
}

// The inbox of a port is never another port's message file, whether or not somebody listens or ever did.
func TestK7_anInboxIsNoOthersMessageFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := Home{Dir: filepath.Join(dir, ".ai-talk"), Claims: filepath.Join(dir, "claims")}
	p, q := who.Port(freePort(t)), who.Port(freePort(t))
	alias := filepath.Join(dir, "alias")
	require.NoError(t, os.Symlink(who.Dir, alias))
	through := filepath.Join(alias, fmt.Sprint(p.Number), "inbox.jsonl")
	require.NoError(t, p.make())
	require.NoError(t, os.WriteFile(p.Inbox(), Message{Text: "one"}.appendLine(nil), 0o600))
	require.NoError(t, q.make())
	require.NoError(t, q.remember(through)) // an earlier version let it
	assert.Empty(t, q.unread(t, CheckOptions{Clear: true}))
	assert.Equal(t, []string{"one"}, texts(p.unread(t, CheckOptions{})))
	for _, path := range []string{p.Inbox(), through} {
		refused := who.want(q.Number, Wish{MessageFile: path})
		assert.Equal(t, FileError, codeOf(refused))
		assert.ErrorContains(t, refused, fmt.Sprintf("is the inbox of port %d", p.Number))
		require.NoError(t, who.want(p.Number, Wish{MessageFile: path}), "its own")
		w, err := p.Wanted()
		require.NoError(t, err)
		assert.Equal(t, p.Inbox(), w.MessageFile)
		_, err = p.Unwant()
		require.NoError(t, err)
	}
}

// Exactly the printed messages are removed, and only once they are printed.
func TestK13_K26_whatIsNotPrintedStays(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	require.NoError(t, p.say(t, 9001, "one"))
	broken := errors.New("broken pipe")
	err := p.Check(CheckOptions{Clear: true}, func([]Message) error { return broken })
	require.ErrorIs(t, err, broken)
	// What comes during printing stays, and so does the callback.
	require.NoError(t, p.Check(CheckOptions{Clear: true}, func(all []Message) error {
		require.Equal(t, []string{"one"}, texts(all))
		return p.say(t, 9001, "two")
	}))
	assert.True(t, p.Unread())
	assert.Equal(t, []string{"two"}, texts(p.unread(t, CheckOptions{Clear: true})))
	assert.False(t, p.Unread())
}

// If what stays in the inbox cannot be written, as on a full disk, that is known before anything is printed: the
// error alone is printed, and all messages stay.
func TestCheck_noRoomForWhatStays(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), strings.Repeat("x", 250)) // beside it no file with a longer name can be made
	p := newPerson(t).keep().start(Wish{MessageFile: file})
	require.NoError(t, p.say(t, 9001, "one"))
	require.NoError(t, p.say(t, 9001, "two"))
	printed := 0
	err := p.Check(CheckOptions{Clear: true, Limit: 1}, func([]Message) error { printed++; return nil })
	assert.Equal(t, FileError, codeOf(err))
	assert.ErrorContains(t, err, "clear: write")
	assert.Zero(t, printed)
	assert.Equal(t, []string{"one", "two"}, texts(p.unread(t, CheckOptions{})))
	assert.Equal(t, []string{"one", "two"}, texts(p.unread(t, CheckOptions{Clear: true})), "to empty it needs no room")
	assert.False(t, p.Unread())
}

// The room that is taken up before messages are printed is given back, and leaves no file.
func TestCheck_givesTheRoomBack(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	for _, text := range numbered(3) {
		require.NoError(t, p.say(t, 9001, text))
	}
	before, err := os.ReadDir(p.path(""))
	require.NoError(t, err)
	err = p.Check(CheckOptions{Clear: true, Limit: 2}, func(all []Message) error {
		assert.Equal(t, numbered(2), texts(all))
		during, err := os.ReadDir(p.path(""))
		assert.Len(t, during, len(before))
		return err
	})
	require.NoError(t, err)
	assert.Equal(t, numbered(3)[2:], texts(p.unread(t, CheckOptions{})))
}

// A slow reader of what a check prints delays nobody else.
func TestK13_slowReader(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	require.NoError(t, p.say(t, 9001, "one"))
	require.NoError(t, p.Check(CheckOptions{Clear: true}, func([]Message) error {
		for _, text := range numbered(5) {
			require.NoError(t, p.say(t, 9001, text))
		}
		assert.Len(t, p.unread(t, CheckOptions{}), 6)
		return nil
	}))
	assert.Equal(t, numbered(5), texts(p.unread(t, CheckOptions{Clear: true})))
}

// A callback or an inbox that leads elsewhere is not followed, and nothing waits for it.
func TestH63_linksAndPipesInTheirPlace(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	victim := filepath.Join(t.TempDir(), "bashrc")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	for _, put := range []func(path string) error{
		func(path string) error { return os.Symlink(victim, path) },
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		for _, path := range []string{p.Callback(), p.Inbox()} {
			_ = os.Remove(path)
			require.NoError(t, put(path))
			assert.Equal(t, NotStored, codeOf(p.say(t, 9001, "x")))
			require.NoError(t, os.Remove(path))
		}
	}
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))
	require.NoError(t, p.say(t, 9001, "goes on"))
	assert.Equal(t, []string{"goes on"}, texts(p.unread(t, CheckOptions{})))
}

// An inbox or outbox that has another name elsewhere is neither read, appended to nor emptied.
func TestH54_filesWithAnotherName(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	victim := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.WriteFile(victim, []byte("mine\n"), 0o600))
	_ = os.Remove(p.Inbox())
	require.NoError(t, os.Link(victim, p.Inbox()))
	assert.Equal(t, NotStored, codeOf(p.say(t, 9001, "x")))
	err := p.Check(CheckOptions{Clear: true}, func([]Message) error { return nil })
	assert.ErrorContains(t, err, "a hard link")
	sent := who.Port(9002).Outbox()
	require.NoError(t, os.MkdirAll(filepath.Dir(sent), 0o700))
	require.NoError(t, os.Link(victim, sent))
	assert.ErrorContains(t, who.LogSent(Sending{From: 9002, To: 9001, Body: []byte("x")}, time.Now()), "a hard link")
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "mine\n", string(text))
	require.NoError(t, os.Remove(p.Inbox()))
	require.NoError(t, p.say(t, 9001, "goes on"))
	assert.Equal(t, []string{"goes on"}, texts(p.unread(t, CheckOptions{})))
}

func TestK22_checkNeedsNoListener(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	other := who.another()
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{}))
	p := who.Port(number)
	until(t, func() bool { _, ok := p.Listening(); return ok }, "it is served within a second")
	require.NoError(t, p.say(t, 9001, "one"))
	other.signal(t, syscall.SIGSTOP)
	assert.Equal(t, []string{"one"}, texts(p.unread(t, CheckOptions{Clear: true})))
	assert.Empty(t, p.unread(t, CheckOptions{}))
	other.signal(t, syscall.SIGCONT)
	require.NoError(t, p.say(t, 9001, "two"))
	assert.Equal(t, []string{"two"}, texts(p.unread(t, CheckOptions{})))
}

// 20,000 messages of several senders, while two checks clear as fast as they can: each message is printed once,
// and those of one sender in order.
func TestK51_K53_clearingLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	total := 20_000
	if testing.Short() {
		total = 2000
	}
	const senders = 4
	who := newPerson(t).configure(Config{MaxInbox: 1000, Sync: new(bool)}).keep()
	p := who.start(Wish{})
	var mu sync.Mutex
	var got []Message
	done, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for n := range 2 {
		readers.Go(func() {
			for last := false; !last; {
				last = done.Err() != nil
				err := p.Check(CheckOptions{Clear: true, Limit: 700 * n}, func(all []Message) error {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, all...)
					return nil
				})
				assert.NoError(t, err)
			}
		})
	}
	for n := range senders {
		writers.Go(func() { p.flood(t, 9001+n, total/senders) })
	}
	writers.Wait()
	stop()
	readers.Wait()
	require.Len(t, got, total)
	next := map[int]int{}
	for _, m := range got {
		require.Equal(t, fmt.Sprint(next[m.Sender]), m.Text, "of port %d", m.Sender)
		next[m.Sender]++
	}
	assert.False(t, p.Unread())
}

// flood sends numbers on one connection, in order, each repeated until it is stored.
func (p Port) flood(t *testing.T, from, n int) {
	said, ours := p.advertised()
	if !assert.True(t, ours) {
		return
	}
	c := p.dial(t)
	f := newAcked(c, said)
	for next := 0; next < n; {
		k := min(n-next, 200)
		var out []byte
		for i := range k {
			out = AppendFrame(out, marshal(envelope{ID: fmt.Sprint(next + i), From: from, Text: fmt.Sprint(next + i)}))
		}
		stored, full := f.exchange(t, out, k)
		if !assert.True(t, full || stored == k) {
			return
		}
		next += stored
	}
}

// Any interleaving of arrivals and checks returns each message once, in order. The callback is there exactly
// while something is unread.
func TestK26_K51_rapid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		h := Home{Dir: filepath.Join(dir, fmt.Sprint(round)), Claims: dir}
		p := h.Port(9001)
		if err := p.make(); err != nil {
			t.Fatal(err)
		}
		file := appender{path: p.Inbox(), callback: p.Callback(), most: 10}
		if err := file.open(); err != nil {
			t.Fatal(err)
		}
		defer file.close()
		var inbox []string
		sent := 0
		check := func(opts CheckOptions) {
			want := inbox
			if opts.Limit > 0 {
				want = want[:min(len(want), opts.Limit)]
			}
			err := p.Check(opts, func(all []Message) error {
				if !slices.Equal(texts(all), want) {
					t.Fatalf("printed %q, not %q", texts(all), want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if opts.Clear {
				inbox = inbox[len(want):]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				var batch [][]byte
				var said []string
				for range rapid.IntRange(1, 4).Draw(t, "n") {
					said = append(said, fmt.Sprint(sent))
					batch = append(batch, Message{Text: fmt.Sprint(sent)}.appendLine(nil))
					sent++
				}
				n, err := file.append(batch)
				if room := 10 - len(inbox); n != min(room, len(batch)) || (err != nil) != (n < len(batch)) {
					t.Fatalf("%d of %d, %v: there was room for %d", n, len(batch), err, room)
				}
				inbox = append(inbox, said[:n]...)
			},
			"look": func(t *rapid.T) { check(CheckOptions{Limit: rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "limit")}) },
			"clear": func(t *rapid.T) {
				check(CheckOptions{Clear: true, Limit: rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "limit")})
			},
			"restart": func(t *rapid.T) {
				file.close()
				file = appender{path: p.Inbox(), callback: p.Callback(), most: 10}
				if err := file.open(); err != nil {
					t.Fatal(err)
				}
			},
			"rewritten by hand": func(t *rapid.T) {
				text, err := os.ReadFile(p.Inbox())
				if err == nil {
					err = os.Remove(p.Inbox())
				}
				if err == nil {
					err = os.WriteFile(p.Inbox(), text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if p.Unread() != (len(inbox) > 0) {
					t.Fatalf("%d are unread, and the callback says %v", len(inbox), p.Unread())
				}
			},
		})
	})
}

// What a check does not read, because it is beyond its limit, stays when the rest is cleared.
func TestCheck_moreThanIsReadStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, maxInboxFile)) // a hole, which takes no place on the disk
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("unread\n")
	require.NoError(t, err)
	require.NoError(t, found{places: [][2]int64{{0, maxInboxFile}}}.remove(path, path+".callback"))
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "unread\n", string(left))
}

// Lines that somebody else wrote are shown as they are, and hold nothing back.
func TestK12_foreignLines(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	p := who.Port(9001)
	require.NoError(t, p.make())
	require.NoError(t, os.WriteFile(p.Inbox(), []byte("no json\n"+`{"timestamp":"2026-01-16T10:30:45.123456","sender_port":9002,"message":"a","more":1}`), 0o600))
	file := appender{path: p.Inbox(), callback: p.Callback(), most: 10}
	require.NoError(t, file.open())
	defer file.close()
	all := p.unread(t, CheckOptions{Clear: true})
	require.Len(t, all, 2)
	assert.Equal(t, "no json", all[0].Text)
	assert.Equal(t, Message{Timestamp: "2026-01-16T10:30:45.123456", Sender: 9002, Text: "a"}, all[1])
}

// A last line without an end, as editors leave it, is kept too: only the beginning of a line of ours is taken
// for one that was cut off.
func TestK12_K48_foreignEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"text": "no json, no end", "JSON": `{"message":"a"}`, "longer than any line of ours": `{"message":"` + strings.Repeat("x", maxEnvelope) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t).Port(9001)
			require.NoError(t, p.make())
			require.NoError(t, os.WriteFile(p.Inbox(), []byte(`{"timestamp":"x","sender_port":1,"message":"before"}`+"\n"+end), 0o600))
			file := appender{path: p.Inbox(), callback: p.Callback(), most: 10}
			require.NoError(t, file.open())
			defer file.close()
			n, err := file.append([][]byte{Message{Text: "after"}.appendLine(nil)})
			require.NoError(t, err)
			assert.Equal(t, 1, n)
			all := p.unread(t, CheckOptions{})
			require.Len(t, all, 3)
			assert.Equal(t, "before", all[0].Text)
			assert.Contains(t, []string{end, "a", strings.Repeat("x", maxEnvelope)}, all[1].Text)
			assert.Equal(t, "after", all[2].Text)
		})
	}
	for name, end := range map[string]string{
		"begun": `{"tim`, "cut": `{"timestamp":"2026-01-16T10:30:45.123456","sender_port":9002,"mess`, "zeros after a power cut": "\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t).Port(9001)
			require.NoError(t, p.make())
			require.NoError(t, os.WriteFile(p.Inbox(), []byte(end), 0o600))
			file := appender{path: p.Inbox(), callback: p.Callback(), most: 10}
			require.NoError(t, file.open())
			defer file.close()
			assert.Empty(t, p.unread(t, CheckOptions{}))
			_, err := file.append([][]byte{Message{Text: "after"}.appendLine(nil)})
			require.NoError(t, err)
			assert.Equal(t, []string{"after"}, texts(p.unread(t, CheckOptions{})))
		})
	}
}

// The longest line of an inbox has a whole mebibyte in which each byte is escaped. A check prints it in its
// place, and takes it away like any other.
func TestK36_K12_longestLine(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	worst := strings.Repeat("\x01", MaxMessage)
	require.NoError(t, p.say(t, 9001, "before"))
	require.NoError(t, p.say(t, 9001, worst))
	require.NoError(t, p.raw(t, fmt.Sprintf("%d:%s", MaxMessage, worst)))
	require.NoError(t, p.say(t, 9001, "after"))
	want := []string{"before", worst, worst, "after"}
	assert.Equal(t, want, texts(p.unread(t, CheckOptions{})))
	assert.Equal(t, want[:2], texts(p.unread(t, CheckOptions{Clear: true, Limit: 2})))
	assert.Equal(t, want[2:], texts(p.unread(t, CheckOptions{Clear: true})))
	assert.Empty(t, p.unread(t, CheckOptions{}))
}

// A message that cannot be written whole is not there at all, and its sender is told.
func TestK48_cannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t).keep().start(Wish{})
	require.NoError(t, p.say(t, 9001, "before"))
	require.NoError(t, os.Remove(p.Callback()))
	require.NoError(t, os.Mkdir(p.Callback(), 0o700), "so that the callback cannot be written")
	assert.Equal(t, NotStored, codeOf(p.say(t, 9001, "not stored")))
	assert.Error(t, p.raw(t, "10:not stored"))
	require.NoError(t, os.Remove(p.Callback()))
	require.NoError(t, p.say(t, 9001, "after"))
	assert.Equal(t, []string{"before", "after"}, texts(p.unread(t, CheckOptions{})))
}

// A message file may belong to nobody else and hold nothing else, because messages are appended to it and a
// check removes them.
func TestH55_H57_messageFileOfOthers(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	rc := filepath.Join(t.TempDir(), "rc")
	require.NoError(t, os.WriteFile(rc, []byte("export A=1\nexport B=2"), 0o600))
	assert.Equal(t, FileError, codeOf(who.want(freePort(t), Wish{MessageFile: rc})))
	text, err := os.ReadFile(rc)
	require.NoError(t, err)
	assert.Equal(t, "export A=1\nexport B=2", string(text))

	for _, name := range []string{"/etc/passwd", filepath.Join(t.TempDir(), "../../../../../../../../etc/passwd")} {
		before, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, FileError, codeOf(who.want(freePort(t), Wish{MessageFile: name})), name)
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
	cut := filepath.Join(t.TempDir(), "in")
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{MessageFile: cut + "\x00box"}))
	unserved, err := who.Keeper.Look(t.Context())
	require.NoError(t, err)
	require.Len(t, unserved, 1)
	assert.Equal(t, FileError, codeOf(unserved[0].Err), "a name that the system would cut")
	assert.NoFileExists(t, cut)
	_, err = who.Port(number).Unwant()
	require.NoError(t, err)
	broken := filepath.Join(t.TempDir(), "in\nbox")
	require.NoError(t, os.WriteFile(broken, []byte("mine\n"), 0o600))
	refused := who.want(freePort(t), Wish{MessageFile: broken})
	assert.Equal(t, FileError, codeOf(refused))
	assert.NotContains(t, refused.Error(), "\n", "the name is quoted")

	for _, name := range []string{"/proc/self/environ", "/dev/zero"} { // neither is read or written
		number := freePort(t)
		if err := who.want(number, Wish{MessageFile: name}); err != nil {
			assert.Equal(t, FileError, codeOf(err), name)
			continue
		}
		unserved, err := who.Keeper.Look(t.Context())
		require.NoError(t, err)
		require.Len(t, unserved, 1, name)
		assert.Equal(t, FileError, codeOf(unserved[0].Err), name)
		assert.Error(t, who.Port(number).Check(CheckOptions{}, func(all []Message) error {
			assert.Empty(t, all, name)
			return nil
		}), name)
		_, err = who.Port(number).Unwant()
		require.NoError(t, err)
	}

	shared := filepath.Join(t.TempDir(), "inbox")
	require.NoError(t, who.want(freePort(t), Wish{MessageFile: shared}))
	assert.Equal(t, FileError, codeOf(who.want(freePort(t), Wish{MessageFile: shared})), "it is another port's")
	kept := filepath.Join(t.TempDir(), "kept")
	require.NoError(t, os.WriteFile(kept, []byte(`{"timestamp":"x","sender_port":1,"message":"old"}`+"\n"), 0o600))
	require.NoError(t, who.want(freePort(t), Wish{MessageFile: kept}), "messages of before stay")
}
