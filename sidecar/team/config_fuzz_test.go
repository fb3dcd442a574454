package team

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Anybody may write config.json. Whatever it contains is read without harm, and adding a teammate changes
// nothing about the others.
func FuzzConfig(f *testing.F) {
	f.Add(`{"team_name": "default", "members": [{"name": "alice", "role": "dev", "status": "working", "more": 1}, {"name": "bob", "role": "tester", "status": "idle"}], "x": null}`)
	f.Add(`{"members": [{"name": "A"}, {"name": "a"}, {}, null, 7]}`)
	f.Add(`{"members": null, "members": []}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		d := Dir{t.TempDir()}
		require.NoError(t, d.Make())
		require.NoError(t, os.WriteFile(d.at(configName), []byte(text), 0o600))
		before, err := d.Config()
		if err != nil {
			_ = d.Enlist("added", "dev")
			now, err := os.ReadFile(d.at(configName))
			require.NoError(t, err)
			assert.Equal(t, text, string(now), "what cannot be read is left as it is")
			return
		}
		if d.Enlist("added", "dev") != nil {
			return
		}
		after, err := d.Config()
		require.NoError(t, err)
		for _, was := range before.Members {
			if was.Name != "added" {
				assert.Contains(t, after.Members, was)
			}
		}
	})
}
