package pane

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Once an errand has answered, the next one may begin.
func TestErrand_oneRightBehindAnother(t *testing.T) {
	t.Parallel()
	p, _, _ := atRest()
	for i := range 20000 {
		_, err := errand(p, func() (any, error) { return nil, nil })
		require.NoError(t, err, "errand %d", i)
	}
}
