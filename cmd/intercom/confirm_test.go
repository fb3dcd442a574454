package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// A person's no is reported as a note without a hint, not as an error. The exit code says that nothing was done.
func TestConfirm_aNoIsNoError(t *testing.T) {
	for _, err := range []error{errUndone, fmt.Errorf("approve it: %w", errUndone)} {
		var told bytes.Buffer
		complain(&told, api.AsError(err))
		assert.Regexp(t, `^intercom: note: .*nothing was done: y was not pressed\n$`, told.String())
		assert.Equal(t, 1, api.AsError(err).Code.Exit())
	}
	var told bytes.Buffer
	complain(&told, api.Errorf(api.CodeRefused, "only a person may").WithHint("ask them"))
	assert.Equal(t, "intercom: error: only a person may\nintercom: hint: ask them\n", told.String())
}
