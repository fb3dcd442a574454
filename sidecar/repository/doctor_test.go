package repository

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestA50_Doctor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "repo")
	require.NoError(t, os.Mkdir(path, 0o755))
	d, _, err := Install(path, "/bin/intercom", false)
	require.NoError(t, err)
	healthy, err := Examine(path, "/bin/intercom", false)
	require.NoError(t, err)
	assert.Empty(t, healthy)
	require.NoError(t, os.Chmod(d.at("scripts", "aea-check.sh"), 0o644))
	require.NoError(t, os.Remove(d.at("prompts", "check-messages.md")))
	require.NoError(t, d.Log(at, "Sent", "x", "y"))
	require.NoError(t, os.Chmod(d.at(logName), 0o400))
	require.NoError(t, os.Chmod(d.at(processed), 0o500))
	drop(t, d, "message-1-from-a.json", "{")
	found, err := Examine(path, "/bin/intercom", false)
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range found {
		files[f.File] = f.What
		assert.False(t, f.Fixed)
	}
	assert.Contains(t, files[".aea/scripts/aea-check.sh"], "not executable")
	assert.Contains(t, files[".aea/prompts/check-messages.md"], "missing")
	assert.Contains(t, files[".aea/agent.log"], "cannot be written: -r--------")
	assert.Contains(t, files[".aea/.processed"], "cannot be written: -r-x------")
	assert.Contains(t, files[".aea/message-1-from-a.json"], "not valid JSON")
	_, err = Examine(path, "/bin/intercom", true)
	require.NoError(t, err)
	found, err = Examine(path, "/bin/intercom", false)
	require.NoError(t, err)
	require.Len(t, found, 1, "what nobody but its author can put right")
	assert.Equal(t, ".aea/message-1-from-a.json", found[0].File)
}

// A finding about permissions names those that are missing.
func TestExamine_saysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode]string{
		0o400: "it cannot be written: -r--------",
		0o200: "it cannot be read: --w-------",
		0:     "it cannot be read or written: ----------",
	} {
		d := repo(t, "repo")
		require.NoError(t, d.Log(at, "Sent", "x", "y"))
		require.NoError(t, os.Chmod(d.at(logName), mode))
		e := &examination{Dir: d}
		e.log()
		require.Len(t, e.all, 1)
		assert.Equal(t, want, e.all[0].What)
	}
	for mode, want := range map[os.FileMode]string{
		0o600: "it cannot be entered: -rw-------",
		0o300: "it cannot be read: --wx------",
		0o100: "it cannot be read or written: ---x------",
	} {
		d := repo(t, "repo")
		require.NoError(t, os.Mkdir(d.at(archived), 0o700))
		require.NoError(t, os.Chmod(d.at(archived), mode))
		e := &examination{Dir: d}
		e.directory(archived)
		require.Len(t, e.all, 1)
		assert.Equal(t, want, e.all[0].What)
	}
}
