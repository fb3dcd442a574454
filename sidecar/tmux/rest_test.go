package tmux

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The rest after slow looks is as long as the whole batch.
func TestEffort_rest(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		of   effort
		want time.Duration
	}{
		"nothing was run":         {effort{0, 0}, 0},
		"one fast":                {effort{1, 199 * ms}, 0},
		"many fast":               {effort{10, 1990 * ms}, 0},
		"one slow":                {effort{1, 300 * ms}, 300 * ms},
		"three slow":              {effort{3, 900 * ms}, 900 * ms},
		"slow for a long time":    {effort{1, 5000 * ms}, mostRest},
		"many slow, a long batch": {effort{6, 1800 * ms}, mostRest},
	} {
		assert.Equal(t, c.want, c.of.rest(), name)
	}
}
