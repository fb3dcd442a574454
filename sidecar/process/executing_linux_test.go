package process

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process bears its mark even while it is executing a program, when nobody can see its
// environment.
func TestRemains_whileItExecutes(t *testing.T) {
	for i := range 200 {
		mark := Mark("executes-" + strconv.Itoa(i))
		cmd := exec.Command("sh", "-c", "exec sleep 60")
		cmd.Env = append(os.Environ(), mark)
		require.NoError(t, cmd.Start())
		family := Remains(mark)
		for range 3 {
			left, err := family.Left()
			require.NoError(t, err)
			if assert.Len(t, left, 1) {
				assert.Equal(t, cmd.Process.Pid, left[0].PID)
			}
		}
		assert.NoError(t, cmd.Process.Kill())
		assert.Error(t, cmd.Wait())
		if t.Failed() {
			return
		}
	}
}

// A process that is executing a program has its name and its file a moment before its stack. In
// that moment it is not identified: the record would be another program's as soon as the moment is
// over.
func TestIdentify_whileItExecutes(t *testing.T) {
	for range 400 {
		cmd := exec.Command("sh", "-c", "exec sleep 60")
		require.NoError(t, cmd.Start())
		var id Identity
		for err := error(nil); err != nil || id.Name != "sleep"; {
			if id, err = Identify(cmd.Process.Pid); err == nil && !assert.NotEqual(t, Hidden, id.Exec, "%s is ours to read", id.Name) {
				break
			}
			require.NotErrorIs(t, err, ErrNoProcess)
		}
		assert.NoError(t, cmd.Process.Kill())
		assert.Error(t, cmd.Wait())
		if t.Failed() {
			return
		}
	}
}
