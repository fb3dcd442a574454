package message

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestShowDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 10 * time.Second: "10s", time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s", 0: "",
	} {
		assert.Equal(t, want, ShowDuration(d))
	}
}
