package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTypes(t *testing.T) {
	key := time.Unix(1_000_000, 0)
	for after, want := range map[time.Duration]bool{
		0: true, time.Second: true, 1999 * time.Millisecond: true, 2 * time.Second: false, time.Hour: false,
		-time.Second: true, -2 * time.Second: false, -time.Hour: false,
	} {
		assert.Equal(t, want, types(key, key.Add(after)), after)
	}
	assert.False(t, types(time.Time{}, key), "there is no terminal")
}
