package tmux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// If the process of a look takes long, the next look begins after a rest of the same length: looks
// do not use up a slow computer.
func TestLook_restsWhereProcessesAreSlow(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		times, slow := filepath.Join(s.Dir, "times"), filepath.Join(s.Dir, "tmux")
		tmuxtest.Program(t, slow, fmt.Sprintf(`#!/bin/sh
case "$*" in *capture-pane*) ;; *) exec '%[1]s' "$@";; esac
date +%%s%%N >>'%[2]s'
sleep 0.3
'%[1]s' "$@"
code=$?
date +%%s%%N >>'%[2]s'
exit $code
`, v.Bin, times))
		c, err := tmux.Open(t.Context(), tmux.Options{Bin: slow, Socket: s.Socket, Transport: "process", Trigger: "polling"})
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		const looks = 3
		for range looks {
			look(t, c, s.Base)
		}
		text, err := os.ReadFile(times)
		require.NoError(t, err)
		var at []time.Duration
		for word := range strings.FieldsSeq(string(text)) {
			n, err := strconv.ParseInt(word, 10, 64)
			require.NoError(t, err)
			at = append(at, time.Duration(n))
		}
		require.Len(t, at, 2*looks)
		for i := 0; i+2 < len(at); i += 2 {
			took, rest := at[i+1]-at[i], at[i+2]-at[i+1]
			assert.GreaterOrEqual(t, rest, min(took, time.Second)*9/10, "after one of %s", took)
		}
	})
}
