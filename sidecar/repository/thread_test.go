package repository

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
)

// A conversation is found across repositories and archives, in order.
func TestA46_Thread(t *testing.T) {
	t.Parallel()
	a, b := repo(t, "a"), repo(t, "b")
	var first aea.Message
	for i := range 6 {
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		m := letter(from, to, "update")
		m.Time, m.Subject = at.Add(time.Duration(i/2)*time.Second), fmt.Sprint(i)
		if i == 0 {
			first = m
		} else {
			m.Thread, m.ReplyTo = first.ID, first.ID
		}
		name, err := to.Put(m, "")
		require.NoError(t, err)
		if i == 1 {
			require.NoError(t, to.Mark(name))
			_, err = to.Archive(time.Now().Add(time.Hour))
			require.NoError(t, err)
		}
	}
	_, err := a.Put(letter(b, a, "issue"), "")
	require.NoError(t, err)
	found, err := Thread(first.ID, []Dir{a, b})
	require.NoError(t, err)
	var subjects []string
	for _, f := range found {
		subjects = append(subjects, f.Message.Subject)
	}
	assert.Len(t, subjects, 6)
	assert.Equal(t, "0", subjects[0])
	assert.ElementsMatch(t, []string{"2", "3"}, subjects[2:4])
	assert.ElementsMatch(t, []string{"4", "5"}, subjects[4:])

	for _, part := range []string{first.ID[:8], first.ID[len(first.ID)-8:]} {
		found, err = Thread(part, []Dir{a, b})
		require.NoError(t, err)
		assert.Len(t, found, 6, part)
	}
	for _, end := range []string{"1", "2"} {
		m := letter(b, a, "issue")
		m.ID = "00000000-0000-4000-8000-00000000000" + end
		_, err := a.Put(m, "")
		require.NoError(t, err)
	}
	_, err = Thread("00000000", []Dir{a, b})
	require.ErrorContains(t, err, `"00000000" begins or ends the ids of several messages`)
}

// A message that the archive has already stays where it is, and keeps no other from being archived.
func TestArchive_goesOnAfterOneThatIsThere(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	put := func(when time.Time) string {
		name := aea.FileName(when, "claude-a", "", 1)
		drop(t, d, name, `{"message_type":"update","message":{"body":"x"}}`)
		require.NoError(t, d.Mark(name))
		return name
	}
	first := put(at)
	_, err := d.Archive(time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, first, put(at))
	second := put(at.Add(time.Minute))
	moved, err := d.Archive(time.Now().Add(time.Hour))
	require.ErrorContains(t, err, first)
	assert.NotContains(t, err.Error(), second)
	assert.Equal(t, []string{second}, moved)
	assert.FileExists(t, d.at(archived, processed, second))
	assert.FileExists(t, d.File(first))
}
