package team

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two teams with the same history, one written by the lesson's program and one by ours, have the same bytes.
// Either program goes on where the other left off.
func TestMembers_theLessonsBytes(t *testing.T) {
	t.Parallel()
	theirs, ours := Dir{t.TempDir()}, Dir{t.TempDir()}
	for _, d := range []Dir{theirs, ours} {
		require.NoError(t, os.Mkdir(d.at(), 0o755))
	}
	var all []string
	for i, step := range []struct {
		name, role string
		status     Status
	}{
		{"alice", "frontend dev", Working},
		{"José", `"tester" <b> & é🙂\`, Working},
		{"alice", "frontend dev", Idle},
		{"alice", "backend dev", Working},
		{"José", `"tester" <b> & é🙂\`, Ended},
		{"alice", "backend dev", Idle},
		{"alice", "backend dev", Ended},
	} {
		words := []string{"member", step.name, step.role, string(step.status)}
		all = append(append(all, words...), "then")
		switch {
		case i == 2:
			python(t, ours, "", words...)
		case step.status == Working:
			require.NoError(t, ours.Enlist(step.name, step.role))
		default:
			require.NoError(t, ours.SetStatus(step.name, step.status))
		}
	}
	list := python(t, theirs, "", append(all, "list")...)
	want, err := os.ReadFile(theirs.at(configName))
	require.NoError(t, err)
	have, err := os.ReadFile(ours.at(configName))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have))
	assert.Equal(t, list, python(t, ours, "", "list"))
}

func TestMembers_whoWorksIsNotSpawned(t *testing.T) {
	d := newTeam(t)
	err := d.Enlist("alice", "other")
	var said *DocumentError
	require.ErrorAs(t, err, &said)
	assert.Equal(t, "Error: 'alice' is currently working", said.Text)
	assert.NoError(t, d.Enlist("bob", "other"), "who is idle is")
	assert.ErrorAs(t, d.SetStatus("carol", Idle), new(*UnknownError))
	assert.ErrorAs(t, d.Enlist("../x", "r"), new(*NameError))
	assert.Error(t, d.Enlist("x", "a\nb"))
	for _, name := range []string{"Alice", "ALICE", "Lead"} {
		assert.ErrorAs(t, d.Enlist(name, "r"), new(*TwinError), name)
		assert.ErrorAs(t, d.MayEnlist(name, "r"), new(*TwinError), name)
	}
	c, err := d.Config()
	require.NoError(t, err)
	assert.Equal(t, []Member{{"alice", "frontend dev", Working}, {"bob", "other", Working}}, c.Members)
}

// What others wrote stays, in its order, whatever it is.
func TestMembers_keepsWhatIsThere(t *testing.T) {
	t.Parallel()
	d := newTeam(t)
	require.NoError(t, os.WriteFile(d.at(configName), []byte(`{"z":1.50,"members":[{"status":"idle","id":12345678901234567890,"name":"alice"},{"name":"bob","tools":[{"a":[]},{}],"status":"working"}],"a":{"é":"<&>\u2028"}}`), 0o600))
	require.NoError(t, d.SetStatus("alice", Ended))
	text, err := os.ReadFile(d.at(configName))
	require.NoError(t, err)
	assert.Equal(t, `{
  "z": 1.50,
  "members": [
    {
      "status": "shutdown",
      "id": 12345678901234567890,
      "name": "alice"
    },
    {
      "name": "bob",
      "tools": [
        {
          "a": []
        },
        {}
      ],
      "status": "working"
    }
  ],
  "a": {
    "\u00e9": "<&>\u2028"
  }
}`, string(text))
	for _, bad := range []string{"[]", `{"members":[null]}`, `{"members"`} {
		require.NoError(t, os.WriteFile(d.at(configName), []byte(bad), 0o600))
		assert.Error(t, d.SetStatus("alice", Idle), bad)
		text, err := os.ReadFile(d.at(configName))
		require.NoError(t, err)
		assert.Equal(t, bad, string(text), "nothing is written over what is not understood")
	}
}

func TestMembers_inParallel(t *testing.T) {
	t.Parallel()
	d := Dir{t.TempDir()}
	require.NoError(t, os.Mkdir(d.at(), 0o755))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := fmt.Sprint("m", i)
			assert.NoError(t, errors.Join(d.Enlist(name, "r"), d.SetStatus(name, Idle), d.SetStatus(name, Ended)))
		})
	}
	all.Wait()
	c, err := d.Config()
	require.NoError(t, err)
	assert.Len(t, c.Members, 8)
	assert.Equal(t, 8, strings.Count(c.String(), "(r): shutdown"))
}

// A config.json that only its owner may read stays so.
func TestEnlist_keepsTheMode(t *testing.T) {
	t.Parallel()
	d := Dir{Path: t.TempDir()}
	require.NoError(t, d.Make())
	require.NoError(t, os.WriteFile(d.at(configName), []byte(`{"team_name":"x","members":[]}`), 0o600))
	require.NoError(t, d.Enlist("bob", "dev"))
	info, err := os.Stat(d.at(configName))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
