package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An empty list of subscribers is a list, in session data as in session list.
func TestSessionData_listsAreNeverNull(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(SessionData.Whole(SessionWords{}))
	require.NoError(t, err)
	assert.Contains(t, string(data), `"subscribers":[]`)
	assert.Contains(t, string(data), `"entries":[]`)
}
