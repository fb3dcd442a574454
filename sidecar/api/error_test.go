package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// What an error is about outlives everything that is done to the error on its way to a person.
func TestError_kind(t *testing.T) {
	err := api.Errorf(api.CodeNotFound, "no chat %q", "plan").About(api.NoChat, "plan").WithHint("intercom chat list")
	wrapped := api.AsError(fmt.Errorf("say: %w", err))
	assert.Equal(t, `say: no chat "plan"`, wrapped.Text)
	text, marshalErr := json.Marshal(wrapped)
	require.NoError(t, marshalErr)
	var read api.Error
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, api.NoChat, read.Kind)
	assert.Equal(t, "plan", read.Ref)
	assert.Equal(t, "intercom chat list", read.Hint)

	text, marshalErr = json.Marshal(api.Errorf(api.CodeFailed, "no"))
	require.NoError(t, marshalErr)
	assert.JSONEq(t, `{"error":"no","code":"failed"}`, string(text))
}
