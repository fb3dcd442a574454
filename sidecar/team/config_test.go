package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfig_asTheLessonWritesIt(t *testing.T) {
	t.Parallel()
	d := Dir{t.TempDir()}
	require.NoError(t, os.Mkdir(d.at(), 0o755))
	list := func() string {
		c, err := d.Config()
		require.NoError(t, err)
		return c.String() + "\n"
	}
	assert.Equal(t, "No teammates.\n", list())
	assert.Equal(t, list(), python(t, d, "", "list"))
	python(t, d, "", "member", "alice", "frontend dev", "working", "then", "member", "José", "\"tester\" é", "shutdown")
	assert.Equal(t, "Team: default\n  alice (frontend dev): working\n  José (\"tester\" é): shutdown\n", list())
	assert.Equal(t, list(), python(t, d, "", "list"))
}

func TestConfig_aLineAMember(t *testing.T) {
	c := Config{TeamName: "a\nb", Members: []Member{{"alice", "dev): idle\r\n  bob (tester", "working"}}}
	assert.Equal(t, "Team: a b\n  alice (dev): idle    bob (tester): working", c.String())
}

// The lesson empties its file before it writes it. A reader at that moment reads it once more.
func TestConfig_whileItIsWritten(t *testing.T) {
	d := newTeam(t)
	whole, err := os.ReadFile(d.at(configName))
	require.NoError(t, err)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				f, err := os.OpenFile(d.at(configName), os.O_WRONLY|os.O_TRUNC, 0)
				if err == nil {
					_, _ = f.Write(whole[:30])
					_, _ = f.Write(whole[30:])
					_ = f.Close()
				}
				time.Sleep(time.Millisecond)
			}
		}
	}()
	for range 200 {
		c, err := d.Config()
		require.NoError(t, err)
		assert.Len(t, c.Members, 2)
	}
	close(stop)
	<-stopped
}

// On a busy computer, the writer may have to wait for a processor after it has emptied the file. Another fault is told sooner.
func TestConfig_itsWriterWaits(t *testing.T) {
	d := newTeam(t)
	whole, err := os.ReadFile(d.at(configName))
	require.NoError(t, err)
	for _, early := range []int{0, 30, len(whole) - 3} {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, os.WriteFile(d.at(configName), whole[:early], 0o644))
			written := make(chan error, 1)
			go func() {
				time.Sleep(writtenTries * readPause / 2)
				written <- os.WriteFile(d.at(configName), whole, 0o644)
			}()
			c, err := d.Config()
			require.NoError(t, err)
			assert.Len(t, c.Members, 2)
			require.NoError(t, <-written)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, os.WriteFile(d.at(configName), []byte(`{"members": ]}`), 0o644))
		began := time.Now()
		_, err := d.Config()
		require.ErrorContains(t, err, "invalid character ']'")
		assert.Less(t, time.Since(began), readTries*readPause)
	})
}

// Whatever stands in place of a file of a team is neither read nor written, and keeps nobody waiting.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.jsonl")
	require.NoError(t, os.WriteFile(secret, []byte(`{"content":"secret"}`+"\n"), 0o600))
	put := map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(secret, path) },
		"dangling":  func(path string) error { return os.Symlink(secret+".new", path) },
		"hard link": func(path string) error { return os.Link(secret, path) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"sparse": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 10<<30)
		},
	}
	if os.Geteuid() == 0 { // only root may give a file away
		put["another user's"] = func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(`{"content":"secret"}`+"\n"), 0o644), os.Chown(path, 4321, -1))
		}
	}
	for name, hostile := range put {
		for _, file := range []string{"inbox/alice.jsonl", "inbox/.alice.jsonl.0198c0de-0000-7000-8000-00000000a11c", "config.json", "inbox/alice.broken"} {
			t.Run(fmt.Sprintf("%s at %s", name, file), func(t *testing.T) {
				t.Parallel()
				d := newTeam(t)
				require.NoError(t, os.Mkdir(d.at(inboxes), 0o755))
				_ = os.Remove(d.at(file))
				if file == "inbox/alice.broken" {
					require.NoError(t, os.WriteFile(d.inbox("alice"), []byte("no JSON\n{}\n"), 0o600))
				}
				require.NoError(t, hostile(d.at(file)))
				_, drains := d.Drain("alice", func(all []Message) error {
					assert.NotContains(t, bodies(all), "secret")
					return nil
				})
				all, _, peeks := d.Peek("alice")
				assert.NotContains(t, bodies(all), "secret")
				sends := d.Send("alice", say("x"))
				if file != "inbox/alice.broken" {
					assert.Error(t, drains)
					assert.Error(t, peeks)
				} else if name != "sparse" { // that one can still grow
					assert.Error(t, drains)
				}
				if file == "config.json" || file == "inbox/alice.jsonl" {
					assert.Error(t, sends)
				}
				text, err := os.ReadFile(secret)
				require.NoError(t, err)
				assert.Equal(t, `{"content":"secret"}`+"\n", string(text))
				assert.NoFileExists(t, secret+".new")
			})
		}
	}
}

func TestOpen(t *testing.T) {
	d := newTeam(t)
	opened, err := Open(d.Path)
	require.NoError(t, err)
	assert.Equal(t, d, opened)
	_, err = Open(t.TempDir())
	assert.ErrorIs(t, err, fs.ErrNotExist)

	link := t.TempDir()
	require.NoError(t, os.Symlink(d.at(), filepath.Join(link, Folder)))
	_, err = Open(link)
	assert.ErrorContains(t, err, "symbolic link")
	require.NoError(t, os.Symlink(t.TempDir(), d.at(inboxes)))
	assert.ErrorContains(t, d.Send("alice", say("x")), "symbolic link")
	_, _, err = d.Peek("alice")
	assert.ErrorContains(t, err, "symbolic link")
	_, err = d.Drain("alice", func([]Message) error { return nil })
	assert.ErrorContains(t, err, "symbolic link")

	require.NoError(t, os.Chmod(d.at(), 0o775))
	_, err = Open(d.Path)
	assert.NoError(t, err, "this is how the lesson's programs make it where the umask is 002")
	require.NoError(t, os.Chmod(d.at(), 0o777))
	_, err = Open(d.Path)
	assert.ErrorContains(t, err, "written by everybody")
	file := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(file, Folder), nil, 0o600))
	_, err = Open(file)
	assert.ErrorContains(t, err, "not a directory")
}

func TestP32_Broadcast(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	python(t, d, "", "member", "carol", "writer", "shutdown")
	n, err := d.Broadcast(say("to all"))
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	n, err = d.Broadcast(Message{From: "alice", Content: "from alice", At: noon})
	require.NoError(t, err)
	assert.Equal(t, 2, n, "not to herself")
	assert.Equal(t, []string{"to all"}, drained(t, d, "alice"))
	for _, name := range []string{"bob", "carol"} {
		all, _, err := d.Peek(name)
		require.NoError(t, err)
		assert.Equal(t, []string{"to all", "from alice"}, bodies(all))
		assert.Equal(t, TypeBroadcast, all[0].Type)
	}
	require.NoError(t, os.Mkdir(d.inbox("dave"), 0o700))
	python(t, d, "", "member", "dave", "x", "idle")
	n, err = d.Broadcast(say("once more"))
	assert.Equal(t, 3, n)
	assert.ErrorContains(t, err, "broadcast reached 3 of 4: ")
	assert.Equal(t, 1, strings.Count(err.Error(), "dave.jsonl"))
}

// A wrong entry is passed over and named. All other members stay members.
func TestConfig_wrongEntries(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	text := `{"team_name": 7, "members": [7, null, "carol", ["x"], {}, {"name": 7}, {"name": null}, {"name": "../x"}, {"name": "bob", "role": 7, "status": null}, {"name": "alice", "role": "r", "status": "idle"}, {"name": "alice", "role": "other", "status": "working"}, {"Name": "dave"}]}`
	require.NoError(t, os.WriteFile(d.at(configName), []byte(text), 0o600))
	c, err := d.Config()
	require.NoError(t, err)
	assert.Equal(t, "Team: default\n  bob (): \n  alice (r): idle", c.String())
	var why []string
	for _, one := range c.Skipped {
		why = append(why, one.String())
	}
	assert.Equal(t, []string{
		"entry 1 of members: 7 is not an object", "entry 2 of members: null is not an object", `entry 3 of members: "carol" is not an object`, `entry 4 of members: ["x"] is not an object`,
		"entry 5 of members: it has no name", "entry 6 of members: its name, 7, is not a text", "entry 7 of members: its name, null, is not a text", `entry 8 of members: "../x" is not a teammate's name`,
		`entry 11 of members: "alice" is already entry 10`, "entry 12 of members: it has no name",
	}, why)

	n, err := d.Broadcast(say("to all"))
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, []string{"to all"}, drained(t, d, "alice"), "once")
	assert.Equal(t, []string{"to all"}, drained(t, d, "bob"))
	assert.ErrorAs(t, d.Send("carol", say("x")), new(*UnknownError))

	// What is not understood stays where it is, to the byte, while the others change.
	require.NoError(t, d.SetStatus("alice", Ended))
	require.NoError(t, d.Enlist("eve", "r"))
	c, err = d.Config()
	require.NoError(t, err)
	assert.Len(t, c.Skipped, 10)
	assert.Equal(t, []Member{{"bob", "", ""}, {"alice", "r", Ended}, {"eve", "r", Working}}, c.Members)
	now, err := os.ReadFile(d.at(configName))
	require.NoError(t, err)
	var all struct{ Members []any }
	require.NoError(t, json.Unmarshal(now, &all))
	assert.Equal(t, []any{float64(7), nil, "carol", []any{"x"}, map[string]any{}}, all.Members[:5])
	assert.Equal(t, "working", all.Members[10].(map[string]any)["status"], "the second alice")

	for _, bad := range []string{`{"members": 7}`, `{"members": {"name": "alice"}}`, "7", "[]", ""} {
		require.NoError(t, os.WriteFile(d.at(configName), []byte(bad), 0o600))
		_, err := d.Config()
		assert.Error(t, err, bad)
	}
}

// In somebody else's project, the error says whose it is. What another user has put above a directory of one's
// own does not count.
func TestTheirs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away: run it as root to see this")
	}
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	require.NoError(t, os.MkdirAll(at("theirs", Folder), 0o755))
	require.NoError(t, os.MkdirAll(at("theirs", "sub"), 0o755))
	require.NoError(t, os.MkdirAll(at("theirs", "ours", "sub"), 0o755))
	require.NoError(t, os.MkdirAll(at("planted", Folder), 0o755))
	for _, theirs := range []string{at("theirs"), at("theirs", Folder), at("theirs", "sub"), at("planted", Folder)} {
		require.NoError(t, os.Chown(theirs, 4321, -1))
	}
	for where, want := range map[string]string{
		at("theirs"): at("theirs", Folder), at("theirs", "sub"): at("theirs", Folder), at("planted"): at("planted", Folder),
		at("theirs", "ours"): "", at("theirs", "ours", "sub"): "", dir: "",
	} {
		err := Theirs(where)
		if want == "" {
			assert.NoError(t, err, where)
			continue
		}
		assert.Equal(t, &TheirsError{want, 4321}, err, where)
	}
}
