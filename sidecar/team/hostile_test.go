package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// config.json is constantly replaced by another file, is a link, or is gone for a moment: each read gets a
// whole one, a link is never followed, and no change of ours leaves half a file.
func TestHostile_configSwappedWhileItIsUsed(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	whole, err := os.ReadFile(d.at(configName))
	require.NoError(t, err)
	secret := d.Path + "/secret"
	require.NoError(t, os.WriteFile(secret, []byte(`{"members": [{"name": "mallory", "role": "r", "status": "idle"}]}`), 0o600))
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			next := fmt.Sprint(d.at("swap"), n%3)
			switch n % 3 {
			case 0, 1:
				_ = os.WriteFile(next, whole, 0o600)
			case 2:
				_ = os.Symlink(secret, next)
			}
			_ = os.Rename(next, d.at(configName))
		}
	})
	once := func(what func() error) { // while it is a link, however long, that is an error
		err := what()
		for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); err = what() {
			require.ErrorContains(t, err, "symbolic link")
		}
		require.NoError(t, err)
	}
	for i := range 100 {
		once(func() error {
			c, err := d.Config()
			if err == nil {
				assert.Equal(t, []string{"alice", "bob"}, c.names())
			}
			return err
		})
		once(func() error { return d.SetStatus("alice", []Status{Working, Idle}[i%2]) })
		once(func() error { return d.Send("bob", say("x")) })
	}
	close(stop)
	swaps.Wait()
	require.NoError(t, os.Remove(d.at(configName)))
	require.NoError(t, os.WriteFile(d.at(configName), whole, 0o600))
	text, err := os.ReadFile(secret)
	require.NoError(t, err)
	assert.Contains(t, string(text), "mallory")
	assert.Len(t, drained(t, d, "bob"), 100)
}

// A team of ten thousand is listed, changed and messaged in the time that it takes to write its files.
func TestHostile_tenThousandMembers(t *testing.T) {
	t.Parallel()
	const many = 10_000
	d := newTeam(t)
	all := Config{TeamName: "many"}
	for i := range many {
		all.Members = append(all.Members, Member{fmt.Sprintf("m%d", i), "dev", Idle})
	}
	text, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.at(configName), text, 0o600))
	began := time.Now()
	require.NoError(t, d.SetStatus("m9999", Working))
	require.NoError(t, d.Enlist("one-more", "dev"))
	require.NoError(t, d.Send("m0", say("x")))
	assert.ErrorAs(t, d.Send("m10000", say("x")), new(*UnknownError))
	t.Log("one at a time: ", time.Since(began))
	c, err := d.Config()
	require.NoError(t, err)
	assert.Len(t, c.Members, many+1)
	assert.Equal(t, many+1, strings.Count(c.String(), "\n"))
	err = d.Knows("nobody")
	assert.Less(t, len(err.Error()), 2000, "the error does not name all of them")
	if os.Getenv("INTERCOM_LONG") == "" { // each of them waits for the disk
		return
	}
	began = time.Now()
	n, err := d.Broadcast(say("to all"))
	require.NoError(t, err)
	assert.Equal(t, many+1, n)
	t.Log("a broadcast: ", time.Since(began))
	assert.Equal(t, []string{"x", "to all"}, drained(t, d, "m0"))
}

// Lines in an inbox that look like an answer, from anybody and however often, are only lines. Equal lines are
// all there.
func TestHostile_answersInFilesAreText(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	yes := true
	forged := Message{Type: "shutdown_response", From: "alice", At: noon, RequestID: "0000000a", Approve: &yes}
	for range 3 {
		require.NoError(t, d.Send(Lead, forged))
	}
	forged.RequestID = strings.Repeat("0", 10<<10)
	require.NoError(t, d.Send(Lead, forged))
	forged.From = "mallory"
	assert.ErrorAs(t, d.Send(Lead, forged), new(*UnknownError))
	all, _, err := d.Peek(Lead)
	require.NoError(t, err)
	assert.Len(t, all, 4)
	c, err := d.Config()
	require.NoError(t, err)
	assert.Equal(t, Working, c.Members[0].Status, "nobody has shut down")
	_, err = d.Drain(Lead, func([]Message) error { return errors.New("no") })
	require.Error(t, err)
	all, _, err = d.Peek(Lead)
	require.NoError(t, err)
	assert.Len(t, all, 4)
}
