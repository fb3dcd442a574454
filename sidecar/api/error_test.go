package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// An error's quotations are cut short, its own words are not.
func TestError_brief(t *testing.T) {
	endless := strings.Repeat("é", 1<<19)
	for _, err := range []*api.Error{
		api.Errorf(api.CodeNotFound, "no session %q among them", endless), api.AsError(fmt.Errorf("no session %q among them", endless)),
		api.AsError(fmt.Errorf("no session %w among them", api.Errorf(api.CodeFailed, "%s", endless))),
	} {
		assert.Less(t, len(err.Text), 250)
		assert.Regexp(t, `^no session "?é+…é+"? among them$`, err.Text)
	}
	err := api.Errorf(api.CodeFailed, "%s", strings.Repeat("many words ", 1<<17)).WithHint("intercom show %s", endless).About(api.NoSession, endless)
	assert.Less(t, len(err.Text)+len(err.Hint)+len(err.Ref), 17<<10)
	assert.True(t, strings.HasSuffix(err.Text, "…"))
	path := "/" + strings.Repeat("directory/", 90)
	assert.Equal(t, "no file "+path, api.Errorf(api.CodeFailed, "no file %s", path).Text)
}

// The kind and reference of an error survive everything that happens to it on its way to a person.
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
