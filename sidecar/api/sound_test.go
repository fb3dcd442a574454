package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Invalid text is refused: nobody may believe that it was sent as it was.
func TestDecode_onlyText(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"text":"plain"}`:            true,
		`{"text":"é 日本 \\ud800"}`:     true, // a backslash, and letters
		`{"text":"\ud83d\ude80"}`:     true, // a pair
		`{"text":"\u00e9\n"}`:         true,
		"{\"text\":\"\xff\"}":         false,
		"{\"text\":\"\xc0\xaf\"}":     false, // overlong
		`{"text":"\ud800"}`:           false,
		`{"text":"\ud800x"}`:          false,
		`{"text":"\ud800\u0041"}`:     false,
		`{"text":"\udc00"}`:           false,
		`{"text":"\\\ud800 after"}`:   false,
		`{"text":"\ud83d\ud83d"}`:     false,
		`{"text":"\ud83d\ude80\udc"}`: false,
	} {
		var req struct{ Text string }
		err := decode(strings.NewReader(body), &req)
		if ok {
			require.NoError(t, err, body)
			continue
		}
		require.Error(t, err, body)
		assert.Equal(t, CodeUsage, AsError(err).Code, body)
	}
}
